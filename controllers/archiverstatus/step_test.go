package archiverstatus

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestAFailedSchemaJobOfAChangeIsReported checks the conditions while the schema Job of a new release fails
// and the engines work as before.
func TestAFailedSchemaJobOfAChangeIsReported(t *testing.T) {
	in := healthy()
	in.Schema.Status.Conditions = nil
	in.Step = StepSchema
	in.Pods = append(in.Pods, pod(v1alpha1.ComponentSchema, "main-schema-x", ended(waiting("CrashLoopBackOff", ""), "Error",
		"varve: the tables cannot be created: role varve lacks ALTER")))
	s := Compute(in)
	for kind, reason := range map[string]string{
		v1alpha1.ConditionReconciling: v1alpha1.ReasonSchemaRuns, v1alpha1.ConditionDegraded: v1alpha1.ReasonSchemaFailed,
	} {
		c := condition(t, s, kind)
		if c.Status != metav1.ConditionTrue || c.Reason != reason || !strings.Contains(c.Message, "engines stay as they are: varve: the tables") {
			t.Errorf("%s: %v", kind, c)
		}
	}
	if c := condition(t, s, v1alpha1.ConditionStorageReady); c.Status != metav1.ConditionTrue {
		t.Errorf("%v although the engines write", c)
	}
}

// TestEnginesThatWaitForRetrievalPodsSaySo checks the message while the retrieval pods are replaced.
func TestEnginesThatWaitForRetrievalPodsSaySo(t *testing.T) {
	in := healthy()
	in.Step = StepRetrieval
	in.Retrieval.Status.UpdatedReplicas = 1
	c := condition(t, Compute(in), v1alpha1.ConditionReconciling)
	if c.Reason != v1alpha1.ReasonRollingOut || !strings.HasPrefix(c.Message, "1 of 2 of the retrieval pods") {
		t.Errorf("%v", c)
	}
}

// TestAPausedChangeSaysSo checks that a change which waits for the user is not in progress.
func TestAPausedChangeSaysSo(t *testing.T) {
	in := healthy()
	in.Step = StepPaused
	c := condition(t, Compute(in), v1alpha1.ConditionReconciling)
	if c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonRolloutPaused || !strings.Contains(c.Message, "set it to false") {
		t.Errorf("%v", c)
	}
}

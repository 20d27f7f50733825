package archiverstatus

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// Step is the step of a change that pods wait for before they are replaced.
type Step int

const (
	// StepNone means that no pods wait.
	StepNone Step = iota
	// StepSchema means that retrieval pods or engines wait for the schema Job.
	StepSchema
	// StepRetrieval means that engines wait for the retrieval pods.
	StepRetrieval
	// StepPaused means that spec.paused is true.
	StepPaused
	// StepFormat means that OperatorTooOld holds.
	StepFormat
)

// AnnotationTemplate is the annotation of a Deployment with the hash of the pod template that the operator
// applied last. It is not in the pod template, so it replaces no pod.
const AnnotationTemplate = "varve.dev/template"

// AnnotationWorked is the annotation of a Deployment with the hash of the last pod template that all its pods
// had, and were ready with. It is "partly" if only some pods have ever been ready.
const AnnotationWorked = "varve.dev/worked"

// RolledOut reports whether all pods of a Deployment have the template with a hash, and are ready.
func RolledOut(d *appsv1.Deployment, hash string) bool {
	return rolledOut(d) && d.Annotations[AnnotationTemplate] == hash
}

// Complete reports whether a Job is complete.
func Complete(job *batchv1.Job) bool { return complete(job) }

// stepCondition returns the condition Reconciling while pods wait for a step, or nil.
func stepCondition(in *Input) *metav1.Condition {
	of := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: status, Reason: reason, Message: message}
	}
	switch in.Step {
	case StepPaused:
		return of(metav1.ConditionFalse, v1alpha1.ReasonRolloutPaused,
			"spec.paused is true: no other schema Job begins, and no pod that has worked is replaced; set it to false to continue")
	case StepFormat:
		return of(metav1.ConditionTrue, v1alpha1.ReasonFormatTooNew, tooNew(in.Archiver))
	case StepSchema:
		message := "the schema Job adds what the new version needs in Cassandra; until then, retrieval pods and engines stay as they are"
		if failed := schemaFailure(in); failed != "" {
			message = heldBack(failed)
		}
		return of(metav1.ConditionTrue, v1alpha1.ReasonSchemaRuns, message)
	case StepRetrieval:
		ready := "none"
		if d := in.Retrieval; d != nil {
			ready = fmt.Sprintf("%d of %d", min(d.Status.UpdatedReplicas, d.Status.ReadyReplicas), wanted(d.Spec.Replicas))
		}
		return of(metav1.ConditionTrue, v1alpha1.ReasonRollingOut,
			ready+" of the retrieval pods have the new version and are ready; engines stay as they are until all have it")
	}
	return nil
}

func heldBack(failure string) string {
	return "the schema Job fails and is retried, so retrieval pods and engines stay as they are: " + failure
}

// schemaProblem returns a problem if the schema Job fails while the archive works as before.
func schemaProblem(in *Input) []problem {
	if in.Step != StepSchema || render.Embedded(in.Archiver) {
		return nil
	}
	failed := schemaFailure(in)
	if c := storageReady(in); failed == "" || c.Reason == v1alpha1.ReasonSchemaFailed {
		return nil
	}
	return []problem{{v1alpha1.ReasonSchemaFailed, heldBack(failed)}}
}

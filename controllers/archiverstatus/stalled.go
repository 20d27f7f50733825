package archiverstatus

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// stalling are the reasons of problems that stay until somebody changes something. Other problems, such as a
// node without room or a crash, may disappear by themselves, so they stall only a rollout that is too slow.
var stalling = map[string]bool{
	v1alpha1.ReasonRefused:             true,
	v1alpha1.ReasonPodSecurity:         true,
	v1alpha1.ReasonFailedCreate:        true,
	v1alpha1.ReasonContainerNotCreated: true,
	v1alpha1.ReasonImagePull:           true,
	v1alpha1.ReasonCRDMissing:          true,
	v1alpha1.ReasonFormatTooNew:        true,
}

// schemaPatience is how often the container of the schema Job restarts before its failure counts as
// permanent. The kubelet waits 10, 20 and 40 s before the first restarts.
const schemaPatience = 3

// stalled returns the condition Stalled: true when the spec is not in effect, and stays so until somebody
// changes something.
func stalled(in *Input, problems []problem) metav1.Condition {
	yes := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason, Message: message}
	}
	for _, p := range problems {
		if stalling[p.reason] || p.reason == v1alpha1.ReasonSchemaFailed && schemaRestarts(in) >= schemaPatience {
			return yes(p.reason, p.message)
		}
	}
	for _, d := range []*appsv1.Deployment{in.Engines, in.Retrieval} {
		if d != nil && tooSlow(d) {
			message := fmt.Sprintf("the pods of Deployment %s did not become ready within 10 minutes", d.Name)
			if len(problems) > 0 {
				message += ": " + problems[0].message
			}
			return yes(v1alpha1.ReasonRolloutTooSlow, message)
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotStalled,
		Message: "nothing hinders the spec from taking effect",
	}
}

// tooSlow reports whether Kubernetes gave up on the rollout of a Deployment. Its pods may still become ready.
func tooSlow(d *appsv1.Deployment) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
		}
	}
	return false
}

// schemaRestarts returns how often the container of the schema Job has restarted.
func schemaRestarts(in *Input) (n int32) {
	for i := range in.Pods {
		p := &in.Pods[i]
		if p.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentSchema || p.DeletionTimestamp != nil {
			continue
		}
		for j := range p.Status.ContainerStatuses {
			n = max(n, p.Status.ContainerStatuses[j].RestartCount)
		}
	}
	return n
}

package archiver

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apps "k8s.io/client-go/applyconfigurations/apps/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/controllers/archiverstatus"
)

// TestPodsOfARestoredDeploymentWait holds a Deployment that another program has written, such as one that restores a backup. If
// that was an error, the operator could never complete the step before.
func TestPodsOfARestoredDeploymentWait(t *testing.T) {
	have := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: "main-engine", Namespace: "ns", Annotations: map[string]string{archiverstatus.AnnotationWorked: "older", archiverstatus.AnnotationTemplate: "old"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "restore", Operation: metav1.ManagedFieldsOperationUpdate}},
	}}
	d := apps.Deployment("main-engine", "ns").WithSpec(apps.DeploymentSpec().WithReplicas(3).
		WithTemplate(core.PodTemplateSpec().WithSpec(core.PodSpec().WithContainers(core.Container().WithImage("varve:new")))))
	waits, err := hold(d, have, hashOf(d), archiverstatus.StepSchema)
	if err != nil || !waits {
		t.Fatalf("waits: %t, %v", waits, err)
	}
	if d.Spec.Template != nil || *d.Spec.Replicas != 3 || d.Annotations[archiverstatus.AnnotationTemplate] != "old" {
		t.Errorf("the operator applies %+v, %v", d.Spec, d.Annotations)
	}
	if waits, err := hold(d, have, hashOf(d), archiverstatus.StepNone); err != nil || waits {
		t.Errorf("after the step, waits: %t, %v", waits, err)
	}
}

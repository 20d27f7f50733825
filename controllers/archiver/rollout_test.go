package archiver

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apps "k8s.io/client-go/applyconfigurations/apps/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/render"
	"varve.dev/varve/engine/store"
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

// TestAnOperatorThatIsTooOldKeepsTheEngineOfAVolume stages a new template for the engine of an archive that a later release has
// finalized. The engine would stop, and the new one would not start.
func TestAnOperatorThatIsTooOldKeepsTheEngineOfAVolume(t *testing.T) {
	a := &v1alpha1.Archiver{
		ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns"},
		Spec:       v1alpha1.ArchiverSpec{Shards: 1, Storage: v1alpha1.StorageSpec{Embedded: &v1alpha1.EmbeddedSpec{}}},
		Status:     &v1alpha1.ArchiverStatus{Format: &v1alpha1.FormatStatus{Level: int32(store.LatestFormat)}},
	}
	live := map[childKey]client.Object{{"Deployment", "main-engine"}: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: "main-engine", Namespace: "ns", Annotations: map[string]string{archiverstatus.AnnotationWorked: "later", archiverstatus.AnnotationTemplate: "later"},
	}}}
	now := func() staged {
		t.Helper()
		s, err := stage(a, render.Archiver(render.Input{Archiver: a, Image: "varve:old"}), live)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := now(); s.step != archiverstatus.StepNone || deploymentOf(s.wanted, "main-engine").Spec.Template == nil {
		t.Errorf("an operator that knows the level waits for step %d", s.step)
	}
	a.Status.Format.Level++
	if s := now(); s.step != archiverstatus.StepFormat || deploymentOf(s.wanted, "main-engine").Spec.Template != nil {
		t.Errorf("the step is %d, and the engine gets another template", s.step)
	}
}

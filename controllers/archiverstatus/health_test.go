package archiverstatus_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	lua "github.com/yuin/gopher-lua"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
)

// TestOtherToolsSeeTheTruth computes the status of an Archiver in many states, and asks the kstatus library,
// which Flux and Helm use, and Argo CD's health check for their opinion.
func TestOtherToolsSeeTheTruth(t *testing.T) {
	two, zero := int32(2), int32(0)
	imagePull := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "main-engine-c", Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentEngine}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Image: "varve:typo", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}}},
	}
	schemaPod := func(restarts int32) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "main-schema", Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSchema}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				RestartCount:         restarts,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "role varve lacks ALTER"}},
			}}},
		}
	}
	// change begins a change of the image.
	change := func(in *archiverstatus.Input) {
		in.Templates = map[string]string{"main-engine": "t2", "main-retrieval": "t2"}
	}
	slow := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}
	quota := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "main-engine-x" is forbidden: exceeded quota`}

	for _, c := range []struct {
		state   string
		happens func(*archiverstatus.Input)
		kstatus status.Status
		argo    string
	}{
		{"everything works", func(*archiverstatus.Input) {}, status.CurrentStatus, "Healthy"},
		{"the first start", func(in *archiverstatus.Input) {
			in.Schema, in.Fleet, in.Engines, in.Retrieval, in.Pods = nil, nil, nil, nil, nil
		}, status.InProgressStatus, "Progressing"},
		{"a new version waits for the schema Job", func(in *archiverstatus.Input) {
			change(in)
			in.Step, in.Schema.Status.Conditions = archiverstatus.StepSchema, nil
		}, status.InProgressStatus, "Progressing"},
		{"the schema Job failed once", func(in *archiverstatus.Input) {
			change(in)
			in.Step, in.Schema.Status.Conditions, in.Pods = archiverstatus.StepSchema, nil, append(in.Pods, schemaPod(1))
		}, status.InProgressStatus, "Degraded"},
		{"the schema Job fails again and again", func(in *archiverstatus.Input) {
			change(in)
			in.Step, in.Schema.Status.Conditions, in.Pods = archiverstatus.StepSchema, nil, append(in.Pods, schemaPod(5))
		}, status.FailedStatus, "Degraded"},
		{"engines are replaced one at a time", func(in *archiverstatus.Input) {
			change(in)
			in.Engines.Status.UpdatedReplicas = 1
		}, status.InProgressStatus, "Progressing"},
		{"all pods are replaced, but Kubernetes has not counted them", change, status.InProgressStatus, "Progressing"},
		{"the new image does not exist, and the old engines work", func(in *archiverstatus.Input) {
			change(in)
			in.Engines.Status.Replicas, in.Engines.Status.UpdatedReplicas, in.Pods = 3, 1, append(in.Pods, imagePull)
		}, status.FailedStatus, "Degraded"},
		{"a change waits because of spec.paused", func(in *archiverstatus.Input) {
			change(in)
			in.Step = archiverstatus.StepPaused
		}, status.InProgressStatus, "Suspended"},
		{"a quota is full", func(in *archiverstatus.Input) {
			in.Engines.Status.ReadyReplicas, in.Engines.Status.Conditions = 1, []appsv1.DeploymentCondition{quota}
		}, status.FailedStatus, "Degraded"},
		{"new pods do not become ready", func(in *archiverstatus.Input) {
			change(in)
			in.Engines.Status.UpdatedReplicas, in.Engines.Status.Conditions = 1, []appsv1.DeploymentCondition{slow}
		}, status.FailedStatus, "Degraded"},
		{"the API server refuses an object", func(in *archiverstatus.Input) { in.Refused = "Service main-engine: invalid" }, status.FailedStatus, "Degraded"},
		{"the CRD of groups is missing", func(in *archiverstatus.Input) { in.MissingCRD = "archivegroups.varve.dev" }, status.FailedStatus, "Degraded"},
		{"Cassandra is away", func(in *archiverstatus.Input) { in.Fleet[1].Report.Storage = "no hosts available" }, status.InProgressStatus, "Degraded"},
		{"an engine died", func(in *archiverstatus.Input) { in.Fleet[1].Dead, in.Engines.Status.ReadyReplicas = true, 1 }, status.InProgressStatus, "Degraded"},
		{"shards move between engines", func(in *archiverstatus.Input) { in.Moving = 1 }, status.InProgressStatus, "Progressing"},
		{"no engines are wanted", func(in *archiverstatus.Input) { in.Archiver.Spec.Engines.Replicas = &zero }, status.InProgressStatus, "Suspended"},
		{"more engines are wanted", func(in *archiverstatus.Input) {
			three := two + 1
			in.Archiver.Spec.Engines.Replicas, in.Engines.Spec.Replicas = &three, &three
		}, status.InProgressStatus, "Progressing"},
		{"the operator has not seen an edit", func(in *archiverstatus.Input) { in.Archiver.Generation = 2 }, status.InProgressStatus, "Progressing"},
	} {
		t.Run(c.state, func(t *testing.T) {
			in := archiverstatus.Healthy()
			c.happens(&in)
			computed := archiverstatus.Compute(in)
			in.Archiver.Status, in.Archiver.Generation = &computed, 3
			u := &unstructured.Unstructured{}
			var err error
			in.Archiver.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindArchiver))
			if u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(in.Archiver); err != nil {
				t.Fatal(err)
			}
			got, err := status.Compute(u)
			if err != nil || got.Status != c.kstatus {
				t.Errorf("kstatus: %v (%v), want %s", got, err, c.kstatus)
			}
			if health, message := argoHealth(t, u); health != c.argo || message == "" {
				t.Errorf("Argo CD: %s (%s), want %s", health, message, c.argo)
			}
		})
	}
}

// argoHealth runs Argo CD's health check in the Lua interpreter that Argo CD uses.
func argoHealth(t *testing.T, u *unstructured.Unstructured) (health, message string) {
	t.Helper()
	text, err := os.ReadFile("../../config/argocd/argocd-cm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		t.Fatal(err)
	}
	script, ok := config.Data["resource.customizations.health.varve.dev_"+u.GetKind()]
	if !ok {
		t.Fatalf("no health check of kind %s among %v", u.GetKind(), slices.Collect(maps.Keys(config.Data)))
	}
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", toLua(l, u.Object))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the health check returned %v", l.Get(-1))
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

// toLua converts a value of a JSON document.
func toLua(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		t := l.NewTable()
		for k, item := range v {
			t.RawSetString(k, toLua(l, item))
		}
		return t
	case []any:
		t := l.NewTable()
		for _, item := range v {
			t.Append(toLua(l, item))
		}
		return t
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

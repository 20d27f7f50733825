package archiverstatus

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

func pod(component, name string, s corev1.ContainerStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelComponent: component}},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{s}},
	}
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Image: "varve:9", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

func ended(s corev1.ContainerStatus, reason, message string) corev1.ContainerStatus {
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: reason, Message: message}
	return s
}

// TestPodProblemsAreReported checks the problems of pods that do not run. Two pods with the same
// problem give one message without their names.
func TestPodProblemsAreReported(t *testing.T) {
	const engine = v1alpha1.ComponentEngine
	unschedulable := pod(engine, "", corev1.ContainerStatus{})
	unschedulable.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/3 nodes are available: 3 Insufficient cpu.",
	}}
	for _, c := range []struct {
		name  string
		pod   corev1.Pod
		mount string
		want  problem
	}{
		{"running", pod(engine, "", corev1.ContainerStatus{Ready: true}), "", problem{}},
		{"being created", pod(engine, "", waiting("ContainerCreating", "")), "", problem{}},
		{"restarted once", pod(engine, "", ended(corev1.ContainerStatus{Ready: true}, "Error", "varve: boom")), "", problem{}},
		{"unschedulable", unschedulable, "",
			problem{v1alpha1.ReasonUnschedulable, "engine pod: 0/3 nodes are available: 3 Insufficient cpu."}},
		{"no Secret", pod(engine, "", waiting("ContainerCreating", "")), `secret "login" not found`,
			problem{v1alpha1.ReasonFailedMount, `engine pod: secret "login" not found`}},
		{"no image", pod(engine, "", waiting("ImagePullBackOff", "Back-off pulling …")), "",
			problem{v1alpha1.ReasonImagePull, "engine pod: the image varve:9 cannot be pulled"}},
		{"no image, a moment later", pod(engine, "", waiting("ErrImagePull", "rpc error …")), "",
			problem{v1alpha1.ReasonImagePull, "engine pod: the image varve:9 cannot be pulled"}},
		{"crash loop", pod(engine, "", ended(waiting("CrashLoopBackOff", "back-off 5m"), "Error", "a log line\nvarve: --listen: address in use\n")), "",
			problem{v1alpha1.ReasonCrashing, "engine pod: the container failed: varve: --listen: address in use"}},
		{"crash loop, a moment later", pod(engine, "", ended(corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, "Error", "varve: --listen: address in use")), "",
			problem{v1alpha1.ReasonCrashing, "engine pod: the container failed: varve: --listen: address in use"}},
		{"out of memory", pod(engine, "", ended(waiting("CrashLoopBackOff", ""), "OOMKilled", "")), "",
			problem{v1alpha1.ReasonCrashing, "engine pod: the container failed: it used more memory than its limit"}},
		{"another error", pod(engine, "", waiting("CreateContainerConfigError", "no such user")), "",
			problem{v1alpha1.ReasonContainerNotCreated, "engine pod: CreateContainerConfigError: no such user"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, two := c.pod, c.pod
			one.Name, two.Name = "main-engine-5d7f-abcde", "main-engine-5d7f-fghij"
			in := healthy()
			in.Pods = []corev1.Pod{one, two}
			if c.mount != "" {
				in.Mounts = map[string]string{one.Name: c.mount, two.Name: c.mount}
			}
			got := problems(&in)
			if c.want == (problem{}) {
				if len(got) != 0 {
					t.Errorf("problems %v, want none", got)
				}
			} else if len(got) != 1 || got[0] != c.want {
				t.Errorf("problems %v, want %v", got, c.want)
			}
		})
	}
}

func TestSchemaFailureIsReported(t *testing.T) {
	in := healthy()
	in.Schema.Status.Conditions, in.Fleet = nil, nil
	in.Pods = []corev1.Pod{pod(v1alpha1.ComponentSchema, "main-schema-x", ended(waiting("CrashLoopBackOff", ""), "Error",
		`{"level":"INFO"}`+"\nvarve: preparing Cassandra: bad credentials"))}
	s := Compute(in)
	for _, kind := range []string{v1alpha1.ConditionStorageReady, v1alpha1.ConditionDegraded} {
		c := condition(t, s, kind)
		if c.Reason != v1alpha1.ReasonSchemaFailed ||
			c.Message != "creating the tables in Cassandra failed and is retried: varve: preparing Cassandra: bad credentials" {
			t.Errorf("%s: %v", kind, c)
		}
	}
}

func TestMissingPodsAreReported(t *testing.T) {
	for _, c := range []struct {
		message string
		want    problem
	}{
		{`pods "main-engine-7d9c5-" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`,
			problem{v1alpha1.ReasonPodSecurity, "this namespace does not allow engine pods: label it " +
				"pod-security.kubernetes.io/enforce=privileged (violates PodSecurity \"restricted:latest\": host namespaces (hostNetwork=true))"}},
		{`pods "main-engine-7d9c5-x" is forbidden: exceeded quota: compute`,
			problem{v1alpha1.ReasonFailedCreate, "engine pods cannot be created: is forbidden: exceeded quota: compute"}},
	} {
		in := healthy()
		in.Engines.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: c.message,
		}}
		if got := problems(&in); len(got) != 1 || got[0] != c.want {
			t.Errorf("problems %v, want %v", got, c.want)
		}
	}
}

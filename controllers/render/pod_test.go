package render

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestPodsMeetRestrictedStandard checks all pods by the rules of the restricted pod security standard.
func TestPodsMeetRestrictedStandard(t *testing.T) {
	for _, file := range []string{"testdata/embedded.in.yaml", "testdata/external.in.yaml"} {
		for _, o := range Archiver(Input{Archiver: load(t, file), Image: "varve:1"}) {
			var pod corev1.PodTemplateSpec
			switch *o.GetKind() {
			case "Deployment":
				var d appsv1.Deployment
				decode(t, o, &d)
				pod = d.Spec.Template
			case "Job":
				var j batchv1.Job
				decode(t, o, &j)
				pod = j.Spec.Template
			default:
				continue
			}
			restricted(t, *o.GetName(), &pod.Spec)
		}
	}
}

func restricted(t *testing.T, name string, pod *corev1.PodSpec) {
	t.Helper()
	s := pod.SecurityContext
	if !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: pod security context %v", name, s)
	}
	c := pod.Containers[0].SecurityContext
	if *c.AllowPrivilegeEscalation || len(c.Capabilities.Drop) != 1 || c.Capabilities.Drop[0] != "ALL" ||
		!*c.ReadOnlyRootFilesystem {
		t.Errorf("%s: security context %v", name, c)
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			t.Errorf("%s mounts a path of its node", name)
		}
	}
}

// TestSelectorsMatchPods checks that selectors match their pods, even with labels of the user.
func TestSelectorsMatchPods(t *testing.T) {
	a := load(t, "testdata/everything.in.yaml")
	for _, component := range []string{v1alpha1.ComponentEngine, v1alpha1.ComponentRetrieval} {
		name := componentName(a.Name, component)
		d := rendered[appsv1.Deployment](t, a, "Deployment", name)
		s := rendered[corev1.Service](t, a, "Service", name)
		for _, selector := range []map[string]string{d.Spec.Selector.MatchLabels, s.Spec.Selector} {
			for k, v := range selector {
				if d.Spec.Template.Labels[k] != v {
					t.Errorf("%s: the pods have no label %s=%s", name, k, v)
				}
			}
		}
		if d.Spec.Template.Labels["team"] == "" {
			t.Errorf("%s: the user's label is missing", name)
		}
	}
}

package fleet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestCPU(t *testing.T) {
	cores := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
	}
	for _, tc := range []struct {
		name      string
		resources corev1.ResourceRequirements
		want      float64
	}{
		{"a limit", corev1.ResourceRequirements{Limits: cores("2"), Requests: cores("500m")}, 2},
		{"a request only", corev1.ResourceRequirements{Requests: cores("500m")}, 0.5},
		{"neither", corev1.ResourceRequirements{}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: tc.resources}}}}
			if got := cpu(pod); got != tc.want {
				t.Errorf("%v cores, want %v", got, tc.want)
			}
		})
	}
}

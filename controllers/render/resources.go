package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

const mebibyte = 1 << 20

// These are the default resources of the containers. They request CPU, because a
// HorizontalPodAutoscaler needs a request. They do not limit CPU, because throttled engines
// lose samples.
var (
	engineResources    = defaults("250m", "512Mi", "2Gi")
	retrievalResources = defaults("100m", "256Mi", "1Gi")
	schemaResources    = defaults("50m", "64Mi", "256Mi")
)

func defaults(cpu, memory, limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
	}
}

// resources returns the user's resources, or the default.
func resources(user *v1alpha1.PodSpec, otherwise corev1.ResourceRequirements) corev1.ResourceRequirements {
	if user.Resources != nil {
		return *user.Resources
	}
	return otherwise
}

func requirements(r corev1.ResourceRequirements) *core.ResourceRequirementsApplyConfiguration {
	out := core.ResourceRequirements()
	if r.Requests != nil {
		out.WithRequests(r.Requests)
	}
	if r.Limits != nil {
		out.WithLimits(r.Limits)
	}
	for _, c := range r.Claims {
		claim := core.ResourceClaim().WithName(c.Name)
		if c.Request != "" {
			claim.WithRequest(c.Request)
		}
		out.WithClaims(claim)
	}
	return out
}

// goMemory returns GOMEMLIMIT: 90 % of the memory limit, so that the garbage collector works
// harder before the kernel kills the process. It returns "" if there is no limit.
func goMemory(r corev1.ResourceRequirements) string {
	limit := r.Limits.Memory().Value()
	if limit < 2*mebibyte {
		return ""
	}
	return fmt.Sprintf("%dMiB", limit/10*9/mebibyte)
}

// sampleMemory returns the memory that an engine can use for samples: a quarter of the limit, or
// of the request if there is no limit. The whole process takes up to twice this value and
// engineBeside, so a small pod has less for samples.
func sampleMemory(r corev1.ResourceRequirements) string {
	total := r.Limits.Memory().Value()
	if total == 0 {
		total = r.Requests.Memory().Value()
	}
	if total == 0 {
		total = engineResources.Limits.Memory().Value()
	}
	// The engine requires at least 16 MiB.
	return fmt.Sprintf("%dMi", max(min(total/4, (total-engineBeside)/2)/mebibyte, 16))
}

// engineBeside is the memory that an engine takes in addition to twice its --memory: see docs/operations.md.
const engineBeside = 384 * mebibyte

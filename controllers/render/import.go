package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// SourceDir is the folder in the Pod of an import with the files of the other archiver.
const SourceDir = "/source"

// Import describes a Job that imports files.
type Import struct {
	// Name is the name of the Job.
	Name string
	// Claim is the PersistentVolumeClaim with the files, or HostPath is their directory on Node. One of them is set.
	Claim, HostPath, Node string
	// SubPath is the folder with the files below SourceDir. It may be empty.
	SubPath string
	// User and Group may read the files. 0 stands for those of the image.
	User, Group int64
	// Args are further arguments of `varve import data`.
	Args []string
}

// importRetries is how often Kubernetes starts the import again. The import continues where it was. It fails after minutes
// without Cassandra or without engines, so this is a matter of days.
const importRetries = 1000

// importResources are the resources of an import, which reads with two processors at a time.
var importResources = corev1.ResourceRequirements{
	Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
	Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("2Gi")},
}

// ImportJob returns a Job that imports files into an archive in Cassandra. The operator does not apply it.
func ImportJob(in Input, o Import) *batch.JobApplyConfiguration {
	a := in.Archiver
	flags, volumes := storage(a)
	source := core.Volume().WithName("source")
	if o.Claim != "" {
		source.WithPersistentVolumeClaim(core.PersistentVolumeClaimVolumeSource().WithClaimName(o.Claim).WithReadOnly(true))
	} else {
		source.WithHostPath(core.HostPathVolumeSource().WithPath(o.HostPath).WithType(corev1.HostPathDirectory))
	}
	volumes = append(volumes, volume{VolumeApplyConfiguration: source, path: SourceDir, readOnly: true})
	container := core.Container().
		WithArgs("import", "data", "--from", "appliance-files", SourceDir+o.SubPath).
		WithArgs(flags...).
		WithArgs(fmt.Sprintf("--shards=%d", a.Spec.Shards)).
		WithArgs(o.Args...).
		WithResources(requirements(importResources))
	settings := a.Spec.Retrieval.PodSpec // the Pod runs where it can reach Cassandra
	settings.Resources = nil
	template := in.template(podTemplate{component: v1alpha1.ComponentImport, settings: &settings, container: container, volumes: volumes})
	security := template.Spec.SecurityContext // its fsGroup may read the Secrets; the source keeps its owner, because it is read-only
	if o.User != 0 {
		security.WithRunAsUser(o.User)
	}
	if o.Group != 0 {
		security.WithRunAsGroup(o.Group)
	}
	if o.Node != "" {
		template.Spec.WithNodeSelector(map[string]string{corev1.LabelHostname: o.Node})
	}
	template.Spec.WithAutomountServiceAccountToken(false).WithRestartPolicy(corev1.RestartPolicyNever)
	// Exit code 1 says that a part of the source cannot be read, which another try would not change.
	damaged := batch.PodFailurePolicyRule().WithAction("FailJob").
		WithOnExitCodes(batch.PodFailurePolicyOnExitCodesRequirement().WithContainerName(v1alpha1.ComponentImport).WithOperator("In").WithValues(1))
	return batch.Job(o.Name, a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentImport)).
		WithSpec(batch.JobSpec().
			WithBackoffLimit(importRetries).
			WithPodFailurePolicy(batch.PodFailurePolicy().WithRules(damaged)).
			WithTemplate(template))
}

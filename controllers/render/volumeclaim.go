package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// defaultVolumeSize repeats the API's default for objects that did not pass the API server.
var defaultVolumeSize = resource.MustParse("10Gi")

// volumeClaim returns the PersistentVolumeClaim of an embedded archive. Unless deletionPolicy is
// Delete it has no owner, so that it outlives the Archiver and another Archiver of the same name
// adopts it.
func volumeClaim(a *v1alpha1.Archiver) *core.PersistentVolumeClaimApplyConfiguration {
	e := a.Spec.Storage.Embedded
	size := defaultVolumeSize
	if e.Size != nil {
		size = *e.Size
	}
	spec := core.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(core.VolumeResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceStorage: size}))
	if e.StorageClassName != nil {
		spec.WithStorageClassName(*e.StorageClassName)
	}
	claim := core.PersistentVolumeClaim(VolumeName(a.Name), a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentEngine)).
		WithSpec(spec)
	if e.DeletionPolicy == v1alpha1.DeleteData {
		claim.WithOwnerReferences(owner(a))
	}
	return claim
}

package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// defaultVolumeSize repeats the default of the API for objects that did not pass through the
// API server.
var defaultVolumeSize = resource.MustParse("10Gi")

// KeptByArgoCD are the annotations of objects that outlive their Archiver. Argo CD can take objects without an
// owner for its own, because their label app.kubernetes.io/instance may be the name of an Application. With
// the annotations it neither deletes them nor reports them as a difference. Source:
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/ and compare-options.
var KeptByArgoCD = map[string]string{
	"argocd.argoproj.io/sync-options":    "Prune=false",
	"argocd.argoproj.io/compare-options": "IgnoreExtraneous",
}

// volumeClaim returns the PersistentVolumeClaim of an embedded archive. Unless deletionPolicy
// is Delete, the claim has no owner. It then outlives the Archiver, and another Archiver of
// the same name can use it.
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
	} else {
		claim.WithAnnotations(KeptByArgoCD)
	}
	return claim
}

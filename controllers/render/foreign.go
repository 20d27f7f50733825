package render

import (
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// foreign is the apply configuration of another project's kind, with the fields that Varve sets.
type foreign[Spec any] struct {
	meta.TypeMetaApplyConfiguration    `json:",inline"`
	*meta.ObjectMetaApplyConfiguration `json:"metadata"`

	Spec Spec `json:"spec"`
}

// newForeign returns an object of another project's kind that belongs to an Archiver.
func newForeign[Spec any](apiVersion, kind, name string, a *v1alpha1.Archiver, component string, spec Spec) *foreign[Spec] {
	return &foreign[Spec]{
		TypeMetaApplyConfiguration: *meta.TypeMeta().WithAPIVersion(apiVersion).WithKind(kind),
		ObjectMetaApplyConfiguration: meta.ObjectMeta().
			WithName(name).WithNamespace(a.Namespace).
			WithLabels(Labels(a.Name, component)).WithOwnerReferences(owner(a)),
		Spec: spec,
	}
}

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (*foreign[Spec]) IsApplyConfiguration() {}

// GetAPIVersion implements Object.
func (o *foreign[Spec]) GetAPIVersion() *string { return o.APIVersion }

// GetKind implements Object.
func (o *foreign[Spec]) GetKind() *string { return o.Kind }

// GetNamespace implements Object.
func (o *foreign[Spec]) GetNamespace() *string { return o.Namespace }

// GetName implements Object.
func (o *foreign[Spec]) GetName() *string { return o.Name }

package render

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// Port and PortName are those of the HTTP port of engines and retrieval pods.
const (
	Port     = 17665
	PortName = "http"
)

// ManagedBy is the value of v1alpha1.LabelManagedBy.
const ManagedBy = "varve-operator"

// EngineName is the name of everything that belongs to the engines of an
// Archiver: their Deployment, Service, budget, network policy, account and role.
func EngineName(archiver string) string { return archiver + "-engine" }

// RetrievalName is the same for retrieval pods.
func RetrievalName(archiver string) string { return archiver + "-retrieval" }

// VolumeName is the name of the volume claim of an embedded archive.
func VolumeName(archiver string) string { return archiver + "-data" }

func componentName(archiver, component string) string { return archiver + "-" + component }

// URL is where clients inside of the cluster read the archive.
func URL(a *v1alpha1.Archiver) string {
	return "http://" + RetrievalName(a.Name) + "." + a.Namespace + ".svc"
}

// Labels are those of all objects of an Archiver. component is empty for objects
// that belong to none.
func Labels(archiver, component string) map[string]string {
	l := map[string]string{
		v1alpha1.LabelName:      "varve",
		v1alpha1.LabelInstance:  archiver,
		v1alpha1.LabelManagedBy: ManagedBy,
		v1alpha1.LabelArchiver:  archiver,
	}
	if component != "" {
		l[v1alpha1.LabelComponent] = component
	}
	return l
}

// selector matches the pods of a component. It can never change: selectors of
// Deployments are immutable.
func selector(archiver, component string) map[string]string {
	return map[string]string{
		v1alpha1.LabelName:      "varve",
		v1alpha1.LabelInstance:  archiver,
		v1alpha1.LabelComponent: component,
	}
}

// EngineSelector matches engine pods, in the form of the scale subresource.
func EngineSelector(archiver string) string {
	return labels.SelectorFromSet(selector(archiver, v1alpha1.ComponentEngine)).String()
}

func matching(archiver, component string) *meta.LabelSelectorApplyConfiguration {
	return meta.LabelSelector().WithMatchLabels(selector(archiver, component))
}

// podLabels are the user's and ours; ours win.
func podLabels(archiver, component string, user map[string]string) map[string]string {
	l := make(map[string]string, len(user)+5)
	maps.Copy(l, user)
	maps.Copy(l, Labels(archiver, component))
	return l
}

// owner makes an object end with its Archiver.
func owner(a *v1alpha1.Archiver) *meta.OwnerReferenceApplyConfiguration {
	return meta.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(v1alpha1.KindArchiver).
		WithName(a.Name).WithUID(a.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}

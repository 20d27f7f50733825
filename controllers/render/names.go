package render

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// Ports of the pods, by number and name.
//
//	retrieval           http 17665                   metrics 17666
//	engines             internal 17665               metrics 17666
//	embedded engine     http 17665, internal 17667   metrics 17666
//
// Readers use http. Retrieval pods and the operator use internal. Engines that serve no readers keep
// the number 17665 for it, so that retrieval pods and engines of different versions understand each
// other during an update.
const (
	Port                 = 17665
	PortName             = "http"
	MetricsPort          = 17666
	MetricsPortName      = "metrics"
	EmbeddedInternalPort = 17667
	// AppliancePortName is the port of the Service of readers that has the number Port.
	AppliancePortName = "appliance"
)

// InternalPort returns the number of the port named report.PortName.
func InternalPort(a *v1alpha1.Archiver) int32 {
	if Embedded(a) {
		return EmbeddedInternalPort
	}
	return report.Port
}

// ManagedBy is the value of v1alpha1.LabelManagedBy.
const ManagedBy = "varve-operator"

// EngineName returns the name of all objects of an Archiver's engines: their Deployment, Service,
// PodDisruptionBudget, NetworkPolicy, ServiceAccount and Role.
func EngineName(archiver string) string { return archiver + "-engine" }

// RetrievalName returns the name of all objects of an Archiver's retrieval pods.
func RetrievalName(archiver string) string { return archiver + "-retrieval" }

// RetrievalMetricsName returns the name of the Service for the metrics of retrieval pods.
func RetrievalMetricsName(archiver string) string { return RetrievalName(archiver) + "-metrics" }

// VolumeName returns the name of an embedded archive's PersistentVolumeClaim.
func VolumeName(archiver string) string { return archiver + "-data" }

func componentName(archiver, component string) string { return archiver + "-" + component }

// URL returns the address for reading the archive from inside the cluster.
func URL(a *v1alpha1.Archiver) string {
	scheme := "http://"
	if encrypted(a) {
		scheme = "https://"
	}
	return scheme + RetrievalName(a.Name) + "." + a.Namespace + ".svc"
}

// Labels returns the labels of an Archiver's objects. The component is empty for objects that
// belong to no component.
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

// selector returns the labels that match the pods of a component. They must never change, because
// selectors of Deployments are immutable.
func selector(archiver, component string) map[string]string {
	return map[string]string{
		v1alpha1.LabelName:      "varve",
		v1alpha1.LabelInstance:  archiver,
		v1alpha1.LabelComponent: component,
	}
}

// EngineSelector returns the selector of engine pods for the scale subresource.
func EngineSelector(archiver string) string {
	return labels.SelectorFromSet(selector(archiver, v1alpha1.ComponentEngine)).String()
}

func matching(archiver, component string) *meta.LabelSelectorApplyConfiguration {
	return meta.LabelSelector().WithMatchLabels(selector(archiver, component))
}

// podLabels returns the user's labels and the operator's labels. The operator's labels win.
func podLabels(archiver, component string, user map[string]string) map[string]string {
	l := make(map[string]string, len(user)+5)
	maps.Copy(l, user)
	maps.Copy(l, Labels(archiver, component))
	return l
}

// owner returns the owner reference with which Kubernetes deletes an object together with its
// Archiver.
func owner(a *v1alpha1.Archiver) *meta.OwnerReferenceApplyConfiguration {
	return meta.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(v1alpha1.KindArchiver).
		WithName(a.Name).WithUID(a.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}

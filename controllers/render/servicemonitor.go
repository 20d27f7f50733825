package render

import (
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// serviceMonitor is the apply configuration of the ServiceMonitor of Prometheus'
// operator, as far as it is needed here.
type serviceMonitor struct {
	meta.TypeMetaApplyConfiguration    `json:",inline"`
	*meta.ObjectMetaApplyConfiguration `json:"metadata"`

	Spec serviceMonitorSpec `json:"spec"`
}

type serviceMonitorSpec struct {
	// JobLabel is the label of the Service that becomes `job` in Prometheus.
	JobLabel  string                                `json:"jobLabel"`
	Selector  *meta.LabelSelectorApplyConfiguration `json:"selector"`
	Endpoints []serviceMonitorEndpoint              `json:"endpoints"`
}

type serviceMonitorEndpoint struct {
	Port string `json:"port"`
}

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (*serviceMonitor) IsApplyConfiguration() {}

// GetAPIVersion implements Object.
func (m *serviceMonitor) GetAPIVersion() *string { return m.APIVersion }

// GetKind implements Object.
func (m *serviceMonitor) GetKind() *string { return m.Kind }

// GetNamespace implements Object.
func (m *serviceMonitor) GetNamespace() *string { return m.Namespace }

// GetName implements Object.
func (m *serviceMonitor) GetName() *string { return m.Name }

// serviceMonitors let Prometheus scrape the pods. The engine of an embedded
// archive is behind both Services, and scraped once.
func serviceMonitors(a *v1alpha1.Archiver) []Object {
	components := []string{v1alpha1.ComponentEngine}
	if !Embedded(a) {
		components = append(components, v1alpha1.ComponentRetrieval)
	}
	var monitors []Object
	for _, c := range components {
		m := &serviceMonitor{
			TypeMetaApplyConfiguration: *meta.TypeMeta().WithAPIVersion("monitoring.coreos.com/v1").WithKind("ServiceMonitor"),
			ObjectMetaApplyConfiguration: meta.ObjectMeta().
				WithName(componentName(a.Name, c)).WithNamespace(a.Namespace).
				WithLabels(Labels(a.Name, c)).WithOwnerReferences(owner(a)),
			Spec: serviceMonitorSpec{
				JobLabel:  v1alpha1.LabelName,
				Selector:  matching(a.Name, c),
				Endpoints: []serviceMonitorEndpoint{{Port: PortName}},
			},
		}
		monitors = append(monitors, m)
	}
	return monitors
}

package render

import (
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// serviceMonitorSpec is the spec of the Prometheus operator's ServiceMonitor.
type serviceMonitorSpec struct {
	// JobLabel is the label of the Service whose value becomes `job` in Prometheus.
	JobLabel  string                                `json:"jobLabel"`
	Selector  *meta.LabelSelectorApplyConfiguration `json:"selector"`
	Endpoints []serviceMonitorEndpoint              `json:"endpoints"`
}

type serviceMonitorEndpoint struct {
	Port string `json:"port"`
}

// serviceMonitors returns the ServiceMonitors of the pods. The engine of an embedded archive has
// both Services, but only one ServiceMonitor.
func serviceMonitors(a *v1alpha1.Archiver) []Object {
	components := []string{v1alpha1.ComponentEngine}
	if !Embedded(a) {
		components = append(components, v1alpha1.ComponentRetrieval)
	}
	var monitors []Object
	for _, c := range components {
		monitors = append(monitors, newForeign("monitoring.coreos.com/v1", "ServiceMonitor", componentName(a.Name, c), a, c, serviceMonitorSpec{
			JobLabel:  v1alpha1.LabelName,
			Selector:  matching(a.Name, c),
			Endpoints: []serviceMonitorEndpoint{{Port: MetricsPortName}},
		}))
	}
	return monitors
}

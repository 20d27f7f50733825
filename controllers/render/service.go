package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// metricsService returns a headless Service with which Prometheus finds all pods of a component,
// including pods that are not ready.
func metricsService(a *v1alpha1.Archiver, name, component string) *core.ServiceApplyConfiguration {
	return core.Service(name, a.Namespace).
		WithLabels(Labels(a.Name, component)).
		WithOwnerReferences(owner(a)).
		WithSpec(core.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPublishNotReadyAddresses(true).
			WithSelector(selector(a.Name, component)).
			WithPorts(servicePort(MetricsPortName, MetricsPort, MetricsPortName)))
}

// retrievalService returns the Service that clients use, on the HTTP port and on the Archiver
// Appliance's port. The engine of an embedded archive serves it.
func retrievalService(a *v1alpha1.Archiver) *core.ServiceApplyConfiguration {
	component := v1alpha1.ComponentRetrieval
	if Embedded(a) {
		component = v1alpha1.ComponentEngine
	}
	user := &a.Spec.Retrieval.Service
	kind := user.Type
	if kind == "" {
		kind = corev1.ServiceTypeClusterIP
	}
	readers := servicePort(PortName, 80, PortName)
	if encrypted(a) {
		readers = servicePort("https", 443, PortName)
	}
	s := core.Service(RetrievalName(a.Name), a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentRetrieval)).
		WithOwnerReferences(owner(a)).
		WithSpec(core.ServiceSpec().
			WithType(kind).
			WithSelector(selector(a.Name, component)).
			WithPorts(readers, servicePort(AppliancePortName, Port, PortName)))
	if len(user.Annotations) > 0 {
		s.WithAnnotations(user.Annotations)
	}
	return s
}

// servicePort returns a port of a Service for the port of the pods with a name.
func servicePort(name string, port int32, target string) *core.ServicePortApplyConfiguration {
	return core.ServicePort().WithName(name).WithPort(port).WithProtocol(corev1.ProtocolTCP).WithTargetPort(intstr.FromString(target))
}

var metricsPortName = intstr.FromString(MetricsPortName)

package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// engineService returns the headless Service that gives each engine a name. Prometheus uses it
// to find all engines, including engines that are not ready.
func engineService(a *v1alpha1.Archiver) *core.ServiceApplyConfiguration {
	return core.Service(EngineName(a.Name), a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentEngine)).
		WithOwnerReferences(owner(a)).
		WithSpec(core.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPublishNotReadyAddresses(true).
			WithSelector(selector(a.Name, v1alpha1.ComponentEngine)).
			WithPorts(servicePort(PortName, Port)))
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
	s := core.Service(RetrievalName(a.Name), a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentRetrieval)).
		WithOwnerReferences(owner(a)).
		WithSpec(core.ServiceSpec().
			WithType(kind).
			WithSelector(selector(a.Name, component)).
			WithPorts(servicePort(PortName, 80), servicePort("appliance", Port)))
	if len(user.Annotations) > 0 {
		s.WithAnnotations(user.Annotations)
	}
	return s
}

func servicePort(name string, port int32) *core.ServicePortApplyConfiguration {
	return core.ServicePort().WithName(name).WithPort(port).WithProtocol(corev1.ProtocolTCP).WithTargetPort(portName)
}

// portName is the name of the HTTP port in the pods.
var portName = intstr.FromString(PortName)

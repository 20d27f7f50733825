// Package render computes the Kubernetes objects of an Archiver. It is pure: the same Archiver
// gives the same objects, byte for byte.
//
//	Archiver ─┬─▶ ServiceAccounts, Roles, RoleBindings
//	          ├─▶ K8ssandraCluster, or CassandraDatacenter; NetworkPolicy   (managed Cassandra)
//	          ├─▶ schema Job          (Cassandra)
//	          ├─▶ volume claim        (embedded)
//	          ├─▶ engines:   Deployment, headless Service, PodDisruptionBudget, NetworkPolicy, autoscaler
//	          ├─▶ retrieval: Deployment (Cassandra), Services, PodDisruptionBudget, NetworkPolicy
//	          ├─▶ Certificates        (with spec.internalTLS, where their CRD exists)
//	          └─▶ ServiceMonitors     (where their CRD exists)
//
// Objects are apply configurations for server-side apply: they contain only the fields that the
// operator sets.
package render

import (
	"k8s.io/apimachinery/pkg/runtime"

	"varve.dev/varve/api/v1alpha1"
)

// Input is everything that the objects depend on.
type Input struct {
	// Archiver is the Archiver as the API server returns it, with defaults.
	Archiver *v1alpha1.Archiver
	// Image is the default image of an Archiver's pods: the operator's own image.
	Image string
	// HasServiceMonitor is set if the CRD ServiceMonitor of the Prometheus operator exists.
	HasServiceMonitor bool
	// HasCertificate is set if the CRD Certificate of cert-manager exists.
	HasCertificate bool
	// HoldInternalTLS keeps the certificates of pods optional: see the function of this name.
	HoldInternalTLS bool
	// Datacenter is what the operator has observed of the managed Cassandra datacenter.
	Datacenter Datacenter
	// OperatorNamespace is the namespace of the operator's pod. It is empty outside of a cluster.
	OperatorNamespace string
	// CassandraOperatorNamespaces are the namespaces of the operators that run managed Cassandra. It is
	// empty if they are unknown.
	CassandraOperatorNamespaces []string
	// Restore is the ArchiveRestore that restores a backup into the archive, or "". Engines start after it.
	Restore string
}

// Object is an object to apply.
type Object interface {
	runtime.ApplyConfiguration
	GetAPIVersion() *string
	GetKind() *string
	GetNamespace() *string
	GetName() *string
}

// Archiver returns the objects of an Archiver in the order in which to apply them. Objects that a
// pod needs come before the pod.
func Archiver(in Input) []Object {
	a := in.Archiver
	var objects []Object
	add := func(o ...Object) { objects = append(objects, o...) }

	add(rights(a, v1alpha1.ComponentEngine, engineRules(Embedded(a)))...)
	add(metricsService(a, EngineName(a.Name), v1alpha1.ComponentEngine), retrievalService(a), engineNetworkPolicy(in), disruptionBudget(a, v1alpha1.ComponentEngine))
	switch in.Datacenter.Kind {
	case KindK8ssandraCluster:
		add(k8ssandraCluster(in))
	case KindCassandraDatacenter:
		add(datacenter(in))
	}
	if in.Datacenter.Kind != "" {
		add(cassandraNetworkPolicy(in))
	}
	if Embedded(a) {
		add(volumeClaim(a))
	} else {
		add(rights(a, v1alpha1.ComponentRetrieval, retrievalRules())...)
		add(metricsService(a, RetrievalMetricsName(a.Name), v1alpha1.ComponentRetrieval))
		add(retrievalNetworkPolicy(a), disruptionBudget(a, v1alpha1.ComponentRetrieval), schemaJob(in))
	}
	if in.HasCertificate {
		add(certificates(a)...)
	}
	add(engineDeployment(in))
	if a.Spec.Engines.Autoscaling != nil {
		add(autoscaler(a))
	}
	if !Embedded(a) {
		add(retrievalDeployment(in))
	}
	if in.HasServiceMonitor {
		add(serviceMonitors(a)...)
	}
	return objects
}

// Embedded reports whether the archive is stored on a volume of its single engine.
func Embedded(a *v1alpha1.Archiver) bool { return a.Spec.Storage.Embedded != nil }

// image returns the image of an Archiver's pods.
func (in Input) image() string {
	if in.Archiver.Spec.Image != "" {
		return in.Archiver.Spec.Image
	}
	return in.Image
}

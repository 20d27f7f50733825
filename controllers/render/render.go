// Package render says which objects an Archiver is made of. It is pure: the same
// Archiver gives the same objects, to the byte.
//
//	Archiver ─┬─▶ ServiceAccounts, Roles, RoleBindings
//	          ├─▶ K8ssandraCluster, or CassandraDatacenter   (managed Cassandra)
//	          ├─▶ schema Job          (Cassandra)
//	          ├─▶ volume claim        (embedded)
//	          ├─▶ engines:   Deployment, headless Service, budget, network policy, autoscaler
//	          ├─▶ retrieval: Deployment (Cassandra), Service, budget, network policy
//	          └─▶ ServiceMonitors     (where their CRD exists)
//
// Objects are apply configurations: they have the fields that the operator
// decides, and no others, for server-side apply.
package render

import (
	"k8s.io/apimachinery/pkg/runtime"

	"varve.dev/varve/api/v1alpha1"
)

// Input is all that the objects are made of.
type Input struct {
	// Archiver as the API server has it, with defaults filled in.
	Archiver *v1alpha1.Archiver
	// Image of Archivers that name none: the operator's own.
	Image string
	// HasServiceMonitor says that the CRD of Prometheus' operator exists.
	HasServiceMonitor bool
	// Datacenter is what is known of the one that is run for the archive.
	Datacenter Datacenter
}

// Object is an object to be applied.
type Object interface {
	runtime.ApplyConfiguration
	GetAPIVersion() *string
	GetKind() *string
	GetNamespace() *string
	GetName() *string
}

// Archiver returns the objects of an Archiver, in the order in which they are
// applied: what a pod needs comes before the pod.
func Archiver(in Input) []Object {
	a := in.Archiver
	var objects []Object
	add := func(o ...Object) { objects = append(objects, o...) }

	add(access(a, v1alpha1.ComponentEngine, engineRules())...)
	add(engineService(a), retrievalService(a), engineNetworkPolicy(a), disruptionBudget(a, v1alpha1.ComponentEngine))
	switch in.Datacenter.Kind {
	case KindK8ssandraCluster:
		add(k8ssandraCluster(in))
	case KindCassandraDatacenter:
		add(datacenter(in))
	}
	if Embedded(a) {
		add(volumeClaim(a))
	} else {
		add(access(a, v1alpha1.ComponentRetrieval, retrievalRules())...)
		add(retrievalNetworkPolicy(a), disruptionBudget(a, v1alpha1.ComponentRetrieval), schemaJob(in))
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

// Embedded reports whether the archive is on a volume of the one engine.
func Embedded(a *v1alpha1.Archiver) bool { return a.Spec.Storage.Embedded != nil }

// image returns the image of an Archiver's pods.
func (in Input) image() string {
	if in.Archiver.Spec.Image != "" {
		return in.Archiver.Spec.Image
	}
	return in.Image
}

package archiver

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// foreignObject is an object of another project's kind, under the name that an Archiver's object has.
type foreignObject struct {
	// defined is set if the cluster has the CRD.
	defined bool
	// object is the object, or nil if it does not exist.
	object *unstructured.Unstructured
	// owned is set if the Archiver owns the object.
	owned bool
}

// Labels of k8ssandra-operator on the CassandraDatacenter of a K8ssandraCluster.
const (
	clusterNameLabel      = "k8ssandra.io/cluster-name"
	clusterNamespaceLabel = "k8ssandra.io/cluster-namespace"
)

// ours reports whether the object is the Archiver's. An object that lost its owner, because the Archiver was
// deleted without its objects, belongs to a new Archiver of the same name.
func (f foreignObject) ours(a *v1alpha1.Archiver) bool {
	if f.owned || f.object == nil {
		return f.owned
	}
	return metav1.GetControllerOf(f.object) == nil && f.object.GetLabels()[v1alpha1.LabelArchiver] == a.Name
}

// madeFor reports whether k8ssandra-operator made the object, a CassandraDatacenter, for the Archiver's
// K8ssandraCluster.
func (f foreignObject) madeFor(a *v1alpha1.Archiver) bool {
	labels := f.object.GetLabels()
	return labels[clusterNameLabel] == render.ClusterName(a.Name) && labels[clusterNamespaceLabel] == a.Namespace
}

// verdict says which kind of object represents an Archiver's datacenter.
type verdict struct {
	// kind is empty if the Archiver must not have an object now.
	kind string
	// conflict is a reason why the spec is not followed, for an administrator.
	conflict string
	// waiting is a reason that passes.
	waiting string
}

// chooseKind returns the kind of the object. An existing object keeps its kind, because neither operator can
// take over the nodes of the other.
func chooseKind(a *v1alpha1.Archiver, cluster, datacenter foreignObject) verdict {
	wants := render.WantedOperator(render.Managed(a))
	switch {
	case cluster.ours(a):
		v := verdict{kind: render.KindK8ssandraCluster}
		if wants == v1alpha1.OperatorCassOperator {
			v.conflict = "k8ssandra-operator runs this datacenter, as K8ssandraCluster " + render.ClusterName(a.Name) +
				", and cass-operator cannot take it over: remove spec.storage.cassandra.managed.operator"
		}
		return v
	case datacenter.ours(a):
		return verdict{kind: render.KindCassandraDatacenter, conflict: keptDatacenter(a, wants)}
	case cluster.defined && wants != v1alpha1.OperatorCassOperator:
		if cluster.object != nil {
			return taken(cluster.object)
		}
		// k8ssandra-operator would change this CassandraDatacenter, and delete it with the K8ssandraCluster.
		if datacenter.object != nil && !datacenter.madeFor(a) {
			return taken(datacenter.object)
		}
		return verdict{kind: render.KindK8ssandraCluster}
	case datacenter.defined && wants != v1alpha1.OperatorK8ssandra:
		if datacenter.object != nil {
			return taken(datacenter.object)
		}
		return verdict{kind: render.KindCassandraDatacenter}
	}
	return verdict{}
}

// keptDatacenter returns why a CassandraDatacenter does not follow the spec.
func keptDatacenter(a *v1alpha1.Archiver, wants v1alpha1.CassandraOperator) (conflict string) {
	if wants != v1alpha1.OperatorK8ssandra {
		return ""
	}
	conflict = "cass-operator runs this datacenter, as CassandraDatacenter " + render.DatacenterName(a.Name) +
		", and k8ssandra-operator cannot take it over: "
	if render.Managed(a).Operator == "" {
		return conflict + "remove medusa and reaper from spec.storage.cassandra.managed, which cass-operator does not support"
	}
	return conflict + "remove spec.storage.cassandra.managed.operator"
}

// taken returns the verdict if an object of somebody else has the name.
func taken(o *unstructured.Unstructured) verdict {
	if o.GetDeletionTimestamp() != nil {
		return verdict{waiting: fmt.Sprintf("an earlier %s %s is being deleted", o.GetKind(), o.GetName())}
	}
	const conflict = "%s %s exists and does not belong to this Archiver: delete it, or give the Archiver another name"
	return verdict{conflict: fmt.Sprintf(conflict, o.GetKind(), o.GetName())}
}

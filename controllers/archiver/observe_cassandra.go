package archiver

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/render"
)

// Cassandra's objects are asked for by polling: their definitions may come and go.
// While something is under way that is more often.
const (
	cassandraInterval         = 15 * time.Second
	cassandraChangingInterval = 5 * time.Second
)

// Kinds that stand for a datacenter.
var (
	k8ssandraCluster    = schema.GroupVersionKind{Group: "k8ssandra.io", Version: "v1alpha1", Kind: render.KindK8ssandraCluster}
	cassandraDatacenter = schema.GroupVersionKind{Group: "cassandra.datastax.com", Version: "v1beta1", Kind: render.KindCassandraDatacenter}
)

// datacenterLabel is that of cass-operator on pods.
const datacenterLabel = "cassandra.datastax.com/datacenter"

// datacenterObject is what is read of a CassandraDatacenter.
type datacenterObject struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Size          int32  `json:"size"`
		ServerVersion string `json:"serverVersion"`
	} `json:"spec"`
	Status struct {
		Conditions         []metav1.Condition `json:"conditions"`
		ObservedGeneration int64              `json:"observedGeneration"`
	} `json:"status"`
}

// clusterObject is what is read of a K8ssandraCluster.
type clusterObject struct {
	Spec struct {
		Cassandra struct {
			Datacenters []struct {
				Size int32 `json:"size"`
			} `json:"datacenters"`
		} `json:"cassandra"`
	} `json:"spec"`
	Status struct {
		Error string `json:"error"`
	} `json:"status"`
}

// managedCassandra returns what is known of the datacenter that is run for an Archiver,
// and adds the object that stands for it to what is there.
func (r *Reconciler) managedCassandra(ctx context.Context, a *v1alpha1.Archiver, live map[childKey]client.Object) (*archiverstatus.Datacenter, error) {
	m := render.Managed(a)
	if m == nil {
		return nil, nil
	}
	if err := r.secrets.ensure(ctx, r.Client, a); err != nil {
		return nil, err
	}
	var cluster clusterObject
	var dc datacenterObject
	isCluster, ownCluster, err := r.foreign(ctx, k8ssandraCluster, a, render.ClusterName(a.Name), live, &cluster)
	if err != nil {
		return nil, err
	}
	isDatacenter, ownDatacenter, err := r.foreign(ctx, cassandraDatacenter, a, render.DatacenterName(a.Name), live, &dc)
	if err != nil {
		return nil, err
	}
	d := &archiverstatus.Datacenter{Size: dc.Spec.Size, Version: dc.Spec.ServerVersion, Conditions: dc.Status.Conditions, Error: cluster.Status.Error}
	// What stands for the nodes goes on doing so, whatever is installed later.
	switch wants := m.Operator; {
	case ownCluster:
		d.Kind = render.KindK8ssandraCluster
	case ownDatacenter:
		d.Kind = render.KindCassandraDatacenter
	case isCluster && wants != v1alpha1.OperatorCassOperator:
		d.Kind = render.KindK8ssandraCluster
	case isDatacenter && wants != v1alpha1.OperatorK8ssandra:
		d.Kind = render.KindCassandraDatacenter
	}
	d.Behind = dc.Status.ObservedGeneration != dc.Metadata.Generation
	if dcs := cluster.Spec.Cassandra.Datacenters; ownCluster && len(dcs) > 0 && dcs[0].Size != d.Size {
		d.Size, d.Behind = dcs[0].Size, true
	}
	var pods corev1.PodList
	err = r.API.List(ctx, &pods, client.InNamespace(a.Namespace), client.MatchingLabels{datacenterLabel: render.DatacenterName(a.Name)})
	if err != nil {
		return nil, fmt.Errorf("listing pods of Cassandra: %w", err)
	}
	d.Pods = pods.Items
	return d, nil
}

// foreign reads an object of a kind that may not exist, and adds it to what is there if
// the Archiver owns it.
func (r *Reconciler) foreign(
	ctx context.Context, kind schema.GroupVersionKind, a *v1alpha1.Archiver, name string, live map[childKey]client.Object, into any,
) (exists, owned bool, err error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err = r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: name}, o)
	switch {
	case meta.IsNoMatchError(err):
		return false, false, nil
	case apierrors.IsNotFound(err):
		return true, false, nil
	case err != nil:
		return false, false, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return false, false, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	if owned = metav1.IsControlledBy(o, a); owned {
		live[childKey{kind.Kind, name}] = o
	}
	return true, owned, nil
}

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

// Objects of Cassandra operators are polled, because their CRDs may be installed and
// removed while the operator runs. While the datacenter is not ready, they are polled
// more often.
const (
	cassandraInterval         = 15 * time.Second
	cassandraChangingInterval = 5 * time.Second
)

// These are the kinds that can represent a datacenter.
var (
	k8ssandraCluster    = schema.GroupVersionKind{Group: "k8ssandra.io", Version: "v1alpha1", Kind: render.KindK8ssandraCluster}
	cassandraDatacenter = schema.GroupVersionKind{Group: "cassandra.datastax.com", Version: "v1beta1", Kind: render.KindCassandraDatacenter}
)

// datacenterLabel is the label that cass-operator sets on the pods of a datacenter.
const datacenterLabel = "cassandra.datastax.com/datacenter"

// datacenterObject has the fields of a CassandraDatacenter that the operator reads.
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

// clusterObject has the fields of a K8ssandraCluster that the operator reads.
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

// managedCassandra returns the state of the datacenter that an Archiver manages, and
// adds the object that represents it to live. It returns nil if the Archiver manages no
// datacenter.
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
	asCluster, err := r.readForeign(ctx, k8ssandraCluster, a, render.ClusterName(a.Name), live, &cluster)
	if err != nil {
		return nil, err
	}
	asDatacenter, err := r.readForeign(ctx, cassandraDatacenter, a, render.DatacenterName(a.Name), live, &dc)
	if err != nil {
		return nil, err
	}
	v := chooseKind(a, asCluster, asDatacenter)
	if v.kind == "" {
		return &archiverstatus.Datacenter{Conflict: v.conflict, Waiting: v.waiting}, nil
	}
	d := &archiverstatus.Datacenter{
		Kind: v.kind, Conflict: v.conflict, Size: dc.Spec.Size, Version: dc.Spec.ServerVersion,
		Conditions: dc.Status.Conditions, Error: cluster.Status.Error,
	}
	d.Behind = dc.Status.ObservedGeneration != dc.Metadata.Generation
	if dcs := cluster.Spec.Cassandra.Datacenters; asCluster.owned && len(dcs) > 0 && dcs[0].Size != d.Size {
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

// readForeign reads an object whose CRD may not exist, and adds it to live if the Archiver owns it.
func (r *Reconciler) readForeign(
	ctx context.Context, kind schema.GroupVersionKind, a *v1alpha1.Archiver, name string, live map[childKey]client.Object, into any,
) (foreignObject, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: name}, o)
	switch {
	case meta.IsNoMatchError(err):
		return foreignObject{}, nil
	case apierrors.IsNotFound(err):
		return foreignObject{defined: true}, nil
	case err != nil:
		return foreignObject{}, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return foreignObject{}, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	found := foreignObject{defined: true, object: o, owned: metav1.IsControlledBy(o, a)}
	if found.owned {
		live[childKey{kind.Kind, name}] = o
	}
	return found, nil
}

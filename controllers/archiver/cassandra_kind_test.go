package archiver

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// The owners of objects in tests.
const (
	archiverUID types.UID = "uid-of-the-archiver"
	otherUID    types.UID = "uid-of-another-owner"
)

// existing returns an object of a kind. Its owner may be nobody.
func existing(kind string, owner types.UID, labels map[string]string) foreignObject {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetKind(kind)
	u.SetName("main")
	u.SetLabels(labels)
	if owner != "" {
		controller := true
		u.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Archiver", Name: "main", UID: owner, Controller: &controller}})
	}
	return foreignObject{defined: true, object: u, owned: owner == archiverUID}
}

// TestOneOperatorDoesNotTakeOverFromTheOther checks which operator runs a datacenter, and that an Archiver
// never gets an object through which one operator would change or delete what the other runs.
func TestOneOperatorDoesNotTakeOverFromTheOther(t *testing.T) {
	const cluster, datacenter = render.KindK8ssandraCluster, render.KindCassandraDatacenter
	var (
		missing = foreignObject{}
		none    = foreignObject{defined: true}
		made    = map[string]string{clusterNameLabel: "main-db", clusterNamespaceLabel: "epics"}
		orphan  = map[string]string{v1alpha1.LabelArchiver: "main"}
		k8s     = v1alpha1.ManagedCassandra{Operator: v1alpha1.OperatorK8ssandra}
		cass    = v1alpha1.ManagedCassandra{Operator: v1alpha1.OperatorCassOperator}
		either  = v1alpha1.ManagedCassandra{}
		backups = v1alpha1.ManagedCassandra{Medusa: &apiextensionsv1.JSON{Raw: []byte(`{}`)}}
	)
	going := existing(datacenter, otherUID, nil)
	going.object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	for name, tc := range map[string]struct {
		spec                v1alpha1.ManagedCassandra
		cluster, datacenter foreignObject
		kind                string
		conflict, waiting   string
	}{
		"neither CRD":                       {either, missing, missing, "", "", ""},
		"both CRDs":                         {either, none, none, cluster, "", ""},
		"both CRDs, cass-operator wanted":   {cass, none, none, datacenter, "", ""},
		"only cass-operator":                {either, missing, none, datacenter, "", ""},
		"only cass-operator, other wanted":  {k8s, missing, none, "", "", ""},
		"only cass-operator, with backups":  {backups, missing, none, "", "", ""},
		"has a CassandraDatacenter":         {either, none, existing(datacenter, archiverUID, nil), datacenter, "", ""},
		"has a K8ssandraCluster":            {either, existing(cluster, archiverUID, nil), existing(datacenter, "", made), cluster, "", ""},
		"K8ssandraCluster created again":    {either, none, existing(datacenter, "", made), cluster, "", ""},
		"CassandraDatacenter without owner": {either, none, existing(datacenter, "", orphan), datacenter, "", ""},
		"changes to k8ssandra-operator": {k8s, none, existing(datacenter, archiverUID, nil), datacenter,
			"CassandraDatacenter main, and k8ssandra-operator cannot take it over: remove spec.storage.cassandra.managed.operator", ""},
		"adds backups to a CassandraDatacenter": {backups, none, existing(datacenter, archiverUID, nil), datacenter, "remove medusa and reaper", ""},
		"changes to cass-operator": {cass, existing(cluster, archiverUID, nil), existing(datacenter, "", made), cluster,
			"K8ssandraCluster main-db, and cass-operator cannot take it over: remove spec.storage.cassandra.managed.operator", ""},
		"somebody's CassandraDatacenter":      {either, none, existing(datacenter, "", nil), "", "CassandraDatacenter main exists", ""},
		"somebody's, cass-operator alone":     {either, missing, existing(datacenter, otherUID, nil), "", "CassandraDatacenter main exists", ""},
		"of k8ssandra-operator, other wanted": {cass, none, existing(datacenter, "", made), "", "CassandraDatacenter main exists", ""},
		"somebody's K8ssandraCluster":         {either, existing(cluster, otherUID, nil), none, "", "K8ssandraCluster main exists", ""},
		"an earlier one is being deleted":     {either, none, going, "", "", "an earlier CassandraDatacenter main is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: "main", UID: archiverUID}}
			a.Spec.Storage.Cassandra = &v1alpha1.CassandraSpec{Managed: &tc.spec}
			got := chooseKind(a, tc.cluster, tc.datacenter)
			if got.kind != tc.kind || !strings.Contains(got.conflict, tc.conflict) || (got.conflict == "") != (tc.conflict == "") || got.waiting != tc.waiting {
				t.Errorf("got %+v", got)
			}
		})
	}
}

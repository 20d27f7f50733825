package charts_test

import (
	"encoding/base64"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var datacenters = schema.GroupVersionKind{Group: "cassandra.datastax.com", Version: "v1beta1", Kind: "CassandraDatacenter"}

func (s *server) datacenterCRD(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return s.get(t, crdKind, "", "cassandradatacenters.cassandra.datastax.com")
}

// TestLong_OperatorBringsCassOperator checks that Varve's operator installs cass-operator only if
// the values enable it, and that the CRDs and datacenters remain after cass-operator is
// removed.
func TestLong_OperatorBringsCassOperator(t *testing.T) {
	s := newServer(t)
	s.helm(t, "install", "varve-operator", operatorChart, system)
	if s.datacenterCRD(t) != nil || s.get(t, deployments, "varve-system", "varve-operator-cass-operator") != nil {
		t.Error("cass-operator is installed, although it is not enabled")
	}

	s.helm(t, "upgrade", "varve-operator", operatorChart, system, "--set=cass-operator.enabled=true")
	if s.datacenterCRD(t) == nil || s.get(t, deployments, "varve-system", "varve-operator-cass-operator") == nil {
		t.Fatal("cass-operator or its CRD is not installed")
	}
	s.checkReleaseSizes(t)
	datacenter := documents(t, `{apiVersion: cassandra.datastax.com/v1beta1, kind: CassandraDatacenter, metadata: {name: main, namespace: epics}, spec: {
clusterName: main-db, serverType: cassandra, serverVersion: 5.0.9, size: 1, config: {cassandra-yaml: {commitlog_sync_period: null}},
storageConfig: {cassandraDataVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}`)[0]
	eventually(t, "a datacenter can be created", func() bool { return s.Create(t.Context(), datacenter) == nil })

	s.helm(t, "upgrade", "varve-operator", operatorChart, system, "--set=cass-operator.enabled=false")
	if s.get(t, deployments, "varve-system", "varve-operator-cass-operator") != nil {
		t.Error("cass-operator is still installed")
	}
	if s.datacenterCRD(t) == nil || s.get(t, datacenters, "epics", "main") == nil {
		t.Error("the CRD or a datacenter was deleted with cass-operator")
	}
}

// checkReleaseSizes checks that the Helm releases of both operators are at most 768 KiB large.
// Helm stores each release in a Secret, which can hold 1 MiB.
func (s *server) checkReleaseSizes(t *testing.T) {
	t.Helper()
	var secrets corev1.SecretList
	if err := s.List(t.Context(), &secrets, client.InNamespace("varve-system"), client.MatchingLabels{"owner": "helm"}); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) == 0 {
		t.Error("Helm stored no release")
	}
	for _, secret := range secrets.Items {
		size := base64.StdEncoding.EncodedLen(len(secret.Data["release"]))
		t.Logf("%s: %d KiB", secret.Name, size>>10)
		if size > 768<<10 {
			t.Errorf("%s has %d KiB, want at most 768 KiB", secret.Name, size>>10)
		}
	}
}

func TestLong_CassOperatorAlone(t *testing.T) {
	s := newServer(t)
	s.helm(t, "install", "cass-operator", cassChart, system, "--set=crds.enabled=false")
	if s.datacenterCRD(t) != nil {
		t.Error("the CRDs are installed, although crds.enabled is false")
	}
	s.helm(t, "uninstall", "cass-operator", system)
	s.helm(t, "install", "cass-operator", cassChart, system, "--set=watchNamespaces={epics}")
	if s.datacenterCRD(t) == nil {
		t.Error("the CRDs are not installed")
	}
}

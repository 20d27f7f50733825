package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// Datacenter is the operator's knowledge of a managed datacenter.
type Datacenter struct {
	// Kind is the kind of the datacenter's object. It is empty if the cluster has neither CRD,
	// so that the datacenter does not exist yet.
	Kind string
	// Size is the number of nodes in the existing object. It is 0 before the object exists.
	Size int32
	// Scaling is set while nodes join or leave. During this time, cass-operator does not
	// accept another size, and the number of replicas must not change.
	Scaling bool
	// Replicas is the number of replicas that the last completed schema Job set. It is 0 before
	// the first Job completes.
	Replicas int32
	// Whole is the number of replicas, if it is certain. It is 0 while a schema Job runs,
	// because the Job may have changed the number already.
	Whole int32
	// RoleSecret changes when the Secret of the engines' user gets another password. It is empty for a Secret that
	// an older operator made.
	RoleSecret string
}

// Kinds of a datacenter's object.
const (
	KindK8ssandraCluster    = "K8ssandraCluster"
	KindCassandraDatacenter = "CassandraDatacenter"
)

// Managed returns the managed datacenter in the spec of an Archiver, or nil.
func Managed(a *v1alpha1.Archiver) *v1alpha1.ManagedCassandra {
	if c := a.Spec.Storage.Cassandra; c != nil {
		return c.Managed
	}
	return nil
}

// WantedOperator returns the operator that the spec of a managed datacenter requires, or "" if either will do.
// Only k8ssandra-operator runs Medusa and Reaper.
func WantedOperator(m *v1alpha1.ManagedCassandra) v1alpha1.CassandraOperator {
	if m.Operator == "" && (m.Medusa != nil || m.Reaper != nil) {
		return v1alpha1.OperatorK8ssandra
	}
	return m.Operator
}

// defaultReplicas is the default number of replicas, if there are that many nodes.
const defaultReplicas = 3

// replicas returns the number of replicas in the spec.
func replicas(m *v1alpha1.ManagedCassandra) int32 {
	if m.ReplicationFactor != nil {
		return *m.ReplicationFactor
	}
	return min(defaultReplicas, m.Size)
}

// replicasNow returns the number of replicas to set on the keyspace now. It increases only when
// there are enough nodes and no node joins or leaves.
func (in Input) replicasNow() int32 {
	m, d := Managed(in.Archiver), in.Datacenter
	want := replicas(m)
	if d.Replicas > 0 && (d.Scaling || want > d.Size) {
		return d.Replicas
	}
	return want
}

// sizeNow returns the number of nodes to set in the object now. It decreases only after the
// number of replicas, because a node that holds the only copy of data cannot leave.
func (in Input) sizeNow() int32 {
	m, d := Managed(in.Archiver), in.Datacenter
	switch {
	case d.Size == 0:
		return m.Size
	case d.Scaling, m.Size < d.Size && d.Whole != replicas(m):
		return d.Size
	}
	return m.Size
}

// DatacenterName returns the name of an archive's datacenter and of its CassandraDatacenter.
func DatacenterName(archiver string) string { return short(archiver) }

// ClusterName returns the name of an archive's Cassandra cluster. Names are unique in a
// namespace, because two clusters with the same name would join.
func ClusterName(archiver string) string { return short(archiver) + "-db" }

// short limits the length of a name. Names of pods contain it and must be valid labels; the
// longest is <cluster>-<datacenter>-<rack>-sts-<hash>.
func short(archiver string) string {
	const most = 16
	if len(archiver) <= most {
		return archiver
	}
	sum := sha256.Sum256([]byte(archiver))
	return strings.TrimRight(archiver[:most-7], "-") + "-" + hex.EncodeToString(sum[:3])
}

// nodesService returns the address of cass-operator's Service for the ready nodes.
func nodesService(a *v1alpha1.Archiver) string {
	return ClusterName(a.Name) + "-" + DatacenterName(a.Name) + "-service." + a.Namespace + ".svc"
}

// SuperuserSecret returns the name of the superuser's Secret. ours reports whether the
// operator creates the Secret.
func SuperuserSecret(a *v1alpha1.Archiver) (name string, ours bool) {
	if ref := Managed(a).SuperuserSecretRef; ref != nil {
		return ref.Name, false
	}
	return a.Name + "-cassandra-superuser", true
}

// RoleSecret returns the name of the Secret with the role of engines and retrieval pods.
func RoleSecret(archiver string) string { return archiver + "-cassandra-role" }

// roleDir is the folder in the schema Job with the role's credentials.
const roleDir = "/etc/varve/role"

// managedFlags returns the flags and volumes for a managed datacenter, with the credentials of a
// Secret.
func managedFlags(a *v1alpha1.Archiver, secret string) (flags []string, volumes []volume) {
	flags = []string{
		"--cassandra=" + nodesService(a),
		"--cassandra-keyspace=" + Keyspace(a),
		"--cassandra-datacenter=" + DatacenterName(a.Name),
		"--cassandra-credentials=" + credentialsDir,
	}
	volumes = []volume{secretVolume("credentials", secret, credentialsDir)}
	if t := Managed(a).TLS; t != nil {
		name := t.ServerName
		if name == "" {
			name = nodesService(a)
		}
		flags = append(flags, "--cassandra-tls=true", "--cassandra-tls-dir="+tlsDir, "--cassandra-tls-server-name="+name)
		v := secretVolume("tls", t.SecretRef.Name, tlsDir)
		// Clients must not get the key of the nodes.
		v.Secret.WithItems(core.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))
		volumes = append(volumes, v)
	}
	return flags, volumes
}

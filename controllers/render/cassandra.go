package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
)

// Datacenter is what is known of the datacenter that is run for an archive.
type Datacenter struct {
	// Kind of the object that stands for it, or is to; empty if the cluster has no such
	// kind: then there is none yet.
	Kind string
	// Size is the number of nodes that its operator was asked for last; 0 before.
	Size int32
	// Scaling says that nodes join or leave: until they have, its operator takes no
	// other size, and the number of replicas stays.
	Scaling bool
	// Replicas that each sample had when a schema Job was done last; 0 before.
	Replicas int32
	// Whole is how many it has for sure: 0 while a schema Job runs, which may have
	// changed their number already.
	Whole int32
}

// Kinds of objects that stand for a datacenter.
const (
	KindK8ssandraCluster    = "K8ssandraCluster"
	KindCassandraDatacenter = "CassandraDatacenter"
)

// Managed is the datacenter that an Archiver asks for, or nil.
func Managed(a *v1alpha1.Archiver) *v1alpha1.ManagedCassandra {
	if c := a.Spec.Storage.Cassandra; c != nil {
		return c.Managed
	}
	return nil
}

// defaultReplicas is how many nodes have a sample, if there are as many.
const defaultReplicas = 3

// replicas is how many nodes the spec wants to have each sample.
func replicas(m *v1alpha1.ManagedCassandra) int32 {
	if m.ReplicationFactor != nil {
		return *m.ReplicationFactor
	}
	return min(defaultReplicas, m.Size)
}

// replicasNow is the number of replicas to bring the keyspace to now. There are more of
// them once there are nodes for them, and none joins or leaves.
func (in Input) replicasNow() int32 {
	m, d := Managed(in.Archiver), in.Datacenter
	want := replicas(m)
	if d.Replicas > 0 && (d.Scaling || want > d.Size) {
		return d.Replicas
	}
	return want
}

// sizeNow is the number of nodes to ask for now. There are fewer of them once there are
// as few replicas: a node can not leave that has the only copy of something.
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

// DatacenterName is the name of the datacenter of an archive, and of the object that
// stands for it in Kubernetes.
func DatacenterName(archiver string) string { return short(archiver) }

// ClusterName is the name of the Cassandra cluster: two of a namespace that had the same
// would join.
func ClusterName(archiver string) string { return short(archiver) + "-db" }

// short bounds what names of pods are made of, which are labels: the longest is
// <cluster>-<datacenter>-<rack>-sts-<hash>.
func short(archiver string) string {
	const most = 16
	if len(archiver) <= most {
		return archiver
	}
	sum := sha256.Sum256([]byte(archiver))
	return strings.TrimRight(archiver[:most-7], "-") + "-" + hex.EncodeToString(sum[:3])
}

// nodesService is the Service of the nodes that are ready, as cass-operator names it.
func nodesService(a *v1alpha1.Archiver) string {
	return ClusterName(a.Name) + "-" + DatacenterName(a.Name) + "-service." + a.Namespace + ".svc"
}

// SuperuserSecret is the name of the Secret of the superuser, and whether it is for the
// operator to make.
func SuperuserSecret(a *v1alpha1.Archiver) (name string, ours bool) {
	if ref := Managed(a).SuperuserSecretRef; ref != nil {
		return ref.Name, false
	}
	return a.Name + "-cassandra-superuser", true
}

// RoleSecret is the name of the Secret of the role that engines and retrieval pods have.
func RoleSecret(archiver string) string { return archiver + "-cassandra-role" }

// Where the schema Job has the role's credentials.
const roleDir = "/etc/varve/role"

// managedFlags say where a managed datacenter is, with the credentials of some Secret.
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
		// The nodes' key is none of a client's business.
		v.Secret.WithItems(core.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))
		volumes = append(volumes, v)
	}
	return flags, volumes
}

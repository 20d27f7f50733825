package cql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// These are the errors that an administrator must resolve. Other errors, such as a host that
// does not answer, may pass with time.
var (
	// ErrDatacenter means that no node is in the datacenter.
	ErrDatacenter = errors.New("no such datacenter")
	// ErrCredentials means that the user name or password is wrong or missing.
	ErrCredentials = errors.New("cassandra refuses the user name and password")
	// ErrForbidden means that the user lacks a permission.
	ErrForbidden = errors.New("the user lacks a permission in Cassandra")
	// ErrTLS means that one side does not accept the other's certificate, or does not use TLS.
	ErrTLS = errors.New("the TLS handshake failed: check TLS and the certificates of both sides")
)

// ErrHungUp means that a node ended a connection before it answered. The node may be starting
// or stopping, or it expects TLS or a certificate.
var ErrHungUp = errors.New("cassandra ended the connection before it answered")

// Topology describes the datacenters of a cluster.
type Topology struct {
	Local string         // datacenter of the host that answered
	Nodes map[string]int // number of nodes by datacenter
}

// Probe connects to one of the given hosts. Without hosts, it connects to one of the
// configured hosts. The session is for queries that must be answered before a real session can
// be opened. The caller closes the session.
func (c *Config) Probe(hosts ...string) (*gocql.Session, error) {
	cluster := c.Cluster()
	if len(hosts) > 0 {
		cluster.Hosts = hosts
	}
	cluster.NumConns = 1
	cluster.DisableInitialHostLookup = true
	cluster.ReconnectInterval = 0
	cluster.Consistency = gocql.One // the node may be in another datacenter than the archive
	// Reading the schema again after each change would double the cost of a change.
	cluster.Metadata.CacheMode = gocql.Disabled
	cluster.Events.DisableSchemaEvents = true
	Quiet(cluster)
	return c.Connect(cluster, true)
}

// Quiet changes the configuration for a short session. All failures of such a session are
// returned as errors, so the driver does not log them. The driver also does not wait until the
// nodes agree on a schema, because it would wait for unreachable nodes for a minute at each
// statement.
func Quiet(cluster *gocql.ClusterConfig) {
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	cluster.MaxWaitSchemaAgreement = 0
	cluster.Metadata.CacheMode = gocql.Disabled
}

// ReadTopology reads the datacenters from one node. It sends both queries to the same node,
// because a node reports itself and its peers.
func ReadTopology(ctx context.Context, session *gocql.Session) (Topology, error) {
	t := Topology{Nodes: map[string]int{}}
	local := session.Query("SELECT data_center FROM system.local").IterContext(ctx)
	local.Scan(&t.Local)
	if err := local.Close(); err != nil {
		return t, fmt.Errorf("reading the datacenter: %w", err)
	}
	t.Nodes[t.Local]++
	peers := session.Query("SELECT data_center FROM system.peers_v2").SetHostID(local.Host().HostID()).IterContext(ctx)
	for dc := ""; peers.Scan(&dc); {
		t.Nodes[dc]++
	}
	if err := peers.Close(); err != nil {
		return t, fmt.Errorf("reading the datacenters: %w", err)
	}
	return t, nil
}

// Choose returns the datacenter to use. A given datacenter must exist.
func (t *Topology) Choose(given string) (string, error) {
	if given == "" {
		return t.Local, nil
	}
	if t.Nodes[given] > 0 {
		return given, nil
	}
	var known []string
	for dc := range t.Nodes {
		known = append(known, dc)
	}
	slices.Sort(known)
	return "", fmt.Errorf("%w: %q; the cluster has %s", ErrDatacenter, given, strings.Join(known, ", "))
}

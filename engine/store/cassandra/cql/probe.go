package cql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Errors that an administrator must resolve. Others, such as a host that does not
// answer, may pass with time.
var (
	// ErrDatacenter: no node is in the datacenter.
	ErrDatacenter = errors.New("no such datacenter")
	// ErrCredentials: the user name or password is wrong or missing.
	ErrCredentials = errors.New("cassandra refuses the user name and password")
	// ErrForbidden: the user may not do what is needed.
	ErrForbidden = errors.New("cassandra does not let the user do it")
	// ErrTLS: one side does not take the other's certificate, or does not use TLS.
	ErrTLS = errors.New("no TLS connection that both sides trust")
)

// ErrHungUp is that a node ends a connection before it answers. It may be starting
// or stopping; or it waits for TLS, or for a certificate.
var ErrHungUp = errors.New("cassandra ended the connection before it answered")

// Topology is what a probe finds.
type Topology struct {
	Local string         // datacenter of the host that answered
	Nodes map[string]int // number of nodes by datacenter
}

// Probe connects to one of some hosts, by default of those configured, for questions
// that must be answered before a session can be made. The caller closes it.
func (c *Config) Probe(hosts ...string) (*gocql.Session, error) {
	cluster := c.Cluster()
	if len(hosts) > 0 {
		cluster.Hosts = hosts
	}
	cluster.NumConns = 1
	cluster.DisableInitialHostLookup = true
	cluster.ReconnectInterval = 0
	cluster.Consistency = gocql.One // it may be in another datacenter than the archive
	// Reading the schema anew after each change would double what it costs to make one.
	cluster.Metadata.CacheMode = gocql.Disabled
	cluster.Events.DisableSchemaEvents = true
	Quiet(cluster)
	return c.Connect(cluster, true)
}

// Quiet is for short sessions. All that goes wrong in them is returned as an error,
// so the driver need not say it. It need not wait for the nodes to agree on a schema
// either: it also waits for those that are away, for a minute at each statement.
func Quiet(cluster *gocql.ClusterConfig) {
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	cluster.MaxWaitSchemaAgreement = 0
	cluster.Metadata.CacheMode = gocql.Disabled
}

// ReadTopology asks a node for the datacenters: all of it the same node, as each tells
// of itself and of its peers.
func ReadTopology(ctx context.Context, session *gocql.Session) (Topology, error) {
	t := Topology{Nodes: map[string]int{}}
	local := session.Query("SELECT data_center FROM system.local").IterContext(ctx)
	local.Scan(&t.Local)
	if err := local.Close(); err != nil {
		return t, fmt.Errorf("asking for the datacenter: %w", err)
	}
	t.Nodes[t.Local]++
	peers := session.Query("SELECT data_center FROM system.peers_v2").SetHostID(local.Host().HostID()).IterContext(ctx)
	for dc := ""; peers.Scan(&dc); {
		t.Nodes[dc]++
	}
	if err := peers.Close(); err != nil {
		return t, fmt.Errorf("asking for the datacenters: %w", err)
	}
	return t, nil
}

// Choose returns the datacenter to use, which must exist if it is given.
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

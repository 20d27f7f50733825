package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Errors of Open and CreateSchema that tell an administrator what to do. Others,
// as when no host answers, may pass with time.
var (
	// ErrNoSchema: CreateSchema was not run, or for another keyspace.
	ErrNoSchema = errors.New("the archive's schema does not exist")
	// ErrVersion: the schema is of another version of Varve.
	ErrVersion = errors.New("the archive's schema has another version")
	// ErrDatacenter: no node is in the datacenter.
	ErrDatacenter = errors.New("no such datacenter")
	// ErrCredentials: the user name or password is wrong or missing.
	ErrCredentials = errors.New("cassandra refuses the user name and password")
)

// topology is what a probe finds.
type topology struct {
	local string         // datacenter of the host that answered
	nodes map[string]int // number of nodes by datacenter
}

// probe connects to one host, for questions that must be answered before a
// session can be made. The caller closes it.
func (c *Config) probe() (*gocql.Session, error) {
	cluster := c.cluster()
	cluster.NumConns = 1
	cluster.DisableInitialHostLookup = true
	cluster.ReconnectInterval = 0
	cluster.Consistency = gocql.LocalOne
	failures := &connectFailures{}
	cluster.ConnectObserver = failures
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, fmt.Errorf("connecting to Cassandra at %s: %w", strings.Join(c.Hosts, ", "), failures.explain(err))
	}
	return session, nil
}

// connectFailures keeps why connections failed: the driver's own error has it as
// text only.
type connectFailures struct {
	mu   sync.Mutex
	last error
}

// ObserveConnect implements gocql.ConnectObserver.
func (f *connectFailures) ObserveConnect(o gocql.ObservedConnect) {
	if o.Err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.last = o.Err
	}
}

func (f *connectFailures) explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var refused gocql.RequestError
	switch {
	case errors.As(f.last, &refused) && refused.Code() == gocql.ErrCodeCredentials:
		return fmt.Errorf("%w: %s", ErrCredentials, refused.Message())
	case f.last != nil && strings.Contains(f.last.Error(), "authentication required"):
		return fmt.Errorf("%w: none are given", ErrCredentials)
	case f.last != nil:
		return f.last
	}
	return err
}

// topology asks for the datacenters.
func readTopology(ctx context.Context, session *gocql.Session) (topology, error) {
	t := topology{nodes: map[string]int{}}
	if err := session.Query("SELECT data_center FROM system.local").ScanContext(ctx, &t.local); err != nil {
		return t, fmt.Errorf("asking for the datacenter: %w", err)
	}
	t.nodes[t.local]++
	peers := session.Query("SELECT data_center FROM system.peers_v2").IterContext(ctx)
	for dc := ""; peers.Scan(&dc); {
		t.nodes[dc]++
	}
	if err := peers.Close(); err != nil {
		return t, fmt.Errorf("asking for the datacenters: %w", err)
	}
	return t, nil
}

// choose returns the datacenter to use, which must exist if it is given.
func (t *topology) choose(given string) (string, error) {
	if given == "" {
		return t.local, nil
	}
	if t.nodes[given] > 0 {
		return given, nil
	}
	var known []string
	for dc := range t.nodes {
		known = append(known, dc)
	}
	slices.Sort(known)
	return "", fmt.Errorf("%w: %q; the cluster has %s", ErrDatacenter, given, strings.Join(known, ", "))
}

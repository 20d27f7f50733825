package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// Limits of waiting for nodes to agree on a schema.
const (
	agreeWait  = time.Minute
	agreeEvery = 200 * time.Millisecond
)

// schemaSession connects to the one node that schemas are to be changed through. The
// caller closes the session.
//
// Cassandra makes a table anew where a node is asked for it that does not know it yet,
// even IF NOT EXISTS, and from then on the other one's rows are out of sight. So:
//
//   - Nodes that answer must agree first. One that was away while tables were made
//     may come back and be asked before it has heard of them.
//   - Of those, all processes choose the one of the least id. Two that make a schema
//     at a time ask the same node, which does one thing after another.
//
// A node that is away is not waited for: it learns the schema from the others.
func (c *target) schemaSession(ctx context.Context) (*gocql.Session, error) {
	session, err := c.Probe()
	if err != nil {
		return nil, err
	}
	top, err := cql.ReadTopology(ctx, session)
	session.Close()
	if err != nil {
		return nil, err
	}
	dc, err := top.Choose(c.Datacenter)
	if err != nil {
		return nil, err
	}
	node, err := c.agree(ctx, dc)
	if err != nil {
		return nil, err
	}
	return c.Probe(node)
}

// agree waits until all nodes of a datacenter that answer have the same schema, and
// returns the address of the one of the least id.
func (c *target) agree(ctx context.Context, dc string) (node string, err error) {
	r, err := c.rollCall(ctx, dc)
	if err != nil {
		return "", err
	}
	return r.answer[0], nil
}

// roll is which nodes of a datacenter answer, in the order of their ids, and which do
// not: their addresses.
type roll struct{ answer, away []string }

// rollCall returns which nodes answer, once these have the same schema. It asks
// them one by one: what a node knows of another may be from before that went away.
func (c *target) rollCall(ctx context.Context, dc string) (roll, error) {
	cluster := c.Cluster()
	cluster.NumConns = 1
	cluster.HostFilter = gocql.DataCenterHostFilter(dc)
	cql.Quiet(cluster)
	session, err := c.Connect(cluster, true)
	if err != nil {
		return roll{}, err
	}
	defer session.Close()
	for deadline := time.Now().Add(agreeWait); ; {
		r, versions := c.schemas(ctx, session, dc)
		if len(versions) == 1 {
			return r, nil
		}
		if time.Now().After(deadline) {
			return roll{}, fmt.Errorf("waiting until all nodes agree on the schema: %s", disagreement(versions))
		}
		select {
		case <-ctx.Done():
			return roll{}, fmt.Errorf("waiting until all nodes agree on the schema: %w", ctx.Err())
		case <-time.After(agreeEvery):
		}
	}
}

// schemas returns which nodes have which version of the schema, of those that answer.
func (c *target) schemas(ctx context.Context, session *gocql.Session, dc string) (r roll, versions map[string][]string) {
	versions = map[string][]string{}
	hosts := session.GetHosts()
	slices.SortFunc(hosts, func(a, b *gocql.HostInfo) int { return strings.Compare(a.HostID(), b.HostID()) })
	for _, h := range hosts {
		if h.DataCenter() != dc {
			continue
		}
		var version gocql.UUID
		ctx, cancel := context.WithTimeout(ctx, c.Timeout)
		err := session.Query("SELECT schema_version FROM system.local").SetHostID(h.HostID()).ScanContext(ctx, &version)
		cancel()
		if err != nil {
			r.away = append(r.away, h.ConnectAddressAndPort())
			continue
		}
		r.answer = append(r.answer, h.ConnectAddressAndPort())
		versions[version.String()] = append(versions[version.String()], h.ConnectAddressAndPort())
	}
	return r, versions
}

// disagreement names the nodes of each version.
func disagreement(versions map[string][]string) string {
	if len(versions) == 0 {
		return "no node answers"
	}
	var groups []string
	for _, nodes := range versions {
		groups = append(groups, strings.Join(nodes, ", "))
	}
	slices.Sort(groups)
	return strings.Join(groups, " | ") + " have different ones; nodetool describecluster tells more"
}

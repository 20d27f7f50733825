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

// schemaSession connects to the one node through which all processes change the schema. The
// caller closes the session.
//
// If a node does not know a table yet, Cassandra creates the table again, even with IF NOT
// EXISTS. From then on it hides the rows of the first table. To prevent this:
//
//   - The nodes that answer must agree first. A node that was unreachable while tables were
//     created may come back and get a request before it has received the schema.
//   - All processes choose the node with the lowest ID among these nodes. Two processes that
//     create a schema at the same time therefore use the same node, which serializes their
//     statements.
//
// schemaSession does not wait for unreachable nodes. They receive the schema from the other
// nodes later.
func (c *target) schemaSession(ctx context.Context) (*gocql.Session, error) {
	session, err := c.Probe()
	if err != nil {
		return nil, err
	}
	top, err := cql.ReadTopology(ctx, session)
	cql.Close(session, c.Log)
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

// agree waits until all answering nodes of a datacenter have the same schema. It returns the
// address of the node with the lowest ID.
func (c *target) agree(ctx context.Context, dc string) (node string, err error) {
	r, err := c.checkNodes(ctx, dc)
	if err != nil {
		return "", err
	}
	return r.answer[0], nil
}

// nodeStatus has the addresses of a datacenter's nodes that answer and of those that do not,
// each in the order of the node IDs.
type nodeStatus struct{ answer, unreachable []string }

// checkNodes returns the nodes that answer and those that do not, once the answering nodes
// have the same schema. It queries each node directly, because a node's information about
// another node may be out of date.
func (c *target) checkNodes(ctx context.Context, dc string) (nodeStatus, error) {
	cluster := c.Cluster()
	cluster.NumConns = 1
	cluster.HostFilter = gocql.DataCenterHostFilter(dc)
	cql.Quiet(cluster)
	session, err := c.Connect(cluster, true)
	if err != nil {
		return nodeStatus{}, err
	}
	defer cql.Close(session, c.Log)
	for deadline := time.Now().Add(agreeWait); ; {
		r, versions := c.schemas(ctx, session, dc)
		if len(versions) == 1 {
			return r, nil
		}
		if time.Now().After(deadline) {
			return nodeStatus{}, fmt.Errorf("waiting until all nodes agree on the schema: %s", disagreement(versions))
		}
		select {
		case <-ctx.Done():
			return nodeStatus{}, fmt.Errorf("waiting until all nodes agree on the schema: %w", ctx.Err())
		case <-time.After(agreeEvery):
		}
	}
}

// schemas returns the nodes that answer and those that do not, and the addresses of the
// answering nodes by schema version.
func (c *target) schemas(ctx context.Context, session *gocql.Session, dc string) (r nodeStatus, versions map[string][]string) {
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
			r.unreachable = append(r.unreachable, h.ConnectAddressAndPort())
			continue
		}
		r.answer = append(r.answer, h.ConnectAddressAndPort())
		versions[version.String()] = append(versions[version.String()], h.ConnectAddressAndPort())
	}
	return r, versions
}

// disagreement returns a text that lists the nodes of each schema version.
func disagreement(versions map[string][]string) string {
	if len(versions) == 0 {
		return "no node answers"
	}
	var groups []string
	for _, nodes := range versions {
		groups = append(groups, strings.Join(nodes, ", "))
	}
	slices.Sort(groups)
	return strings.Join(groups, " | ") + " have different schemas; see nodetool describecluster"
}

package cassandra

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/freeport"
)

// loopbacks are the loopback addresses that the nodes of a ring use.
var loopbacks = []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}

// ringJava holds java options for the nodes of a ring. A node that joins or leaves announces
// it and waits for the ring delay before data moves. All other nodes must know of the change
// by then, or writes miss the new owner. Gossip among a few nodes takes one or two seconds;
// Cassandra's default delay is 30 s.
const ringJava = withoutOptimizer + " -Dcassandra.ring_delay_ms=5000"

// Ring is a cluster of several nodes. Each node has its own address, and all nodes use the
// same ports, like nodes on several machines. Its methods are not safe for concurrent use.
type Ring struct {
	// Nodes are the nodes that were started, in the order of their addresses.
	Nodes []*Node

	addresses []string // addresses of the nodes, in the order in which they start
	founders  int      // number of nodes that start the ring without data and are its seeds
	ports     []int
	yaml      []string
}

// StartRing starts nodes at 127.0.0.1, 127.0.0.2 and so on, one after another, and waits until
// they serve CQL. It kills them when the test ends. It appends the given YAML lines to each
// node's cassandra.yaml.
func StartRing(tb testing.TB, nodes int, yaml ...string) *Ring {
	tb.Helper()
	return StartRingOn(tb, loopbacks, nodes, yaml...)
}

// StartRingOn starts a ring like StartRing, at the given addresses of this machine. Grow uses
// the addresses that are left.
func StartRingOn(tb testing.TB, addresses []string, nodes int, yaml ...string) *Ring {
	tb.Helper()
	ports, err := ringPorts(addresses)
	if err != nil {
		tb.Fatalf("starting Cassandra: %v", err)
	}
	// As in production, nodes send requests to a slow node last.
	r := &Ring{addresses: addresses, founders: nodes, ports: ports, yaml: append([]string{"dynamic_snitch: true"}, yaml...)}
	for range nodes {
		r.Grow(tb)
	}
	return r
}

// ringPorts returns two ports that are free at all addresses of a ring: one for CQL and one
// for the traffic between nodes.
func ringPorts(addresses []string) (found []int, err error) {
	candidates, err := freeport.Several(addresses[0], 20)
	if err != nil {
		return nil, err
	}
	for _, port := range candidates {
		if len(found) < 2 && freeEverywhere(addresses, port) {
			found = append(found, port)
		}
	}
	if len(found) < 2 {
		return nil, fmt.Errorf("no two ports are free at all of %v", addresses)
	}
	return found, nil
}

func freeEverywhere(addresses []string, port int) bool {
	for _, address := range addresses {
		l, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", address, port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// Grow starts one more node, and waits until it has joined the ring, has received its part of
// the data and serves CQL.
func (r *Ring) Grow(tb testing.TB) *Node {
	tb.Helper()
	i := len(r.Nodes)
	if i == len(r.addresses) {
		tb.Fatalf("a ring has at most %d nodes", i)
	}
	jmx, err := freeport.Find(loopback)
	if err != nil {
		tb.Fatalf("starting Cassandra: %v", err)
	}
	n := newNodeAt(r.addresses[i], [3]int{r.ports[0], r.ports[1], jmx}, tb.TempDir(), r.yaml)
	n.env = append(n.env, "CASSANDRA_SEEDS="+strings.Join(r.addresses[:r.founders], ","), javaVariable+"="+ringJava)
	n.launch(tb)
	r.Nodes = append(r.Nodes, n)
	return n
}

// Addrs returns the addresses of all nodes that were started, host:port.
func (r *Ring) Addrs() []string {
	var addrs []string
	for _, n := range r.Nodes {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// AwaitUp waits until the node n sees exactly the given number of ring members, and all of
// them are up.
func (n *Node) AwaitUp(tb testing.TB, nodes int) {
	tb.Helper()
	for deadline := time.Now().Add(startTimeout); ; {
		status := n.members(tb)
		if len(status) == nodes && !slices.ContainsFunc(status, func(s string) bool { return s != "UN" }) {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("after %v, node %s sees ring members in states %v, want %d members in state UN", startTimeout, n.Host, status, nodes)
		}
		time.Sleep(time.Second) // nodetool itself keeps a processor busy for more than a second
	}
}

// members returns the states of the ring members that a node knows. UN means up and normal.
func (n *Node) members(tb testing.TB) (states []string) {
	tb.Helper()
	for line := range strings.Lines(n.Nodetool(tb, "status")) {
		if f := strings.Fields(line); len(f) > 1 && net.ParseIP(f[1]) != nil {
			states = append(states, f[0])
		}
	}
	return states
}

// Decommission removes a node from its ring and stops it. The node first transfers its data to
// the other nodes; Decommission returns when this is done.
func (n *Node) Decommission(tb testing.TB) {
	tb.Helper()
	n.Nodetool(tb, "decommission")
	n.Stop()
}

// Tables returns the names of the directories that a node has created for the tables of a
// keyspace. Each is the name and the ID of a table. It returns none if the node does not know
// the keyspace.
func (n *Node) Tables(tb testing.TB, keyspace string) (names []string) {
	tb.Helper()
	entries, err := os.ReadDir(filepath.Join(n.dir, "1", "data", keyspace))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Nodetool runs Cassandra's nodetool on a node and returns its output.
func (n *Node) Nodetool(tb testing.TB, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), n.script, append([]string{"nodetool", "1"}, args...)...)
	cmd.Env = append(os.Environ(), n.env...)
	cmd.SysProcAttr = ownGroup()
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("nodetool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

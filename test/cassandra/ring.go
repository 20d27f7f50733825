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

// loopbacks are the addresses that a ring may take of loopback.
var loopbacks = []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}

// ringJava are options of the nodes of a ring. A node that joins or leaves waits for
// the delay after it has said so: all others must know before data moves, or writes
// of the meantime miss the new owner. Gossip among a few nodes takes one or two
// seconds; Cassandra's default is 30 s.
const ringJava = "-Dcassandra.ring_delay_ms=5000"

// Ring is a cluster of several nodes, at an address each, which have their ports in
// common as nodes on several machines do. Its methods are not safe for
// concurrent use.
type Ring struct {
	// Nodes were started, in the order of their addresses.
	Nodes []*Node

	addresses []string // of nodes, in the order in which they start
	founders  int      // nodes that began the ring without data, and are its seeds
	ports     []int
	yaml      []string
}

// StartRing starts nodes at 127.0.0.1 and so on, one after another, that end with the
// test, and waits until they serve CQL. Lines of YAML are added to their
// cassandra.yaml.
func StartRing(tb testing.TB, nodes int, yaml ...string) *Ring {
	tb.Helper()
	return StartRingOn(tb, loopbacks, nodes, yaml...)
}

// StartRingOn is StartRing at addresses of this machine. Those that are left are for
// Grow.
func StartRingOn(tb testing.TB, addresses []string, nodes int, yaml ...string) *Ring {
	tb.Helper()
	ports, err := ringPorts(addresses)
	if err != nil {
		tb.Fatalf("starting Cassandra: %v", err)
	}
	// As in use, a node that answers slowly is asked last by the others.
	r := &Ring{addresses: addresses, founders: nodes, ports: ports, yaml: append([]string{"dynamic_snitch: true"}, yaml...)}
	for range nodes {
		r.Grow(tb)
	}
	return r
}

// ringPorts returns ports that are free at all addresses of a ring, for CQL and for
// the nodes among each other.
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

// Grow starts one node more, and waits until it has joined, with the data that is its
// own from then on, and serves CQL.
func (r *Ring) Grow(tb testing.TB) *Node {
	tb.Helper()
	i := len(r.Nodes)
	if i == len(r.addresses) {
		tb.Fatalf("a ring has %d nodes at most", i)
	}
	jmx, err := freeport.Find(loopback)
	if err != nil {
		tb.Fatalf("starting Cassandra: %v", err)
	}
	n := newNodeAt(r.addresses[i], [3]int{r.ports[0], r.ports[1], jmx}, tb.TempDir(), r.yaml)
	n.env = append(n.env, "CASSANDRA_SEEDS="+strings.Join(r.addresses[:r.founders], ","), "CASSANDRA_JAVA="+ringJava)
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

// AwaitUp waits until a number of nodes, and no other, are members in the eyes of a
// node, and are all up.
func (n *Node) AwaitUp(tb testing.TB, nodes int) {
	tb.Helper()
	for deadline := time.Now().Add(startTimeout); ; {
		status := n.members(tb)
		if len(status) == nodes && !slices.ContainsFunc(status, func(s string) bool { return s != "UN" }) {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("after %v, the nodes that %s knows are %v, and not %d that are up", startTimeout, n.Host, status, nodes)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// members returns the states of the nodes that a node knows: UN is up and normal.
func (n *Node) members(tb testing.TB) (states []string) {
	tb.Helper()
	for line := range strings.Lines(n.Nodetool(tb, "status")) {
		if f := strings.Fields(line); len(f) > 1 && net.ParseIP(f[1]) != nil {
			states = append(states, f[0])
		}
	}
	return states
}

// Decommission has a node leave its ring: it gives its data to the others, which
// takes until the return, and then ends.
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

// Nodetool runs Cassandra's own tool on a node, and returns what it writes.
func (n *Node) Nodetool(tb testing.TB, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), n.script, append([]string{"nodetool", "1"}, args...)...)
	cmd.Env = append(os.Environ(), n.env...)
	cmd.SysProcAttr = attributes()
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("nodetool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

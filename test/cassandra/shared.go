package cassandra

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// AddrVariable names the environment variable with the address, host:port, of a running node.
// If it is set, Shared uses that node instead of starting one.
const AddrVariable = "VARVE_TEST_CASSANDRA"

// Keyspace is a keyspace in which a test may create tables.
type Keyspace struct {
	// Addr is the address of a node, host:port.
	Addr string
	// Name is the name of the keyspace, which does not exist yet.
	Name string
}

// shared is the node of this process. Run ends it.
var shared struct {
	sync.Mutex
	addr string
	node *Node
	err  error
}

// Shared returns a new keyspace for one test, on a node that all tests of the process use. It
// drops the keyspace when the test ends. The package's TestMain must call Main or Run.
func Shared(tb testing.TB) Keyspace {
	tb.Helper()
	addr, err := sharedAddr()
	if err != nil {
		tb.Fatalf("starting Cassandra: %v", err)
	}
	ks := Keyspace{Addr: addr, Name: "test_" + strings.ToLower(rand.Text()[:16])}
	tb.Cleanup(func() { ks.drop(tb) })
	return ks
}

// Main runs the tests of a package and exits. TestMain must do nothing but call Main.
func Main(m *testing.M) { os.Exit(Run(m.Run)) }

// Run runs the tests of a package, ends the shared node and returns the exit code.
func Run(tests func() int) int {
	code := tests()
	if n := shared.node; n != nil {
		n.kill()
		if err := os.RemoveAll(n.dir); err != nil {
			fmt.Fprintln(os.Stderr, "removing Cassandra's files:", err)
		}
	}
	return code
}

// sharedAddr returns the address of the shared node. It starts the node at the first call.
func sharedAddr() (string, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.addr == "" && shared.err == nil {
		shared.addr, shared.err = startShared()
	}
	return shared.addr, shared.err
}

func startShared() (string, error) {
	if addr := os.Getenv(AddrVariable); addr != "" {
		return addr, awaitCQL(addr, nil) // hack/test.sh does not wait until the node serves CQL
	}
	dir, err := os.MkdirTemp("", "varve-cassandra-")
	if err != nil {
		return "", err
	}
	n, err := newNode(loopback, dir, nil, true)
	if err != nil {
		return "", err
	}
	shared.node = n
	return n.Addr(), n.start()
}

// drop drops the keyspace if the test created it.
func (ks Keyspace) drop(tb testing.TB) {
	cluster := gocql.NewCluster(ks.Addr)
	cluster.ProtoVersion, cluster.NumConns, cluster.Timeout = 5, 1, time.Minute
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	session, err := cluster.CreateSession()
	if err != nil {
		tb.Errorf("dropping keyspace %s: %v", ks.Name, err)
		return
	}
	defer session.Close()
	// The test's context has ended by now.
	if err := session.Query("DROP KEYSPACE IF EXISTS " + ks.Name).ExecContext(context.Background()); err != nil {
		tb.Errorf("dropping keyspace %s: %v", ks.Name, err)
	}
}

package cassandra

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/varve/test/checkout"
	"varve.dev/varve/test/child"
	"varve.dev/varve/test/freeport"
)

const (
	loopback = "127.0.0.1"
	// javaVariable names the environment variable with additional options for java.
	javaVariable = "CASSANDRA_JAVA"
	// withoutOptimizer runs Java without its optimizing compiler, which costs more time than it
	// saves in a short test.
	withoutOptimizer = "-XX:TieredStopAtLevel=1"
	// lazy lets Cassandra leave changes of its schema and of its other system tables in memory and in
	// the commit log. Otherwise it writes these tables to disk after each change, which takes most of
	// the time in which a test creates its tables. If such a node is killed and started again, it does
	// not know its tables when it replays the commit log, and loses their rows.
	lazy = "-Dcassandra.unsafesystem=true"
	// startTimeout leaves time for the download of Cassandra, and for a machine that is busy
	// with other tests.
	startTimeout = 5 * time.Minute
	stopTimeout  = 3 * time.Minute
	logTail      = 2 << 10
)

// Node is a Cassandra node in a separate process. Its methods are not safe for concurrent use.
type Node struct {
	// Host is the address at which the node listens, and Port is its CQL port.
	Host string
	Port int

	dir, script string
	env, yaml   []string
	lazy        bool // the node runs with the option lazy
	cmd         *exec.Cmd
	ended       chan struct{} // closed when the process of cmd ends
}

// Start starts a node and waits until it serves CQL. It kills the node when the test ends. It
// appends the given YAML lines to the node's cassandra.yaml. A test that ends the node and starts it
// again passes a line with commitlog_sync, such as "commitlog_sync: batch".
func Start(tb testing.TB, yaml ...string) *Node {
	tb.Helper()
	return StartOn(tb, loopback, yaml...)
}

// StartOn starts a node like Start, at another address of this machine.
func StartOn(tb testing.TB, host string, yaml ...string) *Node {
	tb.Helper()
	lasting := slices.ContainsFunc(yaml, func(line string) bool { return strings.HasPrefix(line, "commitlog_sync:") })
	n, err := newNode(host, tb.TempDir(), yaml, !lasting)
	if err != nil {
		tb.Fatalf("starting Cassandra: %v", err)
	}
	n.launch(tb)
	return n
}

// launch starts a new node and kills it when the test ends.
func (n *Node) launch(tb testing.TB) {
	tb.Helper()
	tb.Cleanup(func() {
		n.kill()
		if tb.Failed() {
			tb.Logf("the end of the log of Cassandra at %s:\n%s", n.Host, n.tail())
		}
	})
	if err := n.start(); err != nil {
		tb.Fatalf("starting Cassandra at %s: %v", n.Host, err)
	}
}

// newNode prepares a node on free ports of host, with its files in dir. If isLazy, the node runs with
// the option lazy, unless the environment has other options for java.
func newNode(host, dir string, yaml []string, isLazy bool) (*Node, error) {
	ports, err := freeport.Several(host, 3)
	if err != nil {
		return nil, err
	}
	n := newNodeAt(host, [3]int(ports), dir, yaml)
	n.env = append(n.env, "CASSANDRA_SEEDS="+host)
	if _, set := os.LookupEnv(javaVariable); isLazy && !set {
		n.env, n.lazy = append(n.env, javaVariable+"="+withoutOptimizer+" "+lazy), true
	}
	return n, nil
}

// newNodeAt prepares a node with its ports for CQL, for other nodes and for management. The
// caller adds the addresses of its seeds.
func newNodeAt(host string, ports [3]int, dir string, yaml []string) *Node {
	n := &Node{
		Host: host, Port: ports[0], dir: dir, yaml: yaml,
		script: checkout.Path("hack", "cassandra", "cassandra.sh"),
		env:    []string{"CASSANDRA_DIR=" + dir, "CASSANDRA_ADDRESS=" + host},
	}
	if _, set := os.LookupEnv(javaVariable); !set {
		n.env = append(n.env, javaVariable+"="+withoutOptimizer)
	}
	for i, name := range []string{"CASSANDRA_PORT", "CASSANDRA_STORAGE_PORT", "CASSANDRA_JMX_PORT"} {
		n.env = append(n.env, name+"="+strconv.Itoa(ports[i]))
	}
	return n
}

// Addr returns the address of the CQL server, host:port.
func (n *Node) Addr() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }

// Start starts the node again after Stop or Kill, with its data and on the same ports.
func (n *Node) Start(tb testing.TB) {
	tb.Helper()
	if n.lazy {
		tb.Fatal("BUG: the node may have lost its tables; pass commitlog_sync to the function Start")
	}
	if err := n.start(); err != nil {
		tb.Fatalf("starting Cassandra again: %v", err)
	}
}

// Stop ends the node with SIGTERM, as an administrator would, and waits until it has ended.
func (n *Node) Stop() { n.end(syscall.SIGTERM) }

// Kill ends the node at once, like kill -9.
func (n *Node) Kill() { n.kill() }

// Pause suspends the node, like a machine that hangs: its connections stay open, but it
// answers nothing.
func (n *Node) Pause(tb testing.TB) { n.signal(tb, syscall.SIGSTOP) }

// Resume continues a node that Pause suspended.
func (n *Node) Resume(tb testing.TB) { n.signal(tb, syscall.SIGCONT) }

func (n *Node) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := n.cmd.Process.Signal(sig); err != nil {
		tb.Fatalf("sending %v to Cassandra: %v", sig, err)
	}
}

func (n *Node) start() error {
	log, err := os.OpenFile(n.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor
	cmd := exec.Command(n.script, append([]string{"run", "1"}, n.yaml...)...)
	cmd.Env = append(os.Environ(), n.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup()
	ended, err := child.Start(cmd)
	if err != nil {
		return err
	}
	n.cmd, n.ended = cmd, ended
	if err := awaitCQL(n.Addr(), n.ended); err != nil {
		n.kill()
		return fmt.Errorf("%w\n%s", err, n.tail())
	}
	return nil
}

// awaitCQL waits until a node serves CQL at addr. It fails if ended is closed first.
func awaitCQL(addr string, ended <-chan struct{}) error {
	deadline := time.After(startTimeout)
	for {
		if conn, err := net.Dial("tcp4", addr); err == nil {
			return conn.Close()
		}
		select {
		case <-ended:
			return errors.New("the process ended")
		case <-deadline:
			return fmt.Errorf("the node does not serve CQL after %v", startTimeout)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (n *Node) kill() { n.end(syscall.SIGKILL) }

func (n *Node) end(sig syscall.Signal) {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(sig)
	select {
	case <-n.ended:
	case <-time.After(stopTimeout):
		_ = n.cmd.Process.Kill()
		<-n.ended
	}
	n.cmd = nil
}

func (n *Node) log() string { return filepath.Join(n.dir, "log") }

// tail returns the end of the node's log.
func (n *Node) tail() string {
	b, err := os.ReadFile(n.log())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-logTail):])
}

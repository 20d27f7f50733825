package protocols

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace without a name. The kernel removes it and its interfaces when
// the test and all processes in the namespace have ended.
type namespace struct {
	t    *testing.T
	file *os.File
}

// newNamespace creates a namespace with a loopback interface. It skips the test if the system
// does not allow this.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	n := &namespace{t: t}
	err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			n.file, err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		}
		return err
	})
	if err != nil {
		t.Skipf("network namespaces cannot be created here: %v", err)
	}
	t.Cleanup(func() { _ = n.file.Close() })
	n.ip("link", "set", "lo", "up")
	return n
}

// onThread runs f on a locked OS thread. f may change the thread's network namespace, and
// onThread restores it.
func onThread(f func() error) (err error) {
	runtime.LockOSThread()
	own, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer own.Close()
	defer func() {
		if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
			panic("leaving a network namespace: " + back.Error())
		}
		runtime.UnlockOSThread()
	}()
	return f()
}

// do runs f in the namespace. Sockets that f opens and processes that f starts belong to the
// namespace. f must not open or start them in other goroutines.
func (n *namespace) do(f func()) {
	n.t.Helper()
	err := onThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		f()
		return nil
	})
	if err != nil {
		n.t.Fatalf("entering a network namespace: %v", err)
	}
}

// dial opens a connection from within the namespace.
func (n *namespace) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	n.do(func() { conn, err = new(net.Dialer).DialContext(ctx, network, address) })
	return conn, err
}

// ip runs ip(8) in the namespace.
func (n *namespace) ip(args ...string) {
	n.t.Helper()
	n.do(func() {
		cmd := exec.Command("ip", args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if out, err := cmd.CombinedOutput(); err != nil {
			n.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
		}
	})
}

// path returns a path through which other processes can open the namespace.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// Addresses of two joined namespaces. The addresses are not visible outside of the namespaces.
const (
	hereAddr  = "10.213.7.1"
	thereAddr = "10.213.7.2"
)

// join connects two namespaces with a veth pair. Each end is called eth0.
func join(here, there *namespace) {
	here.t.Helper()
	here.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", there.path())
	for n, addr := range map[*namespace]string{here: hereAddr, there: thereAddr} {
		n.ip("addr", "add", addr+"/24", "dev", "eth0")
		n.ip("link", "set", "eth0", "up")
	}
}

// unplug takes the namespace's interface down; plug brings it up again.
func (n *namespace) unplug() { n.ip("link", "set", "eth0", "down") }
func (n *namespace) plug()   { n.ip("link", "set", "eth0", "up") }

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

// namespace is a network namespace without a name: it is gone when the processes in
// it and the test have ended, with all that is in it.
type namespace struct {
	t    *testing.T
	file *os.File
}

// newNamespace makes a namespace, with a loopback interface. A test is skipped where
// that is not allowed.
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
		t.Skipf("network namespaces cannot be made here: %v", err)
	}
	t.Cleanup(func() { _ = n.file.Close() })
	n.ip("link", "set", "lo", "up")
	return n
}

// onThread runs f on a thread whose network namespace f may change.
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

// do runs f in the namespace: the sockets that it opens and the processes that it
// starts are there. f must not hand on to other goroutines what does that.
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

// dial connects from within the namespace.
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

// path names the namespace to other processes.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// Addresses of two namespaces that are joined. Nobody else sees them.
const (
	hereAddr  = "10.213.7.1"
	thereAddr = "10.213.7.2"
)

// join connects two namespaces with a cable, of which each has an end called eth0.
func join(here, there *namespace) {
	here.t.Helper()
	here.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", there.path())
	for n, addr := range map[*namespace]string{here: hereAddr, there: thereAddr} {
		n.ip("addr", "add", addr+"/24", "dev", "eth0")
		n.ip("link", "set", "eth0", "up")
	}
}

// unplug takes out the cable; plug puts it back.
func (n *namespace) unplug() { n.ip("link", "set", "eth0", "down") }
func (n *namespace) plug()   { n.ip("link", "set", "eth0", "up") }

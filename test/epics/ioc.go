package epics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 3 * time.Minute
	stopTimeout  = time.Minute
)

// IOC is a real IOC, or another server, in a process of its own. It ends with the
// test.
type IOC struct {
	// Host is the address it listens on.
	Host string
	// CAPort serves Channel Access over TCP and UDP, PVAPort pvAccess over TCP.
	CAPort, PVAPort int

	tb    testing.TB
	db    string   // file of the EPICS database
	args  []string // of Python
	probe string   // address that accepts connections once it runs
	cmd   *exec.Cmd
	stdin io.WriteCloser // its end ends the IOC, also when the test process dies
	ended chan struct{}  // closed when the process is over
	log   syncBuffer
}

// StartIOC starts an IOC on 127.0.0.1 that serves the records of an EPICS
// database, given as text, and waits until it answers.
func StartIOC(tb testing.TB, database string) *IOC {
	tb.Helper()
	return StartIOCOn(tb, "127.0.0.1", database)
}

// StartIOCOn is StartIOC on another address of loopback.
func StartIOCOn(tb testing.TB, host, database string) *IOC {
	tb.Helper()
	return StartIOCAt(tb, host, FreePort(tb, host), database)
}

// StartIOCAt is StartIOCOn with a given port for Channel Access.
func StartIOCAt(tb testing.TB, host string, caPort int, database string) *IOC {
	tb.Helper()
	ioc := &IOC{
		Host: host, CAPort: caPort, PVAPort: FreePort(tb, host), tb: tb,
		db: filepath.Join(tb.TempDir(), "test.db"),
	}
	ioc.args = []string{"-m", "pvxslibs.ioc", "-d", ioc.db}
	ioc.probe = ioc.CAAddr()
	ioc.SetDatabase(database)
	ioc.launch()
	return ioc
}

// StartCAServer starts a Python script that serves Channel Access at the address
// and port that its environment names, as IOCs do. Its argument is the address.
func StartCAServer(tb testing.TB, script string) *IOC {
	tb.Helper()
	return startScript(tb, script, (*IOC).CAAddr)
}

// StartPVAServer is StartCAServer for pvAccess.
func StartPVAServer(tb testing.TB, script string) *IOC {
	tb.Helper()
	return startScript(tb, script, (*IOC).PVAAddr)
}

func startScript(tb testing.TB, script string, probe func(*IOC) string) *IOC {
	tb.Helper()
	const host = "127.0.0.1"
	ioc := &IOC{Host: host, CAPort: FreePort(tb, host), PVAPort: FreePort(tb, host), tb: tb}
	ioc.args, ioc.probe = []string{"-c", script, host}, probe(ioc)
	ioc.launch()
	return ioc
}

// launch starts the process, to end with the test.
func (ioc *IOC) launch() {
	ioc.tb.Helper()
	ioc.Start()
	ioc.tb.Cleanup(func() {
		ioc.Kill()
		if ioc.tb.Failed() {
			ioc.tb.Logf("the IOC at %s wrote:\n%s", ioc.probe, ioc.log.String())
		}
	})
}

// SetDatabase replaces the EPICS database that the IOC loads when it starts.
func (ioc *IOC) SetDatabase(database string) {
	ioc.tb.Helper()
	if err := os.WriteFile(ioc.db, []byte(database), 0o600); err != nil {
		ioc.tb.Fatal(err)
	}
}

// CAAddr returns the address of the Channel Access server, host:port.
func (ioc *IOC) CAAddr() string { return net.JoinHostPort(ioc.Host, strconv.Itoa(ioc.CAPort)) }

// PVAAddr returns the address of the pvAccess server, host:port.
func (ioc *IOC) PVAAddr() string { return net.JoinHostPort(ioc.Host, strconv.Itoa(ioc.PVAPort)) }

// Start starts an IOC that was stopped, on the same ports.
func (ioc *IOC) Start() {
	ioc.tb.Helper()
	cmd := exec.Command(Python(ioc.tb), append([]string{"-u"}, ioc.args...)...)
	cmd.Env = append(os.Environ(), ioc.environment()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // by sessions Linux shares out the CPU
	cmd.Stdout, cmd.Stderr = &ioc.log, &ioc.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		ioc.tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		ioc.tb.Fatalf("starting an IOC: %v", err)
	}
	ioc.cmd, ioc.stdin, ioc.ended = cmd, stdin, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // its log says why
		close(ended)
	}(ioc.ended)
	if err := ioc.wait(); err != nil {
		ioc.Kill()
		ioc.tb.Fatalf("starting an IOC: %v\n%s", err, ioc.log.String())
	}
	ioc.prefer()
}

// prefer has a busy machine run the IOC rather than others, as if the IOC had a machine
// of its own: one that starves drops updates before it sends them. It takes root, and
// Linux that shares out the CPU by sessions (autogroup).
func (ioc *IOC) prefer() {
	group := fmt.Sprintf("/proc/%d/autogroup", ioc.cmd.Process.Pid)
	if err := os.WriteFile(group, []byte("-15"), 0); err != nil {
		ioc.tb.Logf("the IOC gets no more of the CPU than others: %v", err)
	}
}

// environment keeps servers and clients on loopback and to themselves, and IOCs without
// threads of real time, which root may have: where all runs on a few cores, those that
// queue updates and those that send them fight for locks until nobody else gets a core.
func (ioc *IOC) environment() []string {
	ca, pva := strconv.Itoa(ioc.CAPort), strconv.Itoa(ioc.PVAPort)
	return append(ioc.ClientEnv(),
		"EPICS_ALLOW_POSIX_THREAD_PRIORITY_SCHEDULING=NO",
		"EPICS_CAS_INTF_ADDR_LIST="+ioc.Host, "EPICS_CAS_SERVER_PORT="+ca,
		"EPICS_CA_SERVER_PORT="+ca, // where caproto's servers look
		"EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1", "EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO",
		"EPICS_PVAS_INTF_ADDR_LIST="+ioc.Host, "EPICS_PVAS_SERVER_PORT="+pva,
		"EPICS_PVAS_BEACON_ADDR_LIST=127.0.0.1", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST=NO",
	)
}

// ClientEnv returns the environment of a client that finds this IOC only.
func (ioc *IOC) ClientEnv() []string {
	return []string{
		"EPICS_CA_ADDR_LIST=" + ioc.CAAddr(), "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CA_MAX_ARRAY_BYTES=20000000",
		"EPICS_PVA_ADDR_LIST=127.0.0.1", "EPICS_PVA_AUTO_ADDR_LIST=NO", "EPICS_PVA_NAME_SERVERS=" + ioc.PVAAddr(),
	}
}

// wait returns when the IOC accepts connections, which it does once it runs.
func (ioc *IOC) wait() error {
	for deadline := time.Now().Add(startTimeout); ; {
		conn, err := net.Dial("tcp4", ioc.probe)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ioc.ended:
			return errors.New("it ended")
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it does not answer: %w", err)
		}
	}
}

// Stop ends the IOC as an operator would, and waits for it.
func (ioc *IOC) Stop() { ioc.end(syscall.SIGTERM) }

// Kill ends the IOC at once: its circuits are reset by the kernel.
func (ioc *IOC) Kill() { ioc.end(syscall.SIGKILL) }

// Restart stops the IOC and starts it again on the same ports.
func (ioc *IOC) Restart() {
	ioc.tb.Helper()
	ioc.Stop()
	ioc.Start()
}

// Shell has the IOC's shell run a command, such as "dbpf PV value". What it does
// may show a bit later.
func (ioc *IOC) Shell(command string) {
	ioc.tb.Helper()
	if _, err := fmt.Fprintf(ioc.stdin, "ioc(%q)\n", command); err != nil {
		ioc.tb.Fatalf("writing to the shell of an IOC: %v", err)
	}
}

// Run runs a Python script as a client that finds this IOC only, and returns what
// it prints.
func (ioc *IOC) Run(script string, args ...string) []byte {
	ioc.tb.Helper()
	return run(ioc.tb, Python(ioc.tb), ioc.ClientEnv(), nil, script, args...)
}

// Feed is Run for a script that reads from its standard input.
func (ioc *IOC) Feed(input []byte, script string, args ...string) []byte {
	ioc.tb.Helper()
	return run(ioc.tb, Python(ioc.tb), ioc.ClientEnv(), input, script, args...)
}

func (ioc *IOC) end(sig syscall.Signal) {
	if ioc.cmd == nil {
		return
	}
	_ = ioc.cmd.Process.Signal(sig)
	late := time.AfterFunc(stopTimeout, func() { _ = ioc.cmd.Process.Kill() })
	<-ioc.ended
	late.Stop()
	_ = ioc.stdin.Close()
	ioc.cmd = nil
}

// syncBuffer is what the IOC wrote; two goroutines of exec.Cmd and a test use it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

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
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 3 * time.Minute
	stopTimeout  = time.Minute
)

// IOC is a real IOC, or another server, in a separate process. It is killed when the test
// ends.
type IOC struct {
	// Host is the address at which the IOC listens.
	Host string
	// CAPort is the port of Channel Access over TCP and UDP. PVAPort is the port of pvAccess
	// over TCP. pvaSearchPort is its port for UDP searches. All pvAccess servers of a machine
	// answer searches at the standard port, so that clients would also find the PVs of other
	// tests there.
	CAPort, PVAPort, pvaSearchPort int

	tb    testing.TB
	db    string   // path of the EPICS database file
	clock string   // path of the file with the offset of the clock: see SetClock
	env   []string // additional environment
	args  []string // arguments of Python
	probe string   // address that accepts connections once the IOC runs
	cmd   *exec.Cmd
	stdin io.WriteCloser // the IOC ends when stdin is closed, also if the test process dies
	ended chan struct{}  // closed when the process ends
	log   syncBuffer
}

// StartIOC starts an IOC on 127.0.0.1 that serves the records of an EPICS database, given as
// text, and waits until the IOC accepts connections.
func StartIOC(tb testing.TB, database string) *IOC {
	tb.Helper()
	return StartIOCOn(tb, "127.0.0.1", database)
}

// StartIOCOn starts an IOC like StartIOC, on another loopback address.
func StartIOCOn(tb testing.TB, host, database string) *IOC {
	tb.Helper()
	return StartIOCAt(tb, host, FreePort(tb, host), database)
}

// StartIOCAt starts an IOC like StartIOCOn, with the given port for Channel Access.
func StartIOCAt(tb testing.TB, host string, caPort int, database string) *IOC {
	tb.Helper()
	ioc := newIOC(tb, host, caPort, database)
	ioc.launch()
	return ioc
}

// newIOC prepares an IOC.
func newIOC(tb testing.TB, host string, caPort int, database string) *IOC {
	tb.Helper()
	ioc := &IOC{
		Host: host, CAPort: caPort, PVAPort: FreePort(tb, host), pvaSearchPort: FreePort(tb, host), tb: tb,
		db: filepath.Join(tb.TempDir(), "test.db"),
	}
	ioc.args = []string{"-m", "pvxslibs.ioc", "-d", ioc.db}
	ioc.probe = ioc.CAAddr()
	ioc.SetDatabase(database)
	return ioc
}

// StartCAServer starts a Python script that serves Channel Access. Like an IOC, the script
// gets its address and port from its environment. Its only argument is the address.
func StartCAServer(tb testing.TB, script string) *IOC {
	tb.Helper()
	return startScript(tb, script, (*IOC).CAAddr)
}

// StartPVAServer starts a Python script like StartCAServer, for pvAccess.
func StartPVAServer(tb testing.TB, script string) *IOC {
	tb.Helper()
	return startScript(tb, script, (*IOC).PVAAddr)
}

func startScript(tb testing.TB, script string, probe func(*IOC) string) *IOC {
	tb.Helper()
	const host = "127.0.0.1"
	ioc := &IOC{Host: host, CAPort: FreePort(tb, host), PVAPort: FreePort(tb, host), pvaSearchPort: FreePort(tb, host), tb: tb}
	ioc.args, ioc.probe = []string{"-c", script, host}, probe(ioc)
	ioc.launch()
	return ioc
}

// launch starts the process and kills it when the test ends.
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
	cmd.Env = append(append(os.Environ(), ioc.environment()...), ioc.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // see prefer
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
		_ = cmd.Wait() // the IOC's log has the reason
		close(ended)
	}(ioc.ended)
	if err := ioc.wait(); err != nil {
		ioc.Kill()
		ioc.tb.Fatalf("starting an IOC: %v\n%s", err, ioc.log.String())
	}
	ioc.prefer()
}

// prefer raises the CPU priority of the IOC's session, as if the IOC had its own machine: an
// IOC that gets too little CPU drops updates before it sends them. It needs root, and a Linux
// kernel that shares out the CPU by session (autogroup).
func (ioc *IOC) prefer() {
	group := fmt.Sprintf("/proc/%d/autogroup", ioc.cmd.Process.Pid)
	if err := os.WriteFile(group, []byte("-15"), 0); err != nil {
		ioc.tb.Logf("the IOC runs without a higher CPU priority: %v", err)
	}
}

// environment returns the environment of an IOC. It keeps the IOC and its clients on loopback
// and apart from other IOCs. It also turns off real-time threads, which root may use: on a few
// cores, the threads that queue updates and the threads that send them compete for locks until
// no other process gets a core.
func (ioc *IOC) environment() []string {
	ca, pva := strconv.Itoa(ioc.CAPort), strconv.Itoa(ioc.PVAPort)
	return append(ioc.ClientEnv(),
		"EPICS_ALLOW_POSIX_THREAD_PRIORITY_SCHEDULING=NO",
		"EPICS_CAS_INTF_ADDR_LIST="+ioc.Host, "EPICS_CAS_SERVER_PORT="+ca,
		"EPICS_CA_SERVER_PORT="+ca, // read by caproto's servers
		"EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1", "EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO",
		"EPICS_PVAS_INTF_ADDR_LIST="+ioc.Host, "EPICS_PVAS_SERVER_PORT="+pva,
		"EPICS_PVAS_BROADCAST_PORT="+strconv.Itoa(ioc.pvaSearchPort),
		"EPICS_PVAS_BEACON_ADDR_LIST=127.0.0.1", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST=NO",
	)
}

// ClientEnv returns the environment of a client that finds only this IOC.
func (ioc *IOC) ClientEnv() []string {
	return []string{
		"EPICS_CA_ADDR_LIST=" + ioc.CAAddr(), "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CA_MAX_ARRAY_BYTES=20000000",
		"EPICS_PVA_ADDR_LIST=127.0.0.1", "EPICS_PVA_AUTO_ADDR_LIST=NO", "EPICS_PVA_NAME_SERVERS=" + ioc.PVAAddr(),
		"EPICS_PVA_BROADCAST_PORT=" + strconv.Itoa(ioc.pvaSearchPort),
	}
}

// wait waits until the IOC accepts connections.
func (ioc *IOC) wait() error {
	for deadline := time.Now().Add(startTimeout); ; {
		conn, err := net.Dial("tcp4", ioc.probe)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ioc.ended:
			return errors.New("the process ended")
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it accepts no connections: %w", err)
		}
	}
}

// Stop ends the IOC with SIGTERM, as an administrator would, and waits until it has ended.
func (ioc *IOC) Stop() { ioc.end(syscall.SIGTERM) }

// Kill ends the IOC at once. The kernel resets its circuits.
func (ioc *IOC) Kill() { ioc.end(syscall.SIGKILL) }

// Restart stops the IOC and starts it again on the same ports.
func (ioc *IOC) Restart() {
	ioc.tb.Helper()
	ioc.Stop()
	ioc.Start()
}

// Shell sends a command, such as "dbpf PV value", to the IOC's shell. The effect of the
// command may appear a little later.
func (ioc *IOC) Shell(command string) {
	ioc.tb.Helper()
	if _, err := fmt.Fprintf(ioc.stdin, "ioc(%q)\n", command); err != nil {
		ioc.tb.Fatalf("writing to the shell of an IOC: %v", err)
	}
}

// Replaced returns how many updates of a PV the IOC has replaced by later ones, before it sent them. An IOC does so when its
// queue of updates for a client is full. Channel Access does not tell the client.
func (ioc *IOC) Replaced(pv string) (n int) {
	ioc.tb.Helper()
	begin := len(ioc.log.String())
	end := fmt.Sprintf("end-of-report-%d", begin)
	ioc.Shell(fmt.Sprintf("dbel %q 3", pv)) // writes a line per subscription
	ioc.Shell("echo " + end)
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		if report, _, ended := strings.Cut(ioc.log.String()[begin:], end); ended {
			for _, match := range replacements.FindAllStringSubmatch(report, -1) {
				count, _ := strconv.Atoi(match[1])
				n += count
			}
			return n
		}
		if time.Now().After(deadline) {
			ioc.tb.Fatalf("the shell of the IOC wrote no report about %s", pv)
		}
	}
}

// replacements finds the counts of replaced updates in a report of dbel.
var replacements = regexp.MustCompile(`discarded by replacement=(\d{1,9})`)

// Run runs a Python script as a client that finds only this IOC, and returns the script's
// output.
func (ioc *IOC) Run(script string, args ...string) []byte {
	ioc.tb.Helper()
	return run(ioc.tb, Python(ioc.tb), ioc.ClientEnv(), nil, script, args...)
}

// Feed runs a script like Run, and passes input to its standard input.
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

// syncBuffer collects the output of an IOC. Two goroutines of exec.Cmd and the test use it
// concurrently.
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

// String returns everything written so far.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

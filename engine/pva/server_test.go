package pva

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
)

// server is a server of p4p that runs one Python statement per line of input.
type server struct {
	t         *testing.T
	addr, tcp string // host:port and port
	broadcast uint16 // UDP port of searches and beacons
	stdin     io.WriteCloser
	out       *bufio.Scanner
}

// prelude is a script that starts a server on the ports in its arguments. It runs each line of input
// as a Python statement, and answers with a line.
const prelude = `
import sys
import numpy as np
from p4p import Type, Value
from p4p.nt import NTScalar, NTEnum, NTTable, NTNDArray
from p4p.server import Server, StaticProvider
from p4p.server.thread import SharedPV
tcp, udp = sys.argv[1:3]
provider = StaticProvider("test")
conf = {"EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_SERVER_PORT": tcp, "EPICS_PVAS_BROADCAST_PORT": udp,
        "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO", "EPICS_PVAS_BEACON_ADDR_LIST": "127.255.255.255:" + udp}
pvs = {}
def add(name, **kws):
    pvs[name] = SharedPV(**kws)
    provider.add(name, pvs[name])
server = Server(providers=[provider], conf=conf, useenv=False)
print("ready", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
server.stop()
`

// newServer chooses the ports of a server without starting it.
func newServer(t *testing.T) *server {
	t.Helper()
	tcp, udp := epics.FreePort(t, "127.0.0.1"), epics.FreePort(t, "127.0.0.1")
	return &server{t: t, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp)), tcp: strconv.Itoa(tcp), broadcast: uint16(udp)}
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.start()
	return s
}

// start starts the server. The server stops at the end of the test.
func (s *server) start() {
	s.t.Helper()
	cmd := exec.Command(epics.Python(s.t), "-u", "-c", prelude, s.tcp, strconv.Itoa(int(s.broadcast)))
	cmd.Stderr = os.Stderr
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = s.stdin.Close()
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	})
	s.out = bufio.NewScanner(stdout)
	s.expect("ready")
}

func (s *server) expect(line string) {
	s.t.Helper()
	if !s.out.Scan() || s.out.Text() != line {
		s.t.Fatalf("the server wrote %q, want %q", s.out.Text(), line)
	}
}

// do runs a Python statement in the server.
func (s *server) do(statement string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, statement+"\n"); err != nil {
		s.t.Fatal(err)
	}
	s.expect("done")
}

// latest waits until a recorder has n samples, and returns its last sample.
func latest(t *testing.T, r *recorder, n int) (last sample.Sample) {
	t.Helper()
	clienttest.Await(t, "an update", func() bool { return r.View(func(r *recorder) bool { return len(r.Samples) >= n }) })
	r.View(func(r *recorder) bool {
		last = r.Samples[len(r.Samples)-1]
		return true
	})
	return last
}

func TestServerIsFoundByUDPAndItsBeaconsAreReceived(t *testing.T) {
	s := newServer(t)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP("127.0.0.1"), BroadcastPort: s.broadcast})
	r := &recorder{}
	c.Subscribe("ONE", capture.SubscribeOptions{}, r)
	s.start()
	s.do(`add("ONE", nt=NTScalar("d"), initial=1.5)`)
	if got := latest(t, r, 1); sample.Float(sample.Float64, got.Word) != 1.5 || r.Info.Host != s.addr {
		t.Errorf("got %v from %s, want 1.5 from %s", got, r.Info.Host, s.addr)
	}
	if len(c.beacons.conns) > 0 { // without sockets, this host has no broadcast addresses
		clienttest.Await(t, "a beacon", func() bool { return clienttest.Value(c.metrics.Beacons) > 0 })
	}
}

// fieldsOf returns the numbers and texts of a stored structure by path.
func fieldsOf(t *testing.T, stored []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	var path []string
	err := proto.Walk(stored, func(p *proto.Part) {
		switch p.Kind {
		case proto.Open:
			path = append(path, p.Name)
		case proto.Close:
			path = path[:len(path)-1]
		default:
			at := strings.Join(append(path, p.Name), ".")
			out[at] += string(p.Bytes) + ";"
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStructuresOfAnIndependentServer(t *testing.T) {
	s := startServer(t)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByTCP(s.addr)})
	table, image, enum := &recorder{}, &recorder{}, &recorder{}
	s.do(`add("TABLE", nt=NTTable([("x", "h"), ("name", "s")]), initial=[{"x": 1, "name": "one"}, {"x": 258, "name": "two"}])`)
	s.do(`add("IMAGE", nt=NTNDArray(), initial=np.arange(6, dtype="u1").reshape(2, 3))`)
	s.do(`add("ENUM", nt=NTEnum(), initial={"index": 1, "choices": ["Off", "On"]})`)
	for name, r := range map[string]*recorder{"TABLE": table, "IMAGE": image, "ENUM": enum} {
		c.Subscribe(name, capture.SubscribeOptions{}, r)
	}
	got := fieldsOf(t, latest(t, table, 1).Bytes)
	if got[".value.x"] != "\x01\x00\x02\x01;" || got[".value.name."] != "one;two;" || got[".labels."] != "x;name;" {
		t.Errorf("the table is %q", got)
	}
	if table.Info.Type != sample.Struct || table.Info.TypeName != "epics:nt/NTTable:1.0" {
		t.Errorf("the table is announced as %+v", table.Info)
	}
	if got := fieldsOf(t, latest(t, image, 1).Bytes); got[".value"] != "\x00\x01\x02\x03\x04\x05;" {
		t.Errorf("the image is %q", got)
	}
	if got := latest(t, enum, 1); got.Word != 1 || enum.Info.Type != sample.Enum || strings.Join(enum.Meta.Labels, " ") != "Off On" {
		t.Errorf("the enumeration is %+v with metadata %+v", got, enum.Meta)
	}
	s.do(`pvs["IMAGE"].post(np.full((2, 3), 9, dtype="u1"))`)
	if got := fieldsOf(t, latest(t, image, 2).Bytes); got[".value"] != "\t\t\t\t\t\t;" {
		t.Errorf("the second image is %q", got)
	}
}

func TestTypeOfAPVOfAnIndependentServerChanges(t *testing.T) {
	s := startServer(t)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByTCP(s.addr)})
	r := &recorder{}
	s.do(`add("PV", nt=NTScalar("i", display=True), initial={"value": 4, "display.units": "mA"})`)
	c.Subscribe("PV", capture.SubscribeOptions{}, r)
	if got := latest(t, r, 1); got.Word != 4 || r.Info.Type != sample.Int32 || got.Tag&sample.EngineClock == 0 {
		t.Errorf("got %+v of type %v", got, r.Info.Type)
	}
	s.do(`pvs["PV"].post({"value": 5, "timeStamp.secondsPastEpoch": 1700000000, "alarm.severity": 2}, timestamp=1700000000.5)`)
	if got := latest(t, r, 2); got.Word != 5 || got.Time != 1700000000_500000000 || got.Tag.Severity() != sample.Major {
		t.Errorf("got %+v", got)
	}
	s.do(`pvs["PV"].post({"display.units": "A"})`)
	clienttest.Await(t, "the unit", func() bool { return r.View(func(r *recorder) bool { return r.Meta.Units == "A" }) })
	s.do(`pvs["PV"].close(); pvs["PV"].open(NTScalar("as").wrap(["a", "b"]), nt=NTScalar("as"))`)
	clienttest.Await(t, "the new type", func() bool { return r.View(func(r *recorder) bool { return r.Info.Type == sample.String.Array() }) })
	if got := sample.Strings(latest(t, r, 3).Bytes); strings.Join(got, " ") != "a b" {
		t.Errorf("got %q", got)
	}
}

package pva

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is the configuration of a test server.
type config struct {
	channels int
	rate     float64
	kinds    []sim.Kind // all kinds if empty
}

// waveElements is the length of arrays.
const waveElements = 10

// still is a configuration in which the PVs with index 0 stay at tick 1 during a test.
var still = config{channels: 2, rate: 0.001}

// offline returns a server without sockets. Its clock starts now.
func offline(t testing.TB, cfg config) *Server {
	t.Helper()
	if cfg.kinds == nil {
		cfg.kinds = sim.Kinds()
	}
	return NewServer(sim.NewSet("SIM", cfg.kinds, cfg.channels, waveElements), netip.MustParseAddrPort("127.0.0.1:5075"),
		circuit.Config{Schedule: sim.NewSchedule(time.Now(), cfg.rate), Counts: &circuit.Counts{}, MaxLag: time.Second})
}

// client is a minimal pvAccess client.
type client struct {
	t     testing.TB
	conn  net.Conn
	in    *bufio.Reader
	out   chan<- []byte // to the writing goroutine, so that a client can read while it sends
	flags proto.Flags   // byte order of the client
	types proto.Types   // types to which the server has given numbers
}

// answer is a message that a client received.
type answer struct {
	proto.Header
	proto.Reader
	payload []byte
}

// dial connects a client to a server without sockets, and reads the server's offer.
func dial(t testing.TB, s *Server) *client {
	t.Helper()
	near, far := net.Pipe()
	served, sent, out := make(chan struct{}), make(chan struct{}), make(chan []byte, 64)
	go func() {
		defer close(served)
		_ = s.Serve(far)
	}()
	go func() {
		defer close(sent)
		for b := range out {
			_, _ = near.Write(b) // tests notice an error by a missing answer
		}
	}()
	t.Cleanup(func() {
		close(out)
		near.Close()
		<-sent
		<-served
	})
	c := &client{t: t, conn: near, in: bufio.NewReaderSize(near, 1<<16), out: out}
	if m := c.next(); m.Flags != proto.FlagControl|proto.FlagServer || proto.Control(m.Command) != proto.SetByteOrder {
		t.Fatalf("the first message of the server is %+v", m.Header)
	}
	m := c.want(proto.CmdConnectionValidate)
	if o, err := proto.ParseOffer(&m.Reader); err != nil || len(o.Methods) != 2 {
		t.Fatalf("the server offers %+v, %v", o, err)
	}
	return c
}

// connect connects a client to a server and logs in with the given registry size and byte
// order.
func connect(t testing.TB, s *Server, registry uint16, f proto.Flags) *client {
	t.Helper()
	c := dial(t, s)
	c.flags = f
	c.send(proto.AppendLogin(nil, &proto.Login{Registry: registry, Method: proto.CA, User: "me", Host: "here"}, f))
	m := c.want(proto.CmdConnectionValidated)
	if st := m.Status(); st.Err() != nil || m.Err() != nil {
		t.Fatalf("the login is refused: %v, %v", st, m.Err())
	}
	return c
}

func (c *client) send(b []byte) { c.out <- b }

// next returns the next message.
func (c *client) next() *answer {
	c.t.Helper()
	m, err := c.read()
	if err != nil {
		c.t.Fatalf("reading a message: %v", err)
	}
	return m
}

func (c *client) read() (*answer, error) {
	head, err := c.in.Peek(proto.HeaderSize)
	if err != nil {
		return nil, err
	}
	m := &answer{}
	_, n, err := proto.ReadFrame(head, &m.Header, 1<<24)
	if err != nil && !errors.Is(err, proto.ErrShort) {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return nil, err
	}
	if m.payload, _, err = proto.ReadFrame(b, &m.Header, 1<<24); err != nil {
		return nil, err
	}
	m.Reader = proto.NewReader(m.payload, m.Header.Order())
	return m, nil
}

// want returns the next message, which must have the command cmd.
func (c *client) want(cmd proto.Command) *answer {
	c.t.Helper()
	m := c.next()
	if m.Command != cmd || m.Flags&proto.FlagControl != 0 {
		c.t.Fatalf("got %+v %x, want %v", m.Header, m.payload, cmd)
	}
	return m
}

// ended checks that the server has closed the connection.
func (c *client) ended(what string) {
	c.t.Helper()
	if m, err := c.read(); !errors.Is(err, io.EOF) {
		c.t.Errorf("%s: got %+v, %v, want the end of the circuit", what, m, err)
	}
}

// create creates a channel and returns the server's ID.
func (c *client) create(name string, cid uint32) (sid uint32) {
	c.t.Helper()
	c.send(proto.AppendCreateChannel(nil, cid, name, c.flags))
	m := c.want(proto.CmdCreateChannel)
	a, err := proto.ParseCreated(&m.Reader)
	if err != nil || a.Status.Err() != nil || a.CID != cid {
		c.t.Fatalf("creating %s: %+v, %v", name, a, err)
	}
	return a.SID
}

// request is a request for an operation.
type request struct {
	cmd       proto.Command
	sid, ioid uint32
	fields    *proto.Type // all fields if nil
	window    uint32      // no pipeline if 0
}

// bytes returns the message that starts the operation. The codec writes values little-endian,
// but requests have only types.
func (q request) bytes(f proto.Flags) []byte {
	head := proto.Request{SID: q.sid, IOID: q.ioid, Sub: proto.SubInit}
	if q.window > 0 {
		head.Sub |= proto.SubPipeline
	}
	if f&proto.FlagBig == 0 {
		return proto.AppendInit(nil, q.cmd, head, q.fields, nil, q.window, f)
	}
	b := proto.AppendRequest(nil, q.cmd, head, f)
	b = proto.AppendType(b, q.fields, proto.BigEndian)
	if q.window > 0 {
		b = proto.BigEndian.AppendUint32(b, q.window)
	}
	return proto.End(b, 0)
}

// begin starts an operation, and returns the type of the PV.
func (c *client) begin(q request) *proto.Type {
	c.t.Helper()
	c.send(q.bytes(c.flags))
	m := c.want(q.cmd)
	a := proto.ParseAnswer(&m.Reader, q.cmd)
	st := m.Status()
	if a.IOID != q.ioid || a.Sub&proto.SubInit == 0 || st.Err() != nil {
		c.t.Fatalf("starting %+v: %+v, %v", q, a, st)
	}
	t := m.Type(&c.types)
	if m.Err() != nil || m.Len() != 0 {
		c.t.Fatalf("starting %+v: %v, %d bytes are left", q, m.Err(), m.Len())
	}
	return t
}

// fields returns a pvRequest for some fields, such as field(a,b{c}).
func fields(members ...any) *proto.Type {
	return proto.NewStruct("", "field", proto.NewStruct("", members...))
}

// none is a structure without members. In a request it selects a whole field.
var none = proto.NewStruct("")

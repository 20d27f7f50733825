package ca

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a minimal Channel Access client.
type client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	out  chan<- []byte // to the writing goroutine, so that a client can read while it sends
}

// message is a message that a client received.
type message struct {
	proto.Header
	payload []byte
}

func newClient(t testing.TB, conn net.Conn) *client {
	out, done := make(chan []byte, 64), make(chan struct{})
	go func() {
		defer close(done)
		for b := range out {
			_, _ = conn.Write(b) // tests notice an error by a missing answer
		}
	}()
	t.Cleanup(func() {
		close(out)
		conn.Close()
		<-done
	})
	c := &client{t: t, conn: conn, in: bufio.NewReaderSize(conn, 1<<17), out: out}
	if v := c.want(proto.CmdVersion); v.Count != proto.Minor {
		t.Fatalf("the server has version %d", v.Count)
	}
	return c
}

func (c *client) send(b []byte) { c.out <- b }

// next returns the next message.
func (c *client) next() message {
	c.t.Helper()
	for n := proto.HeaderSize; ; {
		b, err := c.in.Peek(n)
		if err != nil {
			c.t.Fatalf("reading a message: %v", err)
		}
		var m message
		if m.payload, n, err = proto.ReadFrame(b, &m.Header, 1<<20); errors.Is(err, proto.ErrShort) {
			continue
		}
		m.payload = bytes.Clone(m.payload)
		_, _ = c.in.Discard(n)
		return m
	}
}

// want returns the next message, which must have the command cmd.
func (c *client) want(cmd proto.Command) message {
	c.t.Helper()
	m := c.next()
	if m.Command != cmd {
		if f, err := proto.ParseError(&m.Header, m.payload); m.Command == proto.CmdError && err == nil {
			c.t.Fatalf("got %v, want %v", f, cmd)
		}
		c.t.Fatalf("got %v, want %v", m.Command, cmd)
	}
	return m
}

// create creates a channel and returns the server's ID and the native type.
func (c *client) create(name string, cid uint32) (sid uint32, native proto.DBR) {
	c.t.Helper()
	c.send(proto.AppendCreateChan(nil, name, cid))
	if m := c.want(proto.CmdAccessRights); m.P1 != cid || proto.Rights(m.P2) != proto.RightRead {
		c.t.Fatalf("got access rights %+v", m.Header)
	}
	m := c.want(proto.CmdCreateChan)
	if m.P1 != cid || m.Count == 0 {
		c.t.Fatalf("got channel %+v", m.Header)
	}
	return m.P2, proto.DBR(m.Type)
}

// event returns the sample of the next message, which must be an event.
func (c *client) event() (sub uint32, s sample.Sample) {
	c.t.Helper()
	m := c.want(proto.CmdEventAdd)
	if proto.Status(m.P1) != proto.StatusNormal {
		c.t.Fatalf("got an event with status %v", proto.Status(m.P1))
	}
	if _, err := proto.DecodeTime(&s, proto.DBR(m.Type), m.Count, false, m.payload, nil); err != nil {
		c.t.Fatal(err)
	}
	return m.P2, s
}

// dial connects a client to a server without sockets.
func dial(t testing.TB, s *Server) *client {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(far)
	}()
	t.Cleanup(func() { <-done }) // runs after the client's end is closed
	return newClient(t, near)
}

// pipe connects a client to a new server whose clock starts now. It is for tests in a synctest
// bubble.
func pipe(t testing.TB, cfg config) (*client, *Server) {
	t.Helper()
	s := offline(t, cfg)
	return dial(t, s), s
}

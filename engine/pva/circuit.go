package pva

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/wire"
)

const (
	// connectTimeout is for the connection, and again for the server to let us in.
	connectTimeout = 5 * time.Second
	// writeTimeout is how long a server may take to read a burst of requests.
	writeTimeout = 30 * time.Second
	// maxOutbox bounds the bytes that wait for a server to read them. A channel has
	// some 200 bytes of requests at most, so only a server that stopped reading gets
	// there.
	maxOutbox = 32 << 20
	// messageOverhead is what a message may have beside the MaxArrayBytes of its value.
	messageOverhead = 64 << 10
)

// Causes of a circuit's end.
var (
	errIdle     = errors.New("no channel uses the circuit")
	errSilent   = errors.New("the server does not answer")
	errOverflow = errors.New("the server does not read its requests")
	errServer   = errors.New("the server closed the circuit")
)

// circuit is a TCP connection to a server, shared by all its channels. It goes
// through connecting, up and over, once; a new one follows when a channel is found
// at the server again.
type circuit struct {
	client *Client
	server netip.AddrPort
	host   string   // server, as sinks are told
	conn   net.Conn // of a probe; nil if there was none
	out    *wire.Outbox
	// ctx ends with the circuit, for the cause given to cancel.
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed by run, when all channels are given back
	order  atomic.Uint32 // proto.FlagBig, if the server asks for it
	// greeted is closed when the server let us in.
	greeted chan struct{}

	// Guarded by Client.mu: up says that the server let us in, pinned that it is a
	// name server, so that the circuit lasts without channels.
	up, pinned bool
	guid       proto.GUID // as the server's latest answer said

	// mu guards what follows, and is held while a sink is called.
	mu      sync.Mutex
	ready   bool     // the server let us in
	over    bool     // no channel may be attached
	slots   []slot   // by cid and ioid, which are the same
	free    []uint32 // free slots
	layouts map[string]*layout
	types   proto.Types // that the server numbered

	// Of the batch at hand, and of messages that go on in the next.
	inbound
}

// inbound is the state of what is received.
type inbound struct {
	header   proto.Header
	sample   sample.Sample
	scratch  []byte
	key      []byte
	changed  proto.BitSet
	overrun  proto.BitSet
	segments segments
	partial  wire.Partial
	events   int
	acks     []byte
	answers  []answer
	now      time.Time
	stall    stall
	said     time.Time // when a message of the server was logged
}

func newCircuit(client *Client, server netip.AddrPort, conn net.Conn) *circuit {
	c := &circuit{
		client: client, server: server, host: server.String(), conn: conn,
		out: wire.NewOutbox(maxOutbox), done: make(chan struct{}), greeted: make(chan struct{}), layouts: map[string]*layout{},
	}
	c.ctx, c.cancel = context.WithCancelCause(client.ctx)
	return c
}

// flags returns the flags of messages to the server: its byte order.
func (c *circuit) flags() proto.Flags { return proto.Flags(c.order.Load()) }

// run connects the circuit, serves it, and gives its channels back.
func (c *circuit) run() {
	defer close(c.done)
	life, err := c.serve()
	c.cancel(err) // unless there is a cause already
	cause := context.Cause(c.ctx)
	blame := !errors.Is(cause, errIdle) && c.client.ctx.Err() == nil
	c.client.circuitEnded(c, life, blame)
	if blame {
		level := slog.LevelInfo
		if life == 0 { // a server that is away stays so for long
			level = slog.LevelDebug
		}
		c.client.config.Log.Log(c.ctx, level, "circuit ended", "server", c.server, "cause", cause)
	}
	c.release(cause)
}

// serve connects and reads until the circuit is over. It returns for how long it
// was up.
func (c *circuit) serve() (life time.Duration, err error) {
	conn, m := c.conn, c.client.metrics
	if conn == nil {
		ctx, cancel := context.WithTimeout(c.ctx, connectTimeout)
		conn, err = c.client.config.Dial(ctx, "tcp4", c.host)
		cancel()
	}
	if err != nil {
		m.connectFailures.Inc()
		return 0, fmt.Errorf("connecting to %s: %w", c.host, err)
	}
	began := time.Now()
	m.circuits.Inc()
	stop := context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.cancel(c.write(conn))
	}()
	c.cancel(c.read(conn))
	<-written
	if stop() {
		_ = conn.Close()
	}
	m.circuits.Dec()
	m.circuitsEnded.Inc()
	return time.Since(began), nil
}

// send queues requests.
func (c *circuit) send(appendTo func(dst []byte) []byte) {
	if !c.out.Add(appendTo) {
		c.cancel(errOverflow)
	}
}

// write sends what is queued until the circuit is over. Servers drop clients that
// are silent, so an ECHO is sent when there is nothing else; its answer says that
// the server is well.
func (c *circuit) write(conn net.Conn) error {
	echo := time.NewTicker(c.client.config.ConnTimeout / 2)
	defer echo.Stop()
	var b []byte
	for {
		select {
		case <-c.ctx.Done():
			return nil
		case <-echo.C:
			c.send(func(dst []byte) []byte { return proto.End(proto.Begin(dst, proto.CmdEcho, c.flags()), len(dst)) })
			continue
		case <-c.out.Wake():
		}
		if b = c.out.Take(b); len(b) == 0 {
			continue
		}
		if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return fmt.Errorf("writing to %s: %w", c.host, err)
		}
		if _, err := conn.Write(b); err != nil {
			return fmt.Errorf("writing to %s: %w", c.host, err)
		}
		c.client.metrics.sentBytes.Add(float64(len(b)))
	}
}

// read handles what the server sends until the circuit is over.
func (c *circuit) read(conn net.Conn) error {
	var buf wire.Buffer
	wait := connectTimeout
	for {
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return fmt.Errorf("reading from %s: %w", c.host, err)
		}
		n, err := conn.Read(buf.Free())
		switch {
		case n > 0: // an error comes again
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errSilent
		case errors.Is(err, io.EOF):
			return errServer
		default:
			return fmt.Errorf("reading from %s: %w", c.host, err)
		}
		c.client.metrics.receivedBytes.Add(float64(n))
		used, need, ready, err := c.batch(buf.Filled(n))
		if err != nil {
			return fmt.Errorf("reading from %s: %w", c.host, err)
		}
		buf.Used(used, need)
		if ready {
			wait = c.client.config.ConnTimeout
		}
	}
}

// came notes which part of the bytes that came makes no whole message yet.
func (c *circuit) came(used, rest int) error {
	if c.segments.open {
		return c.partial.Came(c.now, 0, 1) // it goes on
	}
	return c.partial.Came(c.now, used, rest)
}

// batch handles all whole frames of b. It returns the bytes they take and, if a part
// of a frame follows, how many that one needs; and whether the server let us in.
func (c *circuit) batch(b []byte) (used, need int, ready bool, err error) {
	c.mu.Lock()
	c.now = time.Now()
	c.stall.read(c.now)
	used, need, err = c.frames(b)
	if err == nil {
		err = c.came(used, len(b)-used)
	}
	ready = c.ready
	answers := c.answers
	if len(c.acks) > 0 {
		c.send(func(dst []byte) []byte { return append(dst, c.acks...) })
		c.acks = c.acks[:0]
	}
	c.mu.Unlock()
	if c.events > 0 {
		c.client.metrics.events.Add(float64(c.events))
		c.events = 0
	}
	for _, a := range answers { // found may lock this circuit, or another
		c.client.found(a)
	}
	c.answers = answers[:0]
	return used, need, ready, err
}

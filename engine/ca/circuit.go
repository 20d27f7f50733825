package ca

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/wire"
)

const (
	connectTimeout = 5 * time.Second
	// writeTimeout is how long a server may take to read a burst of requests.
	writeTimeout = 30 * time.Second

	// frameOverhead is what a payload may have beside MaxArrayBytes of elements:
	// the largest structure before the value, DBR_CTRL_ENUM's, and padding.
	frameOverhead = 512
	// maxOutbox bounds the bytes that wait for a server to read them. A channel has
	// some 150 bytes of requests at most, so only a server that stopped reading gets
	// there.
	maxOutbox = 32 << 20
)

// Causes of a circuit's end.
var (
	errIdle     = errors.New("no channel uses the circuit")
	errSilent   = errors.New("the server did not answer an ECHO")
	errOverflow = errors.New("the server does not read its requests")
	errServer   = errors.New("the server closed the circuit")
)

// circuit is a TCP connection to a server, shared by all its channels. It goes
// through connecting, up and over, once; a new one follows when a channel is found
// at the server again.
type circuit struct {
	client *Client
	server netip.AddrPort
	host   string // server, as sinks are told
	out    *wire.Outbox
	// ctx ends with the circuit, for the cause given to cancel.
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed by run, when all channels are given back
	// conn is what a probe connected; nil if the circuit is to connect by itself.
	conn  net.Conn
	began time.Time

	// greeted is closed, under Client.mu, when the server told its revision.
	greeted chan struct{}
	// Guarded by Client.mu: up says that it connected, searches that the server
	// takes SEARCH, pinned that it is to a name server, so that it lasts without
	// channels.
	up, searches, pinned bool

	// mu guards what follows, and is held while a sink is called.
	mu    sync.Mutex
	slots []slot   // by the number that a channel and its subscription have here
	free  []uint32 // free slots
	minor uint16   // of the server's protocol revision
	over  bool     // no channel may be attached

	properties properties

	// Of the batch at hand.
	header  proto.Header
	sample  sample.Sample
	scratch []byte // the elements of an array
	partial wire.Partial
	now     time.Time
	second  uint32 // of the circuit
	events  int
	answers []answer
	// pulse is the reader's; suspects are the slots that a stall would be told.
	pulse    pulse
	suspects []uint32
}

func newCircuit(client *Client, server netip.AddrPort, conn net.Conn) *circuit {
	c := &circuit{
		client: client, server: server, host: server.String(), out: wire.NewOutbox(maxOutbox), conn: conn, began: time.Now(),
		done: make(chan struct{}), greeted: make(chan struct{}), properties: properties{wake: make(chan struct{}, 1)},
	}
	c.ctx, c.cancel = context.WithCancelCause(client.ctx)
	config := &client.config
	c.send(func(dst []byte) []byte {
		dst = proto.AppendVersion(dst, config.Priority)
		dst = proto.AppendHostName(dst, config.Host)
		return proto.AppendClientName(dst, config.User)
	})
	return c
}

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
	m := c.client.metrics
	conn, err := c.connect()
	if err != nil {
		m.connectFailures.Inc()
		return 0, fmt.Errorf("connecting to %s: %w", c.host, err)
	}
	began := time.Now()
	c.connected()
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

// connect returns the connection of the circuit.
func (c *circuit) connect() (net.Conn, error) {
	if c.conn != nil {
		return c.conn, nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, connectTimeout)
	defer cancel()
	return c.client.config.Dial(ctx, "tcp4", c.host)
}

// connected notes that the circuit is up.
func (c *circuit) connected() {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	c.up = true
}

// send queues requests.
func (c *circuit) send(appendTo func(dst []byte) []byte) {
	if !c.out.Add(appendTo) {
		c.cancel(errOverflow)
	}
}

// write sends what is queued until the circuit is over. It begins with the
// subscriptions to metadata, a batch at a time.
func (c *circuit) write(conn net.Conn) error {
	next := time.NewTimer(propertyInterval)
	defer next.Stop()
	asking := true
	var b []byte
	for {
		select {
		case <-c.ctx.Done():
			return nil
		case <-c.properties.wake:
			if !asking {
				asking = true
				next.Reset(propertyInterval)
			}
		case <-next.C:
			if asking = c.askWaiting(); asking {
				next.Reset(propertyInterval)
			}
		case <-c.out.Wake():
			b = c.out.Take(b)
			if err := c.writeAll(conn, b); err != nil {
				return err
			}
		}
	}
}

func (c *circuit) writeAll(conn net.Conn, b []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("writing to %s: %w", c.host, err)
	}
	if _, err := conn.Write(b); err != nil {
		return fmt.Errorf("writing to %s: %w", c.host, err)
	}
	c.client.metrics.sentBytes.Add(float64(len(b)))
	return nil
}

// batch handles all whole frames of b, which came now. It returns the bytes they
// take and, if a part of a frame follows, how many that one needs.
func (c *circuit) batch(b []byte, now time.Time) (used, need int, err error) {
	c.mu.Lock()
	c.now, c.second, c.events = now, c.secondOf(now), 0
	if c.pulse.gap(now) {
		c.actives(c.pulse.from)
	}
	used, need, err = c.frames(b)
	if err == nil {
		err = c.partial.Came(now, used, len(b)-used)
	}
	if c.pulse.arrived(now, c.events) {
		c.stalled(c.pulse.from, c.pulse.to)
	}
	answers := c.answers
	c.mu.Unlock()
	c.client.metrics.events.Add(float64(c.events))
	for _, a := range answers { // found may lock this circuit, or another
		c.client.found(a)
	}
	c.answers = answers[:0]
	return used, need, err
}

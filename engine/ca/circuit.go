package ca

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

const (
	connectTimeout = 5 * time.Second
	echoTimeout    = 5 * time.Second
	// writeTimeout is how long a server may take to read a burst of requests.
	writeTimeout = 30 * time.Second

	// The read buffer starts small, as many IOCs send little, and grows while
	// reads fill it. It is larger only for a frame that does not fit.
	minReadBuffer = 16 << 10
	maxReadBuffer = 256 << 10
	// frameOverhead is what a payload may have beside MaxArrayBytes of elements:
	// the largest structure before the value, DBR_CTRL_ENUM's, and padding.
	frameOverhead = 512
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
	out    *outbox
	// ctx ends with the circuit, for the cause given to cancel.
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed by run, when all channels are given back

	// Guarded by Client.mu: up says that it connected, pinned that it is to a
	// name server, so that it lasts without channels.
	up, pinned bool

	// mu guards what follows, and is held while a sink is called.
	mu    sync.Mutex
	slots []slot   // by the number that a channel and its subscription have here
	free  []uint32 // free slots
	minor uint16   // of the server's protocol revision
	over  bool     // no channel may be attached

	// Of the batch at hand.
	header  proto.Header
	sample  sample.Sample
	scratch []byte // the elements of an array
	skip    uint64 // bytes to come of a frame that is too large
	events  int
	answers []answer
}

func newCircuit(client *Client, server netip.AddrPort) *circuit {
	c := &circuit{
		client: client, server: server, host: server.String(), out: newOutbox(), done: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancelCause(client.ctx)
	config := &client.config
	c.send(func(dst []byte) []byte {
		dst = proto.AppendVersion(dst, 0)
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
		c.client.config.Log.Info("circuit ended", "server", c.server, "cause", cause)
	}
	c.release(cause)
}

// serve connects and reads until the circuit is over. It returns for how long it
// was up.
func (c *circuit) serve() (life time.Duration, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, connectTimeout)
	conn, err := c.client.config.Dial(ctx, "tcp4", c.host)
	cancel()
	m := c.client.metrics
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

// connected notes that the circuit is up, and has a name server asked at once.
func (c *circuit) connected() {
	c.client.mu.Lock()
	c.up = true
	pinned := c.pinned
	c.client.mu.Unlock()
	if pinned {
		c.client.hastenSearch()
	}
}

// send queues requests.
func (c *circuit) send(appendTo func(dst []byte) []byte) {
	if !c.out.add(appendTo) {
		c.cancel(errOverflow)
	}
}

// write sends what is queued until the circuit is over.
func (c *circuit) write(conn net.Conn) error {
	var b []byte
	for {
		select {
		case <-c.ctx.Done():
			return nil
		case <-c.out.wake:
		}
		b = c.out.take(b)
		if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return fmt.Errorf("writing to %s: %w", c.host, err)
		}
		if _, err := conn.Write(b); err != nil {
			return fmt.Errorf("writing to %s: %w", c.host, err)
		}
		c.client.metrics.sentBytes.Add(float64(len(b)))
	}
}

// read handles what the server sends until the circuit is over. A server that is
// silent is sent an ECHO, once.
func (c *circuit) read(conn net.Conn) error {
	buf := make([]byte, minReadBuffer)
	filled := 0
	probing := false
	for {
		wait := c.client.config.ConnTimeout
		if probing {
			wait = echoTimeout
		}
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return fmt.Errorf("reading from %s: %w", c.host, err)
		}
		n, err := conn.Read(buf[filled:])
		switch {
		case n > 0: // an error comes again
		case errors.Is(err, os.ErrDeadlineExceeded) && !probing:
			probing = true
			c.send(proto.AppendEcho)
			continue
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errSilent
		case errors.Is(err, io.EOF):
			return errServer
		default:
			return fmt.Errorf("reading from %s: %w", c.host, err)
		}
		probing = false
		c.client.metrics.receivedBytes.Add(float64(n))
		used, need, err := c.batch(buf[:filled+n])
		if err != nil {
			return fmt.Errorf("reading from %s: %w", c.host, err)
		}
		full := filled+n == len(buf)
		buf, filled = makeRoom(buf, buf[used:filled+n], need, full)
	}
}

// makeRoom returns a buffer that begins with rest, the end of buf, and can hold a
// frame of need bytes: buf, or a larger one if that frame or a full read asks for it.
func makeRoom(buf, rest []byte, need int, full bool) ([]byte, int) {
	size := len(buf)
	if full && size < maxReadBuffer {
		size *= 2
	}
	if size = max(size, need); size > len(buf) {
		buf = make([]byte, size)
	}
	return buf, copy(buf, rest)
}

// batch handles all whole frames of b. It returns the bytes they take and, if a
// part of a frame follows, how many that one needs.
func (c *circuit) batch(b []byte) (used, need int, err error) {
	c.mu.Lock()
	used, need, err = c.frames(b)
	answers := c.answers
	c.mu.Unlock()
	c.client.metrics.events.Add(float64(c.events))
	c.events = 0
	for _, a := range answers { // found may lock this circuit, or another
		c.client.found(a)
	}
	c.answers = answers[:0]
	return used, need, err
}

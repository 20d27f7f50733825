package pva

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/search"
	"varve.dev/varve/engine/wire"
)

const (
	// loginTimeout is the maximum time in which a server must accept the login of the client.
	loginTimeout = 5 * time.Second
	// messageOverhead is the maximum number of bytes that a message has in addition to
	// MaxArrayBytes for its value.
	messageOverhead = 64 << 10
)

// errSilent is the cause with which a circuit ends when its server no longer answers.
var errSilent = errors.New("the server does not answer")

// circuit implements client.Circuit: it has the channels of a circuit, and handles its
// messages.
type circuit struct {
	*client.Link
	client *Client
	order  atomic.Uint32 // proto.FlagBig if the server requests it

	// mu guards the following fields. The circuit holds it while it calls a sink. batch locks
	// it and calls all methods that handle messages.
	mu      sync.Mutex
	ready   bool     // the server has accepted the login
	over    bool     // the circuit has ended, and accepts no channels
	slots   []slot   // by cid and ioid, which are the same
	free    []uint32 // free slots
	layouts map[string]*layout
	types   proto.Types // types to which the server has given numbers
	checks  client.Checks

	// inbound belongs to the current batch, and to messages that continue in the next batch.
	inbound
}

// inbound is the state of incoming messages.
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
	answers  []client.Answer
	now      time.Time
	stalls   stallDetector
	logged   time.Time // when a message of the server was last logged
}

func newCircuit(owner *Client, link *client.Link) *circuit {
	return &circuit{Link: link, client: owner, layouts: map[string]*layout{}, checks: owner.kernel.NewChecks(link)}
}

// flags returns the flags of messages to the server. They have the byte order of the server.
func (c *circuit) flags() proto.Flags { return proto.Flags(c.order.Load()) }

// Ready implements search.Circuit. It waits until the server has accepted the login of the
// client.
func (c *circuit) Ready() bool {
	select {
	case <-c.Greeted():
		return true
	case <-c.Done():
		return false
	}
}

// RequestLost implements search.Circuit. It sends CREATE_CHANNEL, which the server refuses for
// channels that it no longer has.
func (c *circuit) RequestLost(names []*search.Entry) { c.client.kernel.Reattach(names, c) }

// SendSearches implements search.NameCircuit.
func (c *circuit) SendSearches(batches []search.Batch) {
	c.Send(func(dst []byte) []byte {
		for _, b := range batches {
			dst = appendBatch(dst, b, netip.AddrPort{}, c.flags())
		}
		return dst
	})
}

// Write implements client.Circuit. Servers drop silent clients, so Write sends an ECHO twice
// per ConnTimeout. The answer shows that the server is alive. Write also checks channels without
// updates.
func (c *circuit) Write(conn net.Conn) (err error) {
	echo := time.NewTicker(c.client.config.ConnTimeout / 2)
	defer echo.Stop()
	ticks, stop := c.client.kernel.CheckTicks()
	defer stop()
	var b []byte
	for {
		select {
		case <-c.Ending():
			return nil
		case <-echo.C:
			c.Send(func(dst []byte) []byte { return proto.End(proto.Begin(dst, proto.CmdEcho, c.flags()), len(dst)) })
		case now := <-ticks:
			c.checkQuiet(now)
		case <-c.Outbox.Wake():
			if b, err = c.Flush(conn, b); err != nil {
				return err
			}
		}
	}
}

// Read implements client.Circuit.
func (c *circuit) Read(conn net.Conn) error {
	wait := loginTimeout
	for {
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return c.ReadError(err)
		}
		n, err := conn.Read(c.Inbox.Free())
		switch {
		case n > 0: // the next read returns the error again
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errSilent
		default:
			return c.ReadError(err)
		}
		c.client.metrics.ReceivedBytes.Add(float64(n))
		used, need, ready, err := c.batch(c.Inbox.Filled(n))
		if err != nil {
			return c.ReadError(err)
		}
		if err := c.makeRoom(used, need); err != nil {
			return err
		}
		if ready {
			wait = c.client.config.ConnTimeout
		}
	}
}

// makeRoom makes room for the next read after used bytes were handled. A frame of need bytes
// follows.
func (c *circuit) makeRoom(used, need int) error {
	c.scratch = c.Inbox.Trim(c.scratch)
	if !c.segments.open {
		c.segments.payload = c.Inbox.Trim(c.segments.payload)
	}
	waited, err := c.MakeRoom(used, need, wire.Besides{
		Bytes: cap(c.scratch) + cap(c.segments.payload), Unfinished: c.segments.open,
	})
	c.partial.Waited(waited)
	return err
}

// batch handles all complete frames of b. It returns the number of bytes of these frames. If
// an incomplete frame follows, need is the number of bytes of that frame. ready reports
// whether the server has accepted the login of the client.
func (c *circuit) batch(b []byte) (used, need int, ready bool, err error) {
	c.mu.Lock()
	c.now = time.Now()
	c.stalls.noteRead(c.now)
	used, need, err = c.framesLocked(b)
	if err == nil {
		err = c.notePartial(used, len(b)-used, need)
	}
	ready = c.ready
	answers := c.answers
	if len(c.acks) > 0 {
		c.Send(func(dst []byte) []byte { return append(dst, c.acks...) })
		c.acks = c.acks[:0]
	}
	c.mu.Unlock()
	if c.events > 0 {
		c.client.metrics.Events.Add(float64(c.events))
		c.events = 0
	}
	for _, a := range answers { // Found may lock this circuit, or another
		c.client.kernel.Found(a)
	}
	c.answers = answers[:0]
	return used, need, ready, err
}

// notePartial records how many of the received bytes belong to complete frames, and how many
// belong to a frame of need bytes. A message whose segments are not complete counts as an
// incomplete frame.
func (c *circuit) notePartial(used, rest, need int) error {
	grace := c.client.config.ConnTimeout
	if c.segments.open {
		return c.partial.Came(c.now, 0, 1, wire.FrameTime(grace, len(c.segments.payload)+need))
	}
	return c.partial.Came(c.now, used, rest, wire.FrameTime(grace, need))
}

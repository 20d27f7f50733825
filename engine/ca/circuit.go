package ca

import (
	"errors"
	"net"
	"sync"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/search"
	"varve.dev/varve/engine/wire"
)

const (
	// greetTimeout is the time that a server has to send its revision. Old servers never send
	// one.
	greetTimeout = time.Second
	// frameOverhead is the maximum number of bytes that a payload has in addition to
	// MaxArrayBytes of elements: the largest structure before a value, that of DBR_CTRL_ENUM,
	// and padding.
	frameOverhead = 512
)

// errSilent is the cause with which a circuit ends when its server no longer answers.
var errSilent = errors.New("the server did not answer an ECHO")

// circuit implements client.Circuit: it has the channels of a circuit, and handles its
// messages.
type circuit struct {
	*client.Link
	client *Client

	// mu guards the following fields. The circuit holds it while it calls a sink. batch locks
	// it and calls all methods that handle messages.
	mu    sync.Mutex
	slots []slot   // by the number of a channel and its subscription on this circuit
	free  []uint32 // free slots
	minor uint16   // minor protocol revision of the server
	over  bool     // the circuit has ended, and accepts no channels

	properties properties
	checks     client.Checks

	// The following fields belong to the current batch. Only partial also tracks a frame that
	// continues in the next batch.
	header  proto.Header
	sample  sample.Sample
	scratch []byte // the elements of an array
	partial wire.Partial
	now     time.Time
	second  uint32 // now as a second of the circuit
	events  int
	answers []client.Answer
	// stalls belongs to the goroutine that reads. suspects has the slots to which the circuit
	// would report a stall.
	stalls   stallDetector
	suspects []uint32
}

func newCircuit(owner *Client, link *client.Link) *circuit {
	c := &circuit{Link: link, client: owner, properties: properties{wake: make(chan struct{}, 1)}, checks: owner.kernel.NewChecks(link)}
	config := &owner.config
	c.Send(func(dst []byte) []byte {
		dst = proto.AppendVersion(dst, config.Priority)
		dst = proto.AppendHostName(dst, config.Host)
		return proto.AppendClientName(dst, config.User)
	})
	return c
}

// Ready implements search.Circuit. It waits until the server has sent its revision, or for
// greetTimeout.
func (c *circuit) Ready() bool {
	late := time.NewTimer(greetTimeout)
	defer late.Stop()
	select {
	case <-c.Greeted():
		return true
	case <-c.Done():
		return false
	case <-late.C:
		return c.IsUp()
	}
}

// RequestLost implements search.Circuit. It sends SEARCH, because some channels may have moved
// to another server, or CREATE_CHAN if the server does not accept SEARCH over TCP.
func (c *circuit) RequestLost(names []*search.Entry) {
	lost, acceptsSearches := c.Lost(names)
	switch {
	case !acceptsSearches:
		for _, e := range lost {
			c.client.kernel.Found(client.Answer{ID: e.ID, Server: c.Server, Origin: client.Origin{Circuit: c.Link}})
		}
	case len(lost) > 0:
		c.SendSearches([]search.Batch{{Entries: lost}})
	}
}

// SendSearches implements search.NameCircuit.
func (c *circuit) SendSearches(batches []search.Batch) {
	c.Send(func(dst []byte) []byte {
		for _, b := range batches {
			dst = appendBatch(dst, b)
		}
		return dst
	})
}

// Write implements client.Circuit. It also subscribes to metadata, one batch of channels at a
// time, and checks channels without updates.
func (c *circuit) Write(conn net.Conn) (err error) {
	next := time.NewTimer(propertyInterval)
	defer next.Stop()
	requesting := true
	ticks, stop := c.client.kernel.CheckTicks()
	defer stop()
	var b []byte
	for {
		select {
		case <-c.Ending():
			return nil
		case <-c.properties.wake:
			if !requesting {
				requesting = true
				next.Reset(propertyInterval)
			}
		case <-next.C:
			if requesting = c.requestWaiting(); requesting {
				next.Reset(propertyInterval)
			}
		case now := <-ticks:
			c.checkQuiet(now)
		case <-c.Outbox.Wake():
			if b, err = c.Flush(conn, b); err != nil {
				return err
			}
		}
	}
}

// batch handles all complete frames of b, which arrived now. It returns the number of bytes of
// these frames. If an incomplete frame follows, need is the number of bytes of that frame.
func (c *circuit) batch(b []byte, now time.Time) (used, need int, err error) {
	c.mu.Lock()
	c.now, c.second, c.events = now, c.checks.Second(now), 0
	if c.stalls.noteGap(now) {
		c.findSuspects(c.stalls.from)
	}
	used, need, err = c.framesLocked(b)
	if err == nil {
		err = c.partial.Came(now, used, len(b)-used, wire.FrameTime(c.client.config.ConnTimeout, need))
	}
	if c.stalls.noteUpdates(now, c.events) {
		c.reportStall(c.stalls.from, c.stalls.to)
	}
	answers := c.answers
	c.mu.Unlock()
	c.client.metrics.Events.Add(float64(c.events))
	for _, a := range answers { // Found may lock this circuit, or another
		c.client.kernel.Found(a)
	}
	c.answers = answers[:0]
	return used, need, err
}

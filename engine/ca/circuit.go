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
	// greetTimeout is how long a server has to send its revision; old ones never do.
	greetTimeout = time.Second
	// frameOverhead is the most bytes that a payload has beside MaxArrayBytes of
	// elements: the largest structure before the value, DBR_CTRL_ENUM's, and padding.
	frameOverhead = 512
)

// errSilent is the cause of a circuit's end when the server is gone without a word.
var errSilent = errors.New("the server did not answer an ECHO")

// circuit is the messages and the channels of a client.Circuit.
type circuit struct {
	*client.Link
	client *Client
	began  time.Time

	// mu guards the fields that follow, and is held while a sink is called. All methods
	// that handle messages run under it, called by batch.
	mu    sync.Mutex
	slots []slot   // by the number that a channel and its subscription have here
	free  []uint32 // free slots
	minor uint16   // of the server's protocol revision
	over  bool     // no channel may be attached

	properties properties

	// Of the current batch.
	header  proto.Header
	sample  sample.Sample
	scratch []byte // the elements of an array
	partial wire.Partial
	now     time.Time
	second  uint32 // of the circuit
	events  int
	answers []client.Answer
	// stalls belongs to the goroutine that reads; suspects are the slots that a stall
	// would be reported to.
	stalls   stallDetector
	suspects []uint32
}

func newCircuit(owner *Client, link *client.Link) *circuit {
	c := &circuit{Link: link, client: owner, began: time.Now(), properties: properties{wake: make(chan struct{}, 1)}}
	config := &owner.config
	c.Send(func(dst []byte) []byte {
		dst = proto.AppendVersion(dst, config.Priority)
		dst = proto.AppendHostName(dst, config.Host)
		return proto.AppendClientName(dst, config.User)
	})
	return c
}

// Ready implements search.Circuit: the server sent its revision, or had the time to.
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

// RequestLost implements search.Circuit: by SEARCH, because some channels may have
// moved, or by CREATE_CHAN if the server takes no SEARCH over TCP.
func (c *circuit) RequestLost(names []*search.Entry) {
	lost, takesSearches := c.Lost(names)
	switch {
	case !takesSearches:
		for _, e := range lost {
			c.client.kernel.Found(client.Answer{ID: e.ID, Server: c.Server})
		}
	case len(lost) > 0:
		c.SendSearches([]search.Batch{lost})
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

// Write implements client.Circuit. It begins with the subscriptions to metadata, a
// batch at a time.
func (c *circuit) Write(conn net.Conn) (err error) {
	next := time.NewTimer(propertyInterval)
	defer next.Stop()
	requesting := true
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
		case <-c.Outbox.Wake():
			if b, err = c.Flush(conn, b); err != nil {
				return err
			}
		}
	}
}

// batch handles all whole frames of b, which came now. It returns the bytes they take
// and, if a part of a frame follows, how many bytes that frame needs.
func (c *circuit) batch(b []byte, now time.Time) (used, need int, err error) {
	c.mu.Lock()
	c.now, c.second, c.events = now, c.secondOf(now), 0
	if c.stalls.noteGap(now) {
		c.findSuspects(c.stalls.from)
	}
	used, need, err = c.framesLocked(b)
	if err == nil {
		err = c.partial.Came(now, used, len(b)-used)
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

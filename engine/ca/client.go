package ca

import (
	"container/heap"
	"context"
	"net/netip"
	"sync"
	"time"

	"varve.dev/varve/engine/capture"
)

// Client is a Channel Access client. Its methods may be called from any
// goroutine, but not from a sink's methods.
type Client struct {
	config  Config
	metrics *metrics
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup // of every goroutine

	udp         *udp
	nameServers nameServers
	searchWake  chan struct{} // holds one token

	mu        sync.Mutex
	lastCID   uint32
	channels  map[uint32]*channel // by cid
	queue     searchQueue         // those that are searched for
	circuits  map[netip.AddrPort]*circuit
	penalties penalties
}

var _ capture.Source = (*Client)(nil)

// New starts a client. Close ends it.
func New(config Config) (*Client, error) {
	c := &Client{
		config:     config.withDefaults(),
		searchWake: make(chan struct{}, 1),
		channels:   map[uint32]*channel{},
		circuits:   map[netip.AddrPort]*circuit{},
		penalties:  penalties{},
	}
	var err error
	if c.nameServers, err = newNameServers(&c.config); err != nil {
		return nil, err
	}
	if c.udp, err = newUDP(c); err != nil {
		return nil, err
	}
	c.metrics = newMetrics(c.config.Registerer)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.udp.start()
	for _, s := range c.nameServers {
		c.wg.Go(func() { c.runNameServer(s) })
	}
	c.wg.Go(c.runSearch)
	return c, nil
}

// defaultMask is the event classes of a subscription that names none.
const defaultMask = capture.EventLog | capture.EventAlarm

// Subscribe implements capture.Source. The name goes to servers as it is.
func (c *Client) Subscribe(name string, opts capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	if opts.Events == 0 {
		opts.Events = defaultMask
	}
	ch := &channel{client: c, name: name, mask: uint16(opts.Events), sink: sink, state: closed}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		ch.closed.Store(true)
		return ch
	}
	c.lastCID++ // wraps after four billion; a live channel keeps its number
	for c.channels[c.lastCID] != nil {
		c.lastCID++
	}
	ch.cid = c.lastCID
	c.channels[ch.cid] = ch
	ch.search.delay = minSearchDelay
	c.enqueue(ch, time.Now())
	return ch
}

// Close implements capture.Source.
func (c *Client) Close() error {
	c.mu.Lock()
	for _, ch := range c.channels {
		ch.closed.Store(true)
	}
	c.cancel()
	c.mu.Unlock()
	c.udp.close()
	c.wg.Wait()
	return nil
}

// enqueue puts a channel into the search queue. It needs c.mu.
func (c *Client) enqueue(ch *channel, due time.Time) {
	ch.enter(searching)
	ch.search.due = due
	heap.Push(&c.queue, ch)
	c.wakeSearch()
}

// forget marks a channel as closed. It returns the circuit that has it, if one has.
func (c *Client) forget(ch *channel) *circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch.closed.Swap(true) && ch.circuit == nil {
		return nil // again, or of a client that is closed
	}
	if ch.circuit == nil {
		heap.Remove(&c.queue, ch.search.index)
		c.removeLocked(ch)
	}
	return ch.circuit
}

// removeLocked ends a channel that is neither in the queue nor on a circuit.
func (c *Client) removeLocked(ch *channel) {
	delete(c.channels, ch.cid)
	ch.circuit = nil
	ch.enter(closed)
}

// searchAgain takes a channel back from its circuit, or from one that would not
// have it. A channel that was connected for a while is searched for at once; else
// the back-off goes on, as a server may be refusing it.
func (c *Client) searchAgain(ch *channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch.closed.Load() {
		c.removeLocked(ch)
		return
	}
	now := time.Now()
	if ch.state != connecting && now.Sub(ch.since) > maxSearchDelay {
		ch.search.delay = minSearchDelay
	}
	ch.circuit = nil
	c.enqueue(ch, now.Add(jitter(ch.search.delay)))
}

// answer is what a SEARCH answer tells.
type answer struct {
	cid    uint32
	server netip.AddrPort
	minor  uint16 // of the server's protocol revision; 0 if not told
}

// found puts a channel that was searched for on the circuit to its server.
func (c *Client) found(a answer) {
	c.mu.Lock()
	ch := c.channels[a.cid]
	if ch == nil || ch.closed.Load() || a.server.Port() == 0 {
		c.mu.Unlock()
		return
	}
	if other := ch.circuit; other != nil {
		c.mu.Unlock()
		if other.server != a.server { // not the same server's answer to a repeated search
			c.metrics.duplicates.Inc()
			c.config.Log.Debug("PV found on two servers", "pv", ch.name, "used", other.server, "ignored", a.server)
		}
		return
	}
	if c.penalties.active(a.server, time.Now()) {
		c.mu.Unlock()
		return
	}
	heap.Remove(&c.queue, ch.search.index)
	ch.enter(connecting)
	ch.circuit = c.circuitLocked(a.server)
	circuit := ch.circuit
	c.mu.Unlock()
	if !circuit.attach(ch, a.minor) {
		c.searchAgain(ch)
	}
}

// circuitLocked returns the circuit to a server, starting one if there is none.
// The client is not closed.
func (c *Client) circuitLocked(server netip.AddrPort) *circuit {
	if existing := c.circuits[server]; existing != nil {
		return existing
	}
	started := newCircuit(c, server)
	c.circuits[server] = started
	c.wg.Go(started.run)
	return started
}

// circuitEnded takes a circuit that is over off the list, so that the next one
// to its server is new. life is how long it was up; blame is false if the end was
// the client's wish.
func (c *Client) circuitEnded(over *circuit, life time.Duration, blame bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.circuits, over.server)
	if blame {
		c.penalties.ended(over.server, life, time.Now())
	}
}

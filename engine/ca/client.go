package ca

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"sync"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/search"
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
	nameServers *search.NameServers[*circuit]
	searches    *search.Loop

	mu        sync.Mutex
	lastCID   uint32
	channels  map[uint32]*channel // by cid
	queue     search.Queue        // those that are searched for
	circuits  map[netip.AddrPort]*circuit
	penalties search.Penalties
	absences  *search.Absences
	rivals    search.Rivals
}

var _ capture.Source = (*Client)(nil)

// New starts a client. Close ends it.
func New(config Config) (*Client, error) {
	c := &Client{
		config:    config.withDefaults(),
		channels:  map[uint32]*channel{},
		queue:     newQueue(),
		circuits:  map[netip.AddrPort]*circuit{},
		penalties: search.Penalties{},
	}
	var err error
	if err = c.config.check(); err != nil {
		return nil, err
	}
	c.metrics = newMetrics()
	c.searches = search.NewLoop(c.nextSearch, c.searchRound)
	if c.nameServers, err = newNameServers(c); err != nil {
		return nil, err
	}
	if c.udp, err = newUDP(c); err != nil {
		return nil, err
	}
	c.metrics.register(c.config.Registerer)
	c.rivals = search.Rivals{Log: c.config.Log, Found: c.metrics.duplicates}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.absences = newAbsences(c)
	c.udp.start()
	c.nameServers.Start(c.ctx, c.wg.Go)
	c.wg.Go(func() { c.searches.Run(c.ctx) })
	if c.config.RepeaterPort != 0 {
		c.wg.Go(newBeacons(c).run)
	}
	return c, nil
}

// defaultMask is the event classes of a subscription that names none.
const defaultMask = capture.EventLog | capture.EventAlarm

// Subscribe implements capture.Source. The name goes to servers as it is.
func (c *Client) Subscribe(name string, opts capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	if opts.Events == 0 {
		opts.Events = defaultMask
	}
	ch := &channel{client: c, mask: uint16(opts.Events), sink: sink, state: closed}
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
	ch.search.Name, ch.search.ID = name, c.lastCID
	c.channels[c.lastCID] = ch
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
	c.udp.Close()
	c.wg.Wait()
	return nil
}

// enqueue puts a channel into the search queue. It needs c.mu.
func (c *Client) enqueue(ch *channel, due time.Time) {
	ch.enter(searching)
	c.queue.Add(&ch.search, due)
	c.searches.Wake()
}

// forget marks a channel as closed. It returns the circuit that has it, if one has.
func (c *Client) forget(ch *channel) *circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch.closed.Swap(true) && ch.circuit == nil {
		return nil // again, or of a client that is closed
	}
	if ch.circuit == nil {
		c.queue.Remove(&ch.search)
		c.absences.Over(&ch.search)
		c.removeLocked(ch)
	}
	return ch.circuit
}

// removeLocked ends a channel that is neither in the queue nor on a circuit.
func (c *Client) removeLocked(ch *channel) {
	delete(c.channels, ch.search.ID)
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
	if ch.state != connecting && now.Sub(ch.since) > search.MaxDelay {
		ch.search.Restart()
	}
	ch.circuit = nil
	c.enqueue(ch, now.Add(search.Jitter(ch.search.Delay())))
	c.absences.Miss(&ch.search)
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
	if ch.circuit != nil {
		c.rivals.Answered(&ch.search, ch.circuit.server, a.server)
		c.mu.Unlock()
		return
	}
	circuit := c.circuitLocked(a.server)
	if circuit == nil {
		c.mu.Unlock()
		return
	}
	c.queue.Found(&ch.search)
	c.absences.Over(&ch.search)
	ch.enter(connecting)
	ch.circuit = circuit
	c.mu.Unlock()
	if !circuit.attach(ch, a.minor) {
		c.searchAgain(ch)
	}
}

// circuitLocked returns the circuit to a server, starting one if there is none;
// none while the server has a penalty. The client is not closed.
func (c *Client) circuitLocked(server netip.AddrPort) *circuit {
	if existing := c.circuits[server]; existing != nil {
		return existing
	}
	if c.penalties.Active(server, time.Now()) {
		return nil
	}
	return c.startLocked(server, nil)
}

// startLocked starts a circuit to a server that has none, over conn or, if that is
// nil, over a connection of its own.
func (c *Client) startLocked(server netip.AddrPort, conn net.Conn) *circuit {
	started := newCircuit(c, server, conn)
	c.circuits[server] = started
	c.absences.Started(server)
	c.wg.Go(started.run)
	return started
}

// Circuits returns the servers that the client is connected to, name servers
// included, and the number of connections to each.
func (c *Client) Circuits() iter.Seq2[netip.AddrPort, int] {
	return func(yield func(server netip.AddrPort, n int) bool) {
		c.mu.Lock()
		servers := make([]netip.AddrPort, 0, len(c.circuits))
		for server, circuit := range c.circuits {
			if circuit.up {
				servers = append(servers, server)
			}
		}
		c.mu.Unlock()
		for _, server := range servers {
			if !yield(server, 1) { // all channels at an address share one
				return
			}
		}
	}
}

// circuitEnded takes a circuit that is over off the list, so that the next one
// to its server is new. life is how long it was up; blame is false if the end was
// the client's wish.
func (c *Client) circuitEnded(over *circuit, life time.Duration, blame bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.circuits, over.server)
	if blame {
		c.penalties.Ended(over.server, life, time.Now())
	}
}

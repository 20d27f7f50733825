package client

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

// Protocol is what a Kernel has to know of a protocol.
type Protocol struct {
	// SearchPort is the UDP port of addresses in Config.AddrList that name none.
	SearchPort uint16
	// SearchHeader is the number of bytes that a search has beside its names, and
	// SearchSize returns how many a name of some length takes.
	SearchHeader int
	SearchSize   func(name int) int
	// NewCircuit returns a circuit to a server; the Kernel then runs it. It is called
	// with the Kernel's lock.
	NewCircuit func(l *Link) Circuit
	// SendSearches sends searches for the names of batches in datagrams, by the socket.
	SendSearches func(batches []search.Batch)
	// HandleDatagram handles what the socket received, and calls Kernel.Found.
	HandleDatagram func(datagram []byte, from netip.Addr)
}

// Kernel has the channels of a client, searches for their servers, and keeps the
// circuits to those. Its methods may be called from any goroutine.
type Kernel struct {
	config   Config
	protocol Protocol
	metrics  *Metrics
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup // of every goroutine

	socket      *search.Socket
	nameServers *search.NameServers
	loop        *search.Loop

	mu         sync.Mutex
	lastID     uint32
	channels   map[uint32]*Channel // by the number in searches
	queue      search.Queue        // the channels that are searched for
	circuits   map[netip.AddrPort]Circuit
	penalties  search.Penalties
	prober     *search.Prober
	duplicates search.Duplicates
}

// New returns a Kernel. Nothing happens before Start, and nothing needs to be closed if
// there is no Start.
func New(config Config, protocol Protocol, metrics *Metrics) (*Kernel, error) {
	k := &Kernel{
		config: config, protocol: protocol, metrics: metrics,
		channels:   map[uint32]*Channel{},
		queue:      search.NewQueue(protocol.SearchHeader, protocol.SearchSize),
		circuits:   map[netip.AddrPort]Circuit{},
		penalties:  search.Penalties{},
		duplicates: search.Duplicates{Log: config.Log, Found: metrics.Duplicates},
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.loop = search.NewLoop(k.nextSearch, k.searchRound)
	k.prober = search.NewProber(k.ctx, search.ProberConfig{
		Mu: &k.mu, Go: k.wg.Go, Dial: config.Dial, Penalties: k.penalties, Probes: metrics.Probes,
		Circuit: func(server netip.AddrPort) (search.Circuit, bool) {
			circuit, found := k.circuits[server]
			return circuit, found
		},
		Connected: func(server netip.AddrPort, conn net.Conn) { k.startLocked(server, conn) },
	})
	var err error
	if k.nameServers, err = k.newNameServers(); err != nil {
		return nil, err
	}
	if k.socket, err = k.newSocket(); err != nil {
		return nil, err
	}
	metrics.register(config.Registerer)
	return k, nil
}

// Start starts the search.
func (k *Kernel) Start() {
	k.wg.Go(func() { k.socket.Receive(k.ctx, k.protocol.HandleDatagram) })
	k.wg.Go(func() { k.socket.To.Run(k.ctx) })
	k.nameServers.Start(k.ctx, k.wg.Go)
	k.wg.Go(func() { k.loop.Run(k.ctx) })
}

// Socket returns the socket of searches.
func (k *Kernel) Socket() *search.Socket { return k.socket }

// Context returns a context that ends when Close begins.
func (k *Kernel) Context() context.Context { return k.ctx }

// Go runs a function on a goroutine that Close waits for.
func (k *Kernel) Go(f func()) { k.wg.Go(f) }

// Subscribe subscribes to a channel. The name goes to servers unchanged.
func (k *Kernel) Subscribe(name string, options capture.SubscribeOptions, sink capture.Sink) *Channel {
	ch := &Channel{kernel: k, Options: options, Sink: sink, state: closed}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		ch.closed.Store(true)
		return ch
	}
	k.lastID++ // wraps after four billion; a live channel keeps its number
	for k.channels[k.lastID] != nil {
		k.lastID++
	}
	ch.entry.Name, ch.entry.ID = name, k.lastID
	k.channels[k.lastID] = ch
	k.enqueueLocked(ch, time.Now())
	return ch
}

// Close ends all subscriptions and waits for all goroutines.
func (k *Kernel) Close() {
	k.mu.Lock()
	for _, ch := range k.channels {
		ch.closed.Store(true)
	}
	k.cancel()
	k.mu.Unlock()
	k.socket.Close()
	k.wg.Wait()
}

// enqueueLocked puts a channel into the search queue.
func (k *Kernel) enqueueLocked(ch *Channel, due time.Time) {
	ch.Enter(Searching)
	k.queue.Add(&ch.entry, due)
	k.loop.Wake()
}

// unsubscribe marks a channel as closed. It returns the circuit that owns the channel,
// nil if none does.
func (k *Kernel) unsubscribe(ch *Channel) Circuit {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ch.closed.Swap(true) && ch.circuit == nil {
		return nil // closed before, or its client is closed
	}
	if ch.circuit == nil {
		k.queue.Remove(&ch.entry)
		k.prober.RemoveLocked(&ch.entry)
		k.removeLocked(ch)
	}
	return ch.circuit
}

// removeLocked removes a channel that is neither in the queue nor on a circuit.
func (k *Kernel) removeLocked(ch *Channel) {
	delete(k.channels, ch.entry.ID)
	ch.circuit = nil
	ch.Enter(closed)
}

// SearchAgain takes a channel back from its circuit, or from one that did not accept
// it. A closed channel is removed. The client searches at once for a channel that was
// connected for a while; else the back-off goes on, as a server may be refusing it.
func (k *Kernel) SearchAgain(ch *Channel) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ch.closed.Load() {
		k.removeLocked(ch)
		return
	}
	now := time.Now()
	if ch.state != Connecting && now.Sub(ch.Since) > search.MaxDelay {
		ch.entry.Restart()
	}
	ch.circuit = nil
	k.enqueueLocked(ch, now.Add(search.Jitter(ch.entry.Delay())))
	k.prober.AddLocked(&ch.entry)
}

// Answer is a server's answer to a search: it has a channel.
type Answer struct {
	ID     uint32         // the channel's number in searches
	Server netip.AddrPort // the address to connect to
	// Identity is the same for all addresses of a server; empty if the protocol has none.
	Identity string
	// Minor is the minor revision of Channel Access that the server has; 0 if unknown.
	Minor uint16
}

// Found puts a channel that is searched for on the circuit to the server that has it.
// No lock of a circuit may be held: it takes those of this circuit and of others.
func (k *Kernel) Found(a Answer) {
	circuit, ch := k.assign(a)
	if circuit != nil && !circuit.Attach(ch, a) {
		k.SearchAgain(ch)
	}
}

// assign gives the channel of an answer to the circuit to its server. circuit is nil if
// nobody searches for the channel, or if the server has a penalty.
func (k *Kernel) assign(a Answer) (circuit Circuit, ch *Channel) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ch = k.channels[a.ID]
	if ch == nil || ch.closed.Load() || a.Server.Port() == 0 {
		return nil, nil
	}
	if ch.circuit != nil {
		used := ch.circuit.link()
		if a.Identity == "" || a.Identity != used.identity { // else it is another address of the same server
			k.duplicates.Report(&ch.entry, used.Server, a.Server)
		}
		return nil, nil
	}
	if circuit = k.circuitLocked(a.Server); circuit == nil {
		return nil, nil
	}
	circuit.link().identity = a.Identity
	k.assignLocked(ch, circuit)
	return circuit, ch
}

// assignLocked gives a channel that is searched for to a circuit. Attach follows.
func (k *Kernel) assignLocked(ch *Channel, to Circuit) {
	k.queue.Found(&ch.entry)
	k.prober.RemoveLocked(&ch.entry)
	ch.Enter(Connecting)
	ch.circuit = to
}

// Assign gives a channel that is searched for to a circuit that the caller made, and
// attaches it: for tests of a circuit without a connection.
func (k *Kernel) Assign(ch *Channel, to Circuit) bool {
	k.mu.Lock()
	k.assignLocked(ch, to)
	k.mu.Unlock()
	return to.Attach(ch, Answer{})
}

// Reattach puts the channels of names back on a circuit without a search, if they are
// still lost at its server.
func (k *Kernel) Reattach(names []*search.Entry, circuit Circuit) {
	var back []*Channel
	k.mu.Lock()
	for _, e := range names {
		if e.LostAt(circuit.link().Server) {
			ch := k.channels[e.ID]
			k.assignLocked(ch, circuit)
			back = append(back, ch)
		}
	}
	k.mu.Unlock()
	for _, ch := range back {
		if !circuit.Attach(ch, Answer{}) {
			k.SearchAgain(ch)
		}
	}
}

// circuitLocked returns the circuit to a server, and starts one if there is none. It
// returns nil while the server has a penalty. The client is not closed.
func (k *Kernel) circuitLocked(server netip.AddrPort) Circuit {
	if existing := k.circuits[server]; existing != nil {
		return existing
	}
	if k.penalties.Active(server, time.Now()) {
		return nil
	}
	return k.startLocked(server, nil)
}

// startLocked starts a circuit to a server that has none, over conn or, if that is
// nil, over a connection of its own.
func (k *Kernel) startLocked(server netip.AddrPort, conn net.Conn) Circuit {
	circuit := k.protocol.NewCircuit(NewLink(k, server, conn))
	k.circuits[server] = circuit
	k.prober.CircuitStartedLocked(server)
	k.wg.Go(func() { circuit.link().run(circuit) })
	return circuit
}

// circuitEnded forgets a circuit that has ended, so that the next one to its server is
// new. life is how long it was up; blame is false if the client ended it.
func (k *Kernel) circuitEnded(server netip.AddrPort, life time.Duration, blame bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.circuits, server)
	if blame {
		k.penalties.Ended(server, life, time.Now())
	}
}

// Circuits returns the servers that the client is connected to, name servers included,
// and the number of connections to each.
func (k *Kernel) Circuits() iter.Seq2[netip.AddrPort, int] {
	return func(yield func(server netip.AddrPort, n int) bool) {
		k.mu.Lock()
		servers := make([]netip.AddrPort, 0, len(k.circuits))
		for server, circuit := range k.circuits {
			if circuit.link().up {
				servers = append(servers, server)
			}
		}
		k.mu.Unlock()
		for _, server := range servers {
			if !yield(server, 1) { // all channels at an address share one
				return
			}
		}
	}
}

// Stats are the sizes of a Kernel's tables.
type Stats struct {
	Channels, Searched, Attached int // all channels, those in the queue, those on circuits
	Circuits, LostServers        int
}

// Stats returns the sizes of the tables: for tests.
func (k *Kernel) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := Stats{Channels: len(k.channels), Searched: k.queue.Len(), Circuits: len(k.circuits), LostServers: k.prober.LenLocked()}
	for _, ch := range k.channels {
		if ch.circuit != nil {
			s.Attached++
		}
	}
	return s
}

// Circuit returns the circuit to a server, nil if there is none.
func (k *Kernel) Circuit(server netip.AddrPort) Circuit {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.circuits[server]
}

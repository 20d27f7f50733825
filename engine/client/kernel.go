package client

import (
	"context"
	"iter"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/loglimit"
	"varve.dev/varve/engine/search"
)

// Protocol has the parts of a protocol that a Kernel needs.
type Protocol struct {
	// SearchPort is the UDP port of addresses in Config.AddrList without a port.
	SearchPort uint16
	// SearchHeader is the number of bytes of a search without its names. SearchSize returns
	// the number of bytes that a search needs for a name of a given length.
	SearchHeader int
	SearchSize   func(name int) int
	// NewCircuit returns a circuit, which the Kernel then runs. The Kernel holds its lock
	// during the call.
	NewCircuit func(l *Link) Circuit
	// SendSearches sends searches for the names of batches as datagrams, through
	// Kernel.Socket.
	SendSearches func(batches []search.Batch)
	// HandleDatagram handles a datagram that the socket has received. It calls Kernel.Found
	// for each answer.
	HandleDatagram func(datagram []byte, from netip.Addr)
}

// warnEvery is the minimum time between two warnings with the same message.
const warnEvery = 10 * time.Second

// Kernel has the channels of a client, searches for their servers, and keeps the circuits to
// these servers. Its methods may be called from any goroutine.
type Kernel struct {
	config   Config
	protocol Protocol
	metrics  *Metrics
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup // of every goroutine
	warnings *slog.Logger   // limits the rate of warnings that a host can cause

	socket      *search.Socket
	nameServers *search.NameServers
	loop        *search.Loop
	checks      checkBudget
	polls       checkBudget

	mu         sync.Mutex
	warned     bool                // that there is nowhere to search
	channels   map[uint32]*Channel // by their numbers in searches
	queue      search.Queue        // the names for which the client searches
	circuits   map[netip.AddrPort]Circuit
	perHost    map[netip.Addr]int // number of circuits by host
	penalties  search.Penalties
	prober     *search.Prober
	duplicates search.Duplicates
}

// New returns a Kernel, which does nothing before Start. A Kernel that was not started need
// not be closed.
func New(config Config, protocol Protocol, metrics *Metrics) (*Kernel, error) {
	k := &Kernel{
		config: config, protocol: protocol, metrics: metrics,
		channels:   map[uint32]*Channel{},
		queue:      search.NewQueue(protocol.SearchHeader, protocol.SearchSize),
		circuits:   map[netip.AddrPort]Circuit{},
		perHost:    map[netip.Addr]int{},
		penalties:  search.Penalties{},
		duplicates: search.Duplicates{Log: config.Log, Found: metrics.Duplicates},
		warnings:   slog.New(loglimit.New(config.Log.Handler(), warnEvery)),
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.loop = search.NewLoop(k.nextSearch, k.searchRound)
	k.prober = search.NewProber(k.ctx, search.ProberConfig{
		Mu: &k.mu, Go: k.wg.Go, Dial: config.Dial, Penalties: k.penalties, Probes: metrics.Probes,
		Circuit: func(server netip.AddrPort) (search.Circuit, bool) {
			circuit, found := k.circuits[server]
			return circuit, found
		},
		Connected: func(server netip.AddrPort, conn net.Conn) {
			if k.refuseLocked(server) != accepted {
				_ = conn.Close() // no data was sent
				return
			}
			k.startLocked(server, conn)
		},
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

// Socket returns the socket for searches by UDP.
func (k *Kernel) Socket() *search.Socket { return k.socket }

// Context returns a context that ends when Close begins.
func (k *Kernel) Context() context.Context { return k.ctx }

// Warnings returns a log whose warnings have a limited rate.
func (k *Kernel) Warnings() *slog.Logger { return k.warnings }

// Go runs a function on a goroutine that Close waits for.
func (k *Kernel) Go(f func()) { k.wg.Go(f) }

// Subscribe subscribes to a channel. It sends the name to servers unchanged.
func (k *Kernel) Subscribe(name string, options capture.SubscribeOptions, sink capture.Sink) *Channel {
	ch := &Channel{kernel: k, Options: options, Sink: sink, state: closed}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		ch.closed.Store(true)
		return ch
	}
	ch.entry.Name, ch.entry.ID = name, k.freeNumberLocked()
	k.channels[ch.entry.ID] = ch
	k.enqueueLocked(ch, time.Now())
	return ch
}

// freeNumberLocked returns a random number that no channel has. Hosts that did not get the
// searches for a channel cannot guess its number, and thus cannot answer for it.
func (k *Kernel) freeNumberLocked() uint32 {
	for {
		if id := search.RandomNumber(); k.channels[id] == nil {
			return id
		}
	}
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
	if !k.warned && k.socket.To.Empty() && len(k.nameServers.List()) == 0 {
		k.warned = true
		k.config.Log.Warn("there are no addresses to search, so no channel can be found")
	}
	k.queue.Add(&ch.entry, due)
	k.loop.Wake()
}

// unsubscribe marks a channel as closed. It returns the circuit that owns the channel, or nil
// if no circuit owns it.
func (k *Kernel) unsubscribe(ch *Channel) Circuit {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ch.closed.Swap(true) && ch.circuit == nil {
		return nil // the channel was closed before, or its client is closed
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

// SearchAgain returns a channel to the search, from its circuit or from a circuit that did not
// accept it. It removes a closed channel. If the channel was connected for more than
// search.MaxDelay, its back-off begins again. Otherwise the back-off continues, because a
// server may be refusing the channel.
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

// assignLocked takes a channel from the search and gives it to a circuit. The caller must then
// call Attach.
func (k *Kernel) assignLocked(ch *Channel, to Circuit) {
	k.queue.Found(&ch.entry)
	k.prober.RemoveLocked(&ch.entry)
	ch.Enter(Connecting)
	ch.circuit = to
}

// Assign takes a channel from the search and attaches it to a circuit that the caller has
// created. It is for tests of a circuit without a connection.
func (k *Kernel) Assign(ch *Channel, to Circuit) bool {
	k.mu.Lock()
	k.assignLocked(ch, to)
	k.mu.Unlock()
	return to.Attach(ch, Answer{})
}

// Reattach attaches the channels of names to a circuit without a search, if they are still
// lost at the circuit's server.
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

// startLocked starts a circuit to a server that has no circuit. The circuit uses conn, or
// connects by itself if conn is nil.
func (k *Kernel) startLocked(server netip.AddrPort, conn net.Conn) Circuit {
	circuit := k.protocol.NewCircuit(NewLink(k, server, conn))
	k.circuits[server] = circuit
	k.perHost[server.Addr()]++
	k.prober.CircuitStartedLocked(server)
	k.wg.Go(func() { circuit.link().run(circuit) })
	return circuit
}

// circuitEnded removes a circuit that has ended, so that the client can start a new one to its
// server. life is the time for which the circuit was connected. blame is false if the client
// ended the circuit.
func (k *Kernel) circuitEnded(server netip.AddrPort, life time.Duration, blame bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.circuits, server)
	if k.perHost[server.Addr()]--; k.perHost[server.Addr()] == 0 {
		delete(k.perHost, server.Addr())
	}
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
			if !yield(server, 1) { // all channels at an address share one connection
				return
			}
		}
	}
}

// Stats has the sizes of a Kernel's tables.
type Stats struct {
	Channels, Searched, Attached int // all channels, channels in the queue, channels on circuits
	Circuits, LostServers        int
}

// Stats returns the sizes of the tables. It is for tests.
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

// Circuit returns the circuit to a server, or nil if there is none.
func (k *Kernel) Circuit(server netip.AddrPort) Circuit {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.circuits[server]
}

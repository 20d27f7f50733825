package search

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// probeTimeout is the maximum time of one attempt to connect. A host that is down does not
	// answer.
	probeTimeout = 1500 * time.Millisecond
	// idleTimeout is the time for which the circuit to a server that came back may have no
	// channels.
	idleTimeout = 10 * time.Second

	// After a server has come back, the prober requests its channels in small steps: 20,000
	// channels per second.
	requestNames    = 400
	requestInterval = 20 * time.Millisecond
)

// Circuit is a connection to a server that was lost and came back.
type Circuit interface {
	// Ready waits until the server accepts requests for channels. It returns false if
	// the circuit has ended or is not connected yet.
	Ready() bool
	// RequestLost requests the channels of names that are still lost at the server.
	RequestLost(names []*Entry)
	// EndIfIdle ends the circuit if no channel uses it.
	EndIfIdle()
	// Done returns a channel that is closed when the circuit has ended. Idle then
	// reports whether it ended because no channel used it.
	Done() <-chan struct{}
	Idle() bool
}

// ProberConfig configures a Prober.
type ProberConfig struct {
	// Mu is the client's lock, which guards the Prober too.
	Mu sync.Locker
	// Go runs a function on a goroutine that the client waits for.
	Go   func(func())
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Circuit returns the circuit to a server if there is one, and Connected starts a circuit
	// over a connection. The prober holds Mu when it calls them.
	Circuit   func(server netip.AddrPort) (c Circuit, ok bool)
	Connected func(server netip.AddrPort, conn net.Conn)
	Penalties Penalties
	Probes    prometheus.Counter // attempts to connect
}

// Prober probes servers that were lost while they had channels. As long as the client searches
// for some of these channels, the prober tries to connect to the server's address by TCP. Thus
// it finds the server soon even where neither searches nor beacons arrive. The search
// continues at the same time.
//
//	circuit lost ─▶ probing ──connected by a probe, or found by the search──▶ requesting
//	                   ▲                                                          │
//	                   └──────────────── circuit lost again ◀── waiting ◀─────────┘
//
// While it waits, it also requests channels that are lost only then.
//
// The prober forgets a server when its last channel is found or closed, or when a circuit to
// the server ends because no channel uses it. In the second case, the server is back without
// these channels.
type Prober struct {
	ProberConfig
	ctx     context.Context
	servers map[netip.AddrPort]*lostServer
}

// lostServer is a server that the client has lost.
type lostServer struct {
	address netip.AddrPort
	wake    chan struct{} // holds one token when names or circuits have changed

	// ProberConfig.Mu guards the following fields. back means that there is a circuit to the server again.
	names map[*Entry]struct{}
	back  bool
}

// NewProber returns a Prober that ends with ctx.
func NewProber(ctx context.Context, config ProberConfig) *Prober {
	return &Prober{ProberConfig: config, ctx: ctx, servers: map[netip.AddrPort]*lostServer{}}
}

// LenLocked returns the number of lost servers.
func (p *Prober) LenLocked() int { return len(p.servers) }

// AddLocked adds a name for which the client searches because it has lost the server e.Home.
func (p *Prober) AddLocked(e *Entry) {
	if !e.Home.IsValid() || p.ctx.Err() != nil {
		return
	}
	s := p.servers[e.Home]
	if s == nil {
		s = &lostServer{address: e.Home, wake: make(chan struct{}, 1), names: map[*Entry]struct{}{}}
		p.servers[e.Home] = s
		p.Go(func() { p.run(s) })
	}
	s.names[e] = struct{}{}
	e.lost = s
	if s.back {
		s.signal()
	}
}

// LostAt reports whether the client searches for the name because it has lost this server,
// which had the channel.
func (e *Entry) LostAt(server netip.AddrPort) bool {
	return e.lost != nil && e.lost.address == server
}

// RemoveLocked removes a name for which the client no longer searches.
func (p *Prober) RemoveLocked(e *Entry) {
	s := e.lost
	if s == nil {
		return
	}
	e.lost = nil
	if delete(s.names, e); len(s.names) == 0 {
		s.signal()
	}
}

// CircuitStartedLocked notifies the prober that there is a circuit to a server.
func (p *Prober) CircuitStartedLocked(server netip.AddrPort) {
	if s := p.servers[server]; s != nil {
		s.signal()
	}
}

// signal wakes the goroutine that probes the server.
func (s *lostServer) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run probes a server and requests its channels until none of them is lost.
func (p *Prober) run(s *lostServer) {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		circuit, wait, ok := p.next(s, time.Since(began))
		if !ok {
			return
		}
		if circuit != nil {
			p.restore(s, circuit)
			began = time.Now()
			continue
		}
		timer.Reset(wait)
		select {
		case <-p.ctx.Done():
		case <-s.wake:
		case <-timer.C:
			p.probe(s)
		}
	}
}

// next returns the circuit to a server if there is one again, and otherwise the time until the
// next probe. gone is the time for which the server has been gone. If no name is lost at the
// server, or the client is closed, next removes the server, and ok is false.
func (p *Prober) next(s *lostServer, gone time.Duration) (up Circuit, wait time.Duration, ok bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.ctx.Err() != nil || len(s.names) == 0 {
		delete(p.servers, s.address)
		return nil, 0, false
	}
	c, found := p.Circuit(s.address)
	if s.back = found; found {
		return c, 0, true
	}
	return nil, max(Jitter(probeDelay(gone)), time.Until(p.Penalties[s.address].until)), true
}

// probeDelay returns the time between two probes of a server that has been gone for
// some time: a 16th of that time up to 2 s, later a 64th, and at most 15 s.
func probeDelay(gone time.Duration) time.Duration {
	const (
		first = 200 * time.Millisecond
		soon  = 2 * time.Second
		most  = 15 * time.Second
	)
	return min(max(first, min(gone/16, soon), gone/64), most)
}

// probe tries to connect to a lost server, and starts a circuit if it can.
func (p *Prober) probe(s *lostServer) {
	p.Probes.Inc()
	ctx, cancel := context.WithTimeout(p.ctx, probeTimeout)
	defer cancel()
	conn, err := p.Dial(ctx, "tcp4", s.address.String())
	if err != nil {
		return
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if _, found := p.Circuit(s.address); found || p.ctx.Err() != nil {
		_ = conn.Close() // no data was sent
		return
	}
	p.Connected(s.address, conn)
}

// restore requests the channels of a server that came back, each of them once. A server that restarts fast is back before all
// its channels are in the search again, so it also requests those that are added later. After idleTimeout it ends the
// circuit if no channel uses it. restore returns when the circuit has ended, or after idleTimeout when no channel of the
// server is lost any longer.
func (p *Prober) restore(s *lostServer, circuit Circuit) {
	if !circuit.Ready() {
		return
	}
	requested := map[*Entry]struct{}{}
	p.request(s, circuit, requested)
	idle := time.NewTimer(idleTimeout)
	defer idle.Stop()
	used := false
	for !used || p.countLost(s) > 0 {
		select {
		case <-p.ctx.Done():
			return
		case <-circuit.Done():
			if circuit.Idle() {
				p.forget(s)
			}
			return
		case <-idle.C:
			circuit.EndIfIdle()
			used = true
		case <-s.wake:
			p.request(s, circuit, requested)
		}
	}
}

// request requests the lost channels of a server that are not in requested, in steps, and adds them to it. A server that
// refuses a channel is thus not asked for it again, other than by the search.
func (p *Prober) request(s *lostServer, circuit Circuit, requested map[*Entry]struct{}) {
	step := time.NewTicker(requestInterval)
	defer step.Stop()
	for list := p.lostNames(s, requested); len(list) > 0; list = list[min(requestNames, len(list)):] {
		circuit.RequestLost(list[:min(requestNames, len(list))])
		select {
		case <-circuit.Done():
			return
		case <-step.C:
		}
	}
}

// lostNames returns the names that are lost at a server and not in requested, and adds them to it.
func (p *Prober) lostNames(s *lostServer, requested map[*Entry]struct{}) (list []*Entry) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for e := range s.names {
		if _, there := requested[e]; !there {
			requested[e] = struct{}{}
			list = append(list, e)
		}
	}
	return list
}

// countLost returns how many names are lost at a server.
func (p *Prober) countLost(s *lostServer) int {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return len(s.names)
}

// forget removes the lost names of a server from the prober. Then only the search can find
// them.
func (p *Prober) forget(s *lostServer) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for e := range s.names {
		e.Home, e.lost = netip.AddrPort{}, nil
	}
	clear(s.names)
}

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
	// probeTimeout bounds one attempt to connect: of a host that is down, none is answered.
	probeTimeout = 1500 * time.Millisecond
	// idleTimeout is how long a circuit to a server that came back may be without channels.
	idleTimeout = 10 * time.Second

	// A server that came back is asked for the channels it had in small steps: 20,000 a second.
	askNames    = 400
	askInterval = 20 * time.Millisecond
)

// Circuit is a connection to a server that was lost and came back.
type Circuit interface {
	// Ready waits until the server can be asked for channels. It reports false if
	// the circuit is over, or not connected yet.
	Ready() bool
	// Ask asks for channels that the server had, if they are still missed there.
	Ask(names []*Entry)
	// EndIfIdle ends the circuit if no channel uses it.
	EndIfIdle()
	// Done is closed when the circuit is over. Then Idle reports whether that is so
	// because no channel used it.
	Done() <-chan struct{}
	Idle() bool
}

// Probing is how Absences reach servers.
type Probing struct {
	// Mu is that of the client, which guards the Absences too.
	Mu sync.Locker
	// Go runs a function on a goroutine that the client waits for.
	Go   func(func())
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Circuit returns the circuit to a server if there is one, and Connected starts
	// one. They need Mu.
	Circuit   func(server netip.AddrPort) (c Circuit, ok bool)
	Connected func(server netip.AddrPort, conn net.Conn)
	Penalties Penalties
	Probes    prometheus.Counter // attempts to connect
}

// Absences are the servers whose circuits were lost while they had channels. As long
// as some of these are searched for, the address is probed by TCP, so that the server
// is found soon where neither searches nor beacons get through; the search goes on
// beside.
//
//	circuit lost ─▶ probing ──connected, by a probe or as the search found it──▶ asking
//	                   ▲                                                            │
//	                   └───────────────── circuit lost again ◀── waiting ◀──────────┘
//
// An absence ends with its last channel, or when a circuit to the server ends as idle:
// the server is there, but has none of them any more.
type Absences struct {
	Probing
	ctx     context.Context
	servers map[netip.AddrPort]*absence
}

// absence is one server.
type absence struct {
	server netip.AddrPort
	wake   chan struct{}       // holds one token: look again
	names  map[*Entry]struct{} // guarded by Probing.Mu
}

// NewAbsences returns Absences that end with ctx.
func NewAbsences(ctx context.Context, p Probing) *Absences {
	return &Absences{Probing: p, ctx: ctx, servers: map[netip.AddrPort]*absence{}}
}

// Len returns the number of servers that are absent.
func (x *Absences) Len() int { return len(x.servers) }

// Miss notes that a name is searched for, whose Home is not there any more.
func (x *Absences) Miss(e *Entry) {
	if !e.Home.IsValid() || x.ctx.Err() != nil {
		return
	}
	a := x.servers[e.Home]
	if a == nil {
		a = &absence{server: e.Home, wake: make(chan struct{}, 1), names: map[*Entry]struct{}{}}
		x.servers[e.Home] = a
		x.Go(func() { x.run(a) })
	}
	a.names[e] = struct{}{}
	e.absence = a
}

// MissedAt reports whether a name is searched for, and missed at a server.
func (e *Entry) MissedAt(server netip.AddrPort) bool {
	return e.absence != nil && e.absence.server == server
}

// Over notes that a name is not searched for any more.
func (x *Absences) Over(e *Entry) {
	a := e.absence
	if a == nil {
		return
	}
	e.absence = nil
	if delete(a.names, e); len(a.names) == 0 {
		a.look()
	}
}

// Started notes that there is a circuit to a server.
func (x *Absences) Started(server netip.AddrPort) {
	if a := x.servers[server]; a != nil {
		a.look()
	}
}

// look has run look again.
func (a *absence) look() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run goes through the states of an absence until it ends.
func (x *Absences) run(a *absence) {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		circuit, wait, ok := x.absent(a, time.Since(began))
		if !ok {
			return
		}
		if circuit != nil {
			x.welcome(a, circuit)
			began = time.Now()
			continue
		}
		timer.Reset(wait)
		select {
		case <-x.ctx.Done():
		case <-a.wake:
		case <-timer.C:
			x.probe(a)
		}
	}
}

// absent returns the circuit to the server of an absence, if there is one again,
// or when to probe. ok is false if the absence ended.
func (x *Absences) absent(a *absence, gone time.Duration) (up Circuit, wait time.Duration, ok bool) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	if x.ctx.Err() != nil || len(a.names) == 0 {
		delete(x.servers, a.server)
		return nil, 0, false
	}
	if c, found := x.Circuit(a.server); found {
		return c, 0, true
	}
	return nil, max(Jitter(probeDelay(gone)), time.Until(x.Penalties[a.server].until)), true
}

// probeDelay returns the time between two probes of a server that is gone for so
// long: a 16th of that up to 2 s, later a 64th, and at most 15 s.
func probeDelay(gone time.Duration) time.Duration {
	const (
		first = 200 * time.Millisecond
		soon  = 2 * time.Second
		most  = 15 * time.Second
	)
	return min(max(first, min(gone/16, soon), gone/64), most)
}

// probe tries to connect to an absent server, and starts a circuit if it can.
func (x *Absences) probe(a *absence) {
	x.Probes.Inc()
	ctx, cancel := context.WithTimeout(x.ctx, probeTimeout)
	defer cancel()
	conn, err := x.Dial(ctx, "tcp4", a.server.String())
	if err != nil {
		return
	}
	x.Mu.Lock()
	defer x.Mu.Unlock()
	if _, found := x.Circuit(a.server); found || x.ctx.Err() != nil {
		_ = conn.Close() // nothing was sent
		return
	}
	x.Connected(a.server, conn)
}

// welcome asks a server that came back for the channels it had, and returns when
// the circuit is over, or no channel is missed any more.
func (x *Absences) welcome(a *absence, circuit Circuit) {
	if !circuit.Ready() {
		return
	}
	x.ask(a, circuit)
	idle := time.NewTimer(idleTimeout)
	defer idle.Stop()
	used := false
	for !used || x.missed(a) > 0 {
		select {
		case <-x.ctx.Done():
			return
		case <-circuit.Done():
			if circuit.Idle() {
				x.forget(a)
			}
			return
		case <-idle.C:
			circuit.EndIfIdle()
			used = true
		case <-a.wake:
		}
	}
}

// ask asks a server for the channels of an absence.
func (x *Absences) ask(a *absence, circuit Circuit) {
	step := time.NewTicker(askInterval)
	defer step.Stop()
	for list := x.missing(a); len(list) > 0; list = list[min(askNames, len(list)):] {
		circuit.Ask(list[:min(askNames, len(list))])
		select {
		case <-circuit.Done():
			return
		case <-step.C:
		}
	}
}

// missing returns the names of an absence.
func (x *Absences) missing(a *absence) []*Entry {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	list := make([]*Entry, 0, len(a.names))
	for e := range a.names {
		list = append(list, e)
	}
	return list
}

// missed returns how many names of an absence are searched for.
func (x *Absences) missed(a *absence) int {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	return len(a.names)
}

// forget leaves the names of an absence to the search alone.
func (x *Absences) forget(a *absence) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	for e := range a.names {
		e.Home, e.absence = netip.AddrPort{}, nil
	}
	clear(a.names)
}

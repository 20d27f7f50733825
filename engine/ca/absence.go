package ca

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

const (
	// probeTimeout bounds one attempt to connect: of a host that is down, none is answered.
	probeTimeout = 1500 * time.Millisecond
	// greetTimeout is how long a server has to tell its revision; old ones never do.
	greetTimeout = time.Second
	// idleTimeout is how long a circuit to a server that came back may be without channels.
	idleTimeout = 10 * time.Second

	// A server that came back is asked for the channels it had in small steps: 20,000 a second.
	askNames    = 400
	askInterval = 20 * time.Millisecond
)

// absence is a server whose circuit was lost while it had channels. As long as
// some of them are searched for, its address is probed by TCP, so that it is found
// soon where neither searches nor beacons get through; the search goes on beside.
//
//	circuit lost ─▶ probing ──connected, by a probe or as the search found it──▶ asking
//	                   ▲                                                            │
//	                   └───────────────── circuit lost again ◀── waiting ◀──────────┘
//
// It ends with its last channel, or when a circuit to the server ends as idle: the
// server is there, but has none of them any more.
type absence struct {
	server netip.AddrPort
	wake   chan struct{} // holds one token: look again

	// Guarded by Client.mu.
	channels map[*channel]struct{}
}

// missLocked notes that a channel that is searched for was at its home last.
func (c *Client) missLocked(ch *channel) {
	a := c.absences[ch.home]
	if a == nil {
		a = &absence{server: ch.home, wake: make(chan struct{}, 1), channels: map[*channel]struct{}{}}
		c.absences[ch.home] = a
		c.wg.Go(func() { c.runAbsence(a) })
	}
	a.channels[ch] = struct{}{}
	ch.absence = a
}

// unmissLocked takes a channel, which is not searched for any more, off its absence.
func (c *Client) unmissLocked(ch *channel) {
	a := ch.absence
	if a == nil {
		return
	}
	ch.absence = nil
	if delete(a.channels, ch); len(a.channels) == 0 {
		a.look()
	}
}

// look has runAbsence look again.
func (a *absence) look() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// runAbsence goes through the states of an absence until it ends.
func (c *Client) runAbsence(a *absence) {
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		circuit, wait, ok := c.absent(a, time.Since(began))
		if !ok {
			return
		}
		if circuit != nil {
			c.welcome(a, circuit)
			began = time.Now()
			continue
		}
		timer.Reset(wait)
		select {
		case <-c.ctx.Done():
		case <-a.wake:
		case <-timer.C:
			c.probe(a)
		}
	}
}

// absent returns the circuit to the server of an absence, if there is one again,
// or when to probe. ok is false if the absence ended.
func (c *Client) absent(a *absence, gone time.Duration) (up *circuit, wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || len(a.channels) == 0 {
		delete(c.absences, a.server)
		return nil, 0, false
	}
	wait = max(jitter(probeDelay(gone)), time.Until(c.penalties[a.server].until))
	return c.circuits[a.server], wait, true
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
func (c *Client) probe(a *absence) {
	c.metrics.probes.Inc()
	ctx, cancel := context.WithTimeout(c.ctx, probeTimeout)
	defer cancel()
	conn, err := c.config.Dial(ctx, "tcp4", a.server.String())
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || c.circuits[a.server] != nil {
		_ = conn.Close() // nothing was sent
		return
	}
	c.startLocked(a.server, conn)
}

// welcome asks a server that came back for the channels it had, and returns when
// the circuit is over, or no channel is missed any more.
func (c *Client) welcome(a *absence, circuit *circuit) {
	if !c.awaitGreeting(circuit) {
		return
	}
	c.ask(a, circuit)
	idle := time.NewTimer(idleTimeout)
	defer idle.Stop()
	used := false
	for !used || c.missed(a) > 0 {
		select {
		case <-c.ctx.Done():
			return
		case <-circuit.done:
			if errors.Is(context.Cause(circuit.ctx), errIdle) {
				c.forgetAbsence(a)
			}
			return
		case <-idle.C:
			circuit.endIfIdle()
			used = true
		case <-a.wake:
		}
	}
}

// awaitGreeting waits until the server told its revision, or is taken as one that
// does not. It reports false if the circuit is over, or not connected yet.
func (c *Client) awaitGreeting(circuit *circuit) bool {
	late := time.NewTimer(greetTimeout)
	defer late.Stop()
	select {
	case <-circuit.greeted:
		return true
	case <-circuit.done:
		return false
	case <-late.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return circuit.up
}

// ask asks for the channels of an absence: by SEARCH, as some may have moved, or
// by CREATE_CHAN of a server that knows no SEARCH over TCP.
func (c *Client) ask(a *absence, circuit *circuit) {
	step := time.NewTicker(askInterval)
	defer step.Stop()
	for list := c.missing(a); len(list) > 0; list = list[min(askNames, len(list)):] {
		c.askFor(a, circuit, list[:min(askNames, len(list))])
		select {
		case <-circuit.ctx.Done():
			return
		case <-step.C:
		}
	}
}

// askFor asks for some channels of an absence, if they are still missed.
func (c *Client) askFor(a *absence, circuit *circuit, list []*channel) {
	var requests []byte
	var creates []answer
	c.mu.Lock()
	for _, ch := range list {
		switch {
		case ch.absence != a:
		case circuit.searches:
			requests = proto.AppendSearch(requests, ch.name, ch.cid, proto.DontReply)
		default:
			creates = append(creates, answer{cid: ch.cid, server: a.server})
		}
	}
	c.mu.Unlock()
	if len(requests) > 0 {
		circuit.send(func(dst []byte) []byte { return append(dst, requests...) })
	}
	for _, x := range creates {
		c.found(x)
	}
}

// missing returns the channels of an absence.
func (c *Client) missing(a *absence) []*channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*channel, 0, len(a.channels))
	for ch := range a.channels {
		list = append(list, ch)
	}
	return list
}

// missed returns how many channels of an absence are searched for.
func (c *Client) missed(a *absence) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(a.channels)
}

// forgetAbsence leaves the channels of an absence to the search alone.
func (c *Client) forgetAbsence(a *absence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range a.channels {
		ch.home, ch.absence = netip.AddrPort{}, nil
	}
	clear(a.channels)
}

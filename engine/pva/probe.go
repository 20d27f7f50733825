package pva

import (
	"context"
	"net"
	"net/netip"
	"time"

	"varve.dev/varve/engine/search"
)

const (
	// Delays between the probes of a server that channels were lost at, doubling: one
	// connection attempt each, however many channels there were.
	minProbeDelay = 250 * time.Millisecond
	maxProbeDelay = 3 * time.Second
	probeTimeout  = 2 * time.Second
)

// loseLocked notes that a channel of a server was lost, and has the server probed
// until all such channels are found.
func (c *Client) loseLocked(server netip.AddrPort) {
	_, probed := c.lost[server]
	c.lost[server]++
	if !probed && c.ctx.Err() == nil {
		c.wg.Go(func() { c.probe(server) })
	}
}

// probe connects to a server when it is back. Its beacons may not come here, and
// searches for its channels may have long delays by then.
func (c *Client) probe(server netip.AddrPort) {
	for delay := minProbeDelay; ; delay = min(2*delay, maxProbeDelay) {
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(search.Jitter(delay)):
		}
		switch c.probed(server) {
		case probeOver:
			return
		case probeWait:
			continue
		case probeUp:
			c.revive(server, nil)
			continue
		}
		ctx, cancel := context.WithTimeout(c.ctx, probeTimeout)
		conn, err := c.config.Dial(ctx, "tcp4", server.String())
		cancel()
		c.metrics.probes.Inc()
		if err == nil {
			c.revive(server, conn)
		}
	}
}

// probing is what to do about a server that channels were lost at.
type probing uint8

const (
	probeDial probing = iota
	probeWait         // somebody else connects to it, or it is to be left alone
	probeUp           // there is a circuit to it already
	probeOver         // no channel is missing
)

func (c *Client) probed(server netip.AddrPort) probing {
	c.mu.Lock()
	defer c.mu.Unlock()
	circuit := c.circuits[server]
	switch {
	case c.lost[server] <= 0:
		delete(c.lost, server)
		return probeOver
	case circuit != nil && circuit.up:
		return probeUp
	case circuit != nil, c.penalties.Active(server, time.Now()):
		return probeWait
	}
	return probeDial
}

// revive gives the channels that were lost at a server to the circuit to it, or to one
// over conn. The server refuses those that it has no more, and they are searched for
// again.
func (c *Client) revive(server netip.AddrPort, conn net.Conn) {
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		if conn != nil {
			_ = conn.Close()
		}
		return
	}
	circuit := c.circuitLocked(server, conn)
	var back []*channel
	c.queue.All(func(e *search.Entry) {
		if ch := c.channels[e.ID]; ch.lost && ch.home == server {
			back = append(back, ch)
		}
	})
	for _, ch := range back {
		c.moveLocked(ch, circuit)
	}
	c.mu.Unlock()
	for _, ch := range back {
		if !circuit.attach(ch) {
			c.searchAgain(ch, false)
		}
	}
}

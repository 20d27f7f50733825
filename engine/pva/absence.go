package pva

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"varve.dev/varve/engine/search"
)

// newAbsences returns what looks for servers that were lost.
func newAbsences(c *Client) *search.Absences {
	return search.NewAbsences(c.ctx, search.Probing{
		Mu: &c.mu, Go: c.wg.Go, Dial: c.config.Dial, Penalties: c.penalties, Probes: c.metrics.probes,
		Circuit: func(server netip.AddrPort) (search.Circuit, bool) {
			circuit, found := c.circuits[server]
			return circuit, found
		},
		Connected: func(server netip.AddrPort, conn net.Conn) { c.startLocked(server, conn) },
	})
}

var _ search.Circuit = (*circuit)(nil)

// Done implements search.Circuit.
func (c *circuit) Done() <-chan struct{} { return c.done }

// Idle implements search.Circuit.
func (c *circuit) Idle() bool { return errors.Is(context.Cause(c.ctx), errIdle) }

// Ready implements search.Circuit: the server let us in.
func (c *circuit) Ready() bool {
	select {
	case <-c.greeted:
		return true
	case <-c.done:
		return false
	}
}

// Ask implements search.Circuit: by CREATE_CHANNEL, which the server refuses for
// channels that it has no more.
func (c *circuit) Ask(names []*search.Entry) {
	client := c.client
	var back []*channel
	client.mu.Lock()
	for _, e := range names {
		if e.MissedAt(c.server) {
			ch := client.channels[e.ID]
			client.moveLocked(ch, c)
			back = append(back, ch)
		}
	}
	client.mu.Unlock()
	for _, ch := range back {
		if !c.attach(ch) {
			client.searchAgain(ch)
		}
	}
}

package ca

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/search"
)

// greetTimeout is how long a server has to tell its revision; old ones never do.
const greetTimeout = time.Second

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

// Ready implements search.Circuit: the server told its revision, or is taken as one
// that does not.
func (c *circuit) Ready() bool {
	late := time.NewTimer(greetTimeout)
	defer late.Stop()
	select {
	case <-c.greeted:
		return true
	case <-c.done:
		return false
	case <-late.C:
	}
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	return c.up
}

// Ask implements search.Circuit: by SEARCH, as some channels may have moved, or by
// CREATE_CHAN of a server that knows no SEARCH over TCP.
func (c *circuit) Ask(names []*search.Entry) {
	var requests []byte
	var creates []answer
	client := c.client
	client.mu.Lock()
	for _, e := range names {
		switch {
		case !e.MissedAt(c.server):
		case c.searches:
			requests = proto.AppendSearch(requests, e.Name, e.ID, proto.DontReply)
		default:
			creates = append(creates, answer{cid: e.ID, server: c.server})
		}
	}
	client.mu.Unlock()
	if len(requests) > 0 {
		c.send(func(dst []byte) []byte { return append(dst, requests...) })
	}
	for _, x := range creates {
		client.found(x)
	}
}

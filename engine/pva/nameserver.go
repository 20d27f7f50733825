package pva

import (
	"context"
	"net/netip"

	"varve.dev/varve/engine/search"
)

// newNameServers returns those of the configuration.
func newNameServers(c *Client) (*search.NameServers[*circuit], error) {
	return search.NewNameServers(c.config.NameServers, search.Naming[*circuit]{
		Mu: &c.mu, Port: c.config.ServerPort, Resolve: c.config.Resolve, Hasten: c.hastenLocked,
		Circuit: func(address netip.AddrPort) (*circuit, bool) {
			if c.ctx.Err() != nil {
				return nil, false
			}
			if existing := c.circuits[address]; existing != nil {
				return existing, true
			}
			return c.startLocked(address, nil), true
		},
		Log: c.config.Log, LookUpErrors: c.metrics.lookupErrors,
	})
}

// Pin implements search.NameCircuit.
func (c *circuit) Pin() { c.pinned = true }

// TakesNames implements search.NameCircuit.
func (c *circuit) TakesNames() bool { return c.up && c.ctx.Err() == nil }

// End implements search.NameCircuit.
func (c *circuit) End() (up bool, cause error) {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	return c.up, context.Cause(c.ctx)
}

// search asks a name server for the names of some batches.
func (c *circuit) search(batches []search.Batch) {
	c.send(func(dst []byte) []byte {
		for _, b := range batches {
			dst = appendBatch(dst, b, c.client.udp.sequence.Add(1), netip.AddrPort{}, c.flags())
		}
		return dst
	})
}

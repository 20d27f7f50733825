package pva

import (
	"context"
	"net/netip"

	"varve.dev/varve/engine/search"
)

// nameServer is a server that is asked over TCP where channels are. The circuit
// to it is like any other, and shared with the channels it serves itself, but it
// stays when it has none.
type nameServer struct {
	search.NameServer
	circuit *circuit // guarded by Client.mu; nil before the first
}

func newNameServers(c *Client) ([]*nameServer, error) {
	var list []*nameServer
	for _, address := range c.config.NameServers {
		s := &nameServer{NameServer: search.NameServer{
			Address: address, Port: c.config.ServerPort, Resolve: c.config.Resolve,
			Log: c.config.Log, LookUpErrors: c.metrics.lookupErrors,
		}}
		if err := s.Check(); err != nil {
			return nil, err
		}
		s.Connect = func(at netip.AddrPort) (up bool, cause error) { return c.serveNames(s, at) }
		list = append(list, s)
	}
	return list, nil
}

// readyNameServers returns the circuits that can take searches. It needs c.mu.
func (c *Client) readyNameServers() []*circuit {
	var out []*circuit
	for _, s := range c.nameServers {
		if s.circuit != nil && s.circuit.up && s.circuit.ctx.Err() == nil {
			out = append(out, s.circuit)
		}
	}
	return out
}

// serveNames gives a name server the circuit to an address until that is over.
func (c *Client) serveNames(s *nameServer, address netip.AddrPort) (up bool, cause error) {
	circuit := c.pin(s, address)
	if circuit == nil {
		return false, nil
	}
	<-circuit.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return circuit.up, context.Cause(circuit.ctx)
}

// pin gives a name server the circuit to an address; none if the client is closed.
func (c *Client) pin(s *nameServer, address netip.AddrPort) *circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil
	}
	if s.circuit = c.circuits[address]; s.circuit == nil { // penalties are not for these
		s.circuit = c.startLocked(address, nil)
	}
	s.circuit.pinned = true
	if s.circuit.up { // else the circuit does so when it is
		c.hastenLocked()
	}
	return s.circuit
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

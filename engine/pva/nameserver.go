package pva

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"varve.dev/varve/engine/search"
)

// nameServer is a server that is asked over TCP where channels are. The circuit
// to it is like any other, and shared with the channels it serves itself, but it
// stays when it has none.
type nameServer struct {
	address string   // host[:port]
	circuit *circuit // guarded by Client.mu; nil before the first
}

func newNameServers(config *Config) ([]*nameServer, error) {
	var list []*nameServer
	for _, address := range config.NameServers {
		if _, _, err := search.SplitAddress(address, config.ServerPort); err != nil {
			return nil, fmt.Errorf("reading the name servers: %w", err)
		}
		list = append(list, &nameServer{address: address})
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

// runNameServer keeps a circuit to a name server up until the client is closed.
func (c *Client) runNameServer(s *nameServer) {
	delay := search.MinPenalty
	said := ""
	for c.ctx.Err() == nil {
		began := time.Now()
		if err := c.serveNames(s); err != nil && err.Error() != said && c.ctx.Err() == nil {
			said = err.Error()
			c.config.Log.Warn("name server lost", "server", s.address, "err", err)
		}
		if time.Since(began) > search.GoodLife {
			delay = search.MinPenalty
		}
		select {
		case <-c.ctx.Done():
		case <-time.After(search.Jitter(delay)):
		}
		delay = min(2*delay, maxProbeDelay)
	}
}

// serveNames resolves a name server, and returns when the circuit to it is over.
// Of several addresses it takes the first that connects.
func (c *Client) serveNames(s *nameServer) error {
	addresses, err := c.config.Resolve.Addresses(c.ctx, s.address, c.config.ServerPort)
	if err != nil {
		c.metrics.lookupErrors.Inc()
		return err
	}
	for _, address := range addresses {
		circuit := c.pin(s, address)
		if circuit == nil {
			return nil
		}
		<-circuit.done
		err = context.Cause(circuit.ctx)
		c.mu.Lock()
		up := circuit.up
		c.mu.Unlock()
		if up {
			break
		}
	}
	return err
}

// pin gives a name server the circuit to an address; none if the client is closed.
func (c *Client) pin(s *nameServer, address netip.AddrPort) *circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil
	}
	s.circuit = c.circuitLocked(address, nil)
	s.circuit.pinned = true
	if s.circuit.up { // else the circuit does so when it is
		c.newsLocked()
	}
	return s.circuit
}

// search asks a name server for the names of some batches.
func (c *circuit) search(batches []batch) {
	c.send(func(dst []byte) []byte {
		for _, b := range batches {
			dst = b.append(dst, c.client.udp.sequence.Add(1), netip.AddrPort{}, c.flags())
		}
		return dst
	})
}

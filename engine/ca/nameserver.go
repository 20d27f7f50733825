package ca

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

// nameServer is a server that is asked over TCP where channels are. The circuit
// to it is like any other, and shared with the channels it serves itself, but it
// stays when it has none.
type nameServer struct {
	address string   // host[:port]
	circuit *circuit // guarded by Client.mu; nil between two
}

type nameServers []*nameServer

func newNameServers(config *Config) (nameServers, error) {
	var list nameServers
	for _, address := range config.NameServers {
		if _, _, err := splitAddress(address, config.ServerPort); err != nil {
			return nil, fmt.Errorf("reading the name servers: %w", err)
		}
		list = append(list, &nameServer{address: address})
	}
	return list, nil
}

// ready returns the circuits that can take searches. It needs Client.mu.
func (n nameServers) ready() []*circuit {
	var out []*circuit
	for _, s := range n {
		if s.circuit != nil && s.circuit.searches && s.circuit.ctx.Err() == nil {
			out = append(out, s.circuit)
		}
	}
	return out
}

// runNameServer keeps a circuit to a name server up until the client is closed.
func (c *Client) runNameServer(s *nameServer) {
	delay := minPenalty
	said := ""
	for c.ctx.Err() == nil {
		began := time.Now()
		if err := c.serveNames(s); err != nil && err.Error() != said && c.ctx.Err() == nil {
			said = err.Error()
			c.config.Log.Warn("name server lost", "server", s.address, "err", err)
		}
		if time.Since(began) > goodLife {
			delay = minPenalty
		}
		select {
		case <-c.ctx.Done():
		case <-time.After(jitter(delay)):
		}
		delay = min(2*delay, maxSearchDelay)
	}
}

// serveNames resolves a name server, and returns when the circuit to it is over.
// Of several addresses it takes the first that connects.
func (c *Client) serveNames(s *nameServer) error {
	addresses, err := c.config.resolve(c.ctx, s.address)
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
	if s.circuit = c.circuits[address]; s.circuit == nil { // penalties are not for these
		s.circuit = c.startLocked(address, nil)
	}
	s.circuit.pinned = true
	if s.circuit.searches { // else it is told when it greets
		c.hastenLocked()
	}
	return s.circuit
}

// greeted notes that a server told its revision, and whether that allows SEARCH
// over TCP. Then a name server is asked at once, for all that is searched for; one
// that does not is of no use, as with libca.
func (c *Client) greeted(circuit *circuit, searches bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-circuit.greeted:
		return // said before
	default:
	}
	close(circuit.greeted)
	circuit.searches = searches
	switch {
	case !circuit.pinned:
	case searches:
		c.hastenLocked()
	default:
		c.config.Log.Warn("name server takes no searches over TCP", "server", circuit.server)
	}
}

// search sends what goes in datagrams over the circuit, but for their VERSION.
func (c *circuit) search(datagrams [][]byte) {
	c.send(func(dst []byte) []byte {
		for _, d := range datagrams {
			dst = append(dst, d[proto.HeaderSize:]...)
		}
		return dst
	})
}

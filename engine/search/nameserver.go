package search

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// NameCircuit is a circuit to a name server. Channels that the server has itself share
// it, but it stays open without channels.
type NameCircuit interface {
	// PinLocked keeps the circuit open without channels, and TakesSearchesLocked reports
	// whether the server takes searches now. The lock is NameServerConfig.Mu.
	PinLocked()
	TakesSearchesLocked() bool
	// SendSearches sends searches for the names of batches.
	SendSearches(batches []Batch)
	// Done returns a channel that is closed when the circuit has ended. End then
	// returns whether it was up, and why it ended.
	Done() <-chan struct{}
	End() (up bool, cause error)
}

// NameServerConfig is how NameServers reach servers.
type NameServerConfig struct {
	// Mu is the client's lock, which guards the NameServers too.
	Mu      sync.Locker
	Port    uint16 // of addresses that name none
	Resolve Resolve
	// Circuit returns the circuit to an address, and starts one if there is none,
	// whatever penalty the server has. ok is false if the client is closed. Hasten
	// makes all names due now. Both need Mu.
	Circuit func(address netip.AddrPort) (c NameCircuit, ok bool)
	Hasten  func()

	Log          *slog.Logger
	LookUpErrors prometheus.Counter
}

// NameServers are servers that a client searches over TCP. It keeps a circuit to each.
type NameServers struct {
	NameServerConfig
	servers []*nameServer
}

type nameServer struct {
	address string      // host[:port]
	circuit NameCircuit // the latest; nil before the first
}

// NewNameServers returns the name servers of a list of addresses, host or host:port.
func NewNameServers(list []string, config NameServerConfig) (*NameServers, error) {
	n := &NameServers{NameServerConfig: config}
	for _, address := range list {
		if _, _, err := SplitAddress(address, n.Port); err != nil {
			return nil, fmt.Errorf("reading the name servers: %w", err)
		}
		n.servers = append(n.servers, &nameServer{address: address})
	}
	return n, nil
}

// ReadyLocked returns the circuits that take searches now. The lock is Mu.
func (n *NameServers) ReadyLocked() []NameCircuit {
	var out []NameCircuit
	for _, s := range n.servers {
		if s.circuit != nil && s.circuit.TakesSearchesLocked() {
			out = append(out, s.circuit)
		}
	}
	return out
}

// Start keeps circuits up until ctx ends, on goroutines that the client waits for. It
// logs why a circuit ended, once for the same cause in a row.
func (n *NameServers) Start(ctx context.Context, run func(func())) {
	for _, s := range n.servers {
		run(func() { n.run(ctx, s) })
	}
}

func (n *NameServers) run(ctx context.Context, s *nameServer) {
	delay := MinPenalty
	logged := ""
	for ctx.Err() == nil {
		began := time.Now()
		if err := n.serve(ctx, s); err != nil && err.Error() != logged && ctx.Err() == nil {
			logged = err.Error()
			n.Log.Warn("name server lost", "server", s.address, "err", err)
		}
		if time.Since(began) > GoodLife {
			delay = MinPenalty
		}
		select {
		case <-ctx.Done():
		case <-time.After(Jitter(delay)):
		}
		delay = min(2*delay, MaxDelay)
	}
}

// serve resolves a name server, and returns when the circuit to it has ended. Of
// several addresses it uses the first that connects.
func (n *NameServers) serve(ctx context.Context, s *nameServer) error {
	addresses, err := n.Resolve.Addresses(ctx, s.address, n.Port)
	if err != nil {
		n.LookUpErrors.Inc()
		return err
	}
	for _, address := range addresses {
		circuit, ok := n.pin(s, address)
		if !ok {
			return nil
		}
		<-circuit.Done()
		var up bool
		if up, err = circuit.End(); up {
			break
		}
	}
	return err
}

// pin pins the circuit to an address of a name server. ok is false if the client is
// closed.
func (n *NameServers) pin(s *nameServer, address netip.AddrPort) (circuit NameCircuit, ok bool) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	circuit, ok = n.Circuit(address)
	if !ok {
		return nil, false
	}
	s.circuit = circuit
	circuit.PinLocked()
	if circuit.TakesSearchesLocked() { // else the circuit hastens the search when it does
		n.Hasten()
	}
	return circuit, true
}

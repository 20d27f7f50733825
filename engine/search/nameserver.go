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

// NameCircuit is a circuit to a name server. The server's own channels use it too, but it
// stays open without channels.
type NameCircuit interface {
	// PinLocked keeps the circuit open without channels, and AcceptsSearchesLocked reports
	// whether the server accepts searches now. The lock is NameServerConfig.Mu.
	PinLocked()
	AcceptsSearchesLocked() bool
	// SendSearches sends searches for the names of batches.
	SendSearches(batches []Batch)
	// Done returns a channel that is closed when the circuit has ended. End then reports
	// whether the circuit was connected, and returns the cause of its end.
	Done() <-chan struct{}
	End() (up bool, cause error)
}

// NameServerConfig configures NameServers.
type NameServerConfig struct {
	// Mu is the client's lock, which guards the NameServers too.
	Mu      sync.Locker
	Port    uint16 // of addresses without a port
	Resolve Resolve
	// Circuit returns the circuit to an address. It starts one if there is none, even if the
	// server has a penalty. ok is false if the client is closed. Hasten makes all names due
	// now. NameServers holds Mu when it calls them.
	Circuit func(address netip.AddrPort) (c NameCircuit, ok bool)
	Hasten  func()

	Log          *slog.Logger
	LookUpErrors prometheus.Counter
}

// NameServers has the servers to which a client sends searches over TCP, and keeps a circuit
// to each of them.
type NameServers struct {
	NameServerConfig
	servers []*nameServer
}

type nameServer struct {
	address string      // host[:port]
	circuit NameCircuit // the latest circuit, or nil before the first one
}

// NewNameServers returns the name servers of a list of addresses. The addresses have the form
// host or host:port.
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

// List returns the addresses of the list, for users.
func (n *NameServers) List() (list []string) {
	for _, s := range n.servers {
		list = append(list, s.address)
	}
	return list
}

// ReadyLocked returns the circuits that accept searches now. The lock is Mu.
func (n *NameServers) ReadyLocked() []NameCircuit {
	var out []NameCircuit
	for _, s := range n.servers {
		if s.circuit != nil && s.circuit.AcceptsSearchesLocked() {
			out = append(out, s.circuit)
		}
	}
	return out
}

// Start starts goroutines that keep circuits open until ctx ends. run starts a goroutine for
// which the client waits. When a circuit ends, its goroutine logs the cause, unless it logged
// the same cause last time.
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
			n.Log.Warn("name server cannot be used", "server", s.address, "err", err)
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

// serve resolves the address of a name server, and returns when the circuit to the name server
// has ended. If the name server has several addresses, serve uses the first address to which
// it can connect.
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
	if circuit.AcceptsSearchesLocked() { // otherwise the circuit hastens the search when the server accepts searches
		n.Hasten()
	}
	return circuit, true
}

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

// NameCircuit is a circuit to a name server. It is like any other, and shared with the
// channels that the server has itself, but it stays when there are none.
type NameCircuit interface {
	// Pin has the circuit last without channels, and TakesNames reports whether it can
	// be asked now. They need Naming.Mu.
	Pin()
	TakesNames() bool
	// Done is closed when the circuit is over. Then End says whether it was up, and
	// why it ended.
	Done() <-chan struct{}
	End() (up bool, cause error)
}

// Naming is how NameServers reach servers.
type Naming[C NameCircuit] struct {
	// Mu is that of the client, which guards the NameServers too.
	Mu      sync.Locker
	Port    uint16 // of addresses that have none
	Resolve Resolve
	// Circuit returns the circuit to an address, and starts one if there is none,
	// whatever penalty the server has. ok is false if the client is closed. Hasten has
	// all names searched for now. They need Mu.
	Circuit func(address netip.AddrPort) (c C, ok bool)
	Hasten  func()

	Log          *slog.Logger
	LookUpErrors prometheus.Counter
}

// NameServers are servers that are asked over TCP where channels are, and that a
// client keeps circuits to.
type NameServers[C NameCircuit] struct {
	Naming[C]
	servers []*nameServer[C]
}

type nameServer[C NameCircuit] struct {
	address string // host[:port]
	circuit C      // the latest, if there was one
	asked   bool   // there was
}

// NewNameServers returns the name servers of a list of addresses, host or host:port.
func NewNameServers[C NameCircuit](list []string, how Naming[C]) (*NameServers[C], error) {
	n := &NameServers[C]{Naming: how}
	for _, address := range list {
		if _, _, err := SplitAddress(address, n.Port); err != nil {
			return nil, fmt.Errorf("reading the name servers: %w", err)
		}
		n.servers = append(n.servers, &nameServer[C]{address: address})
	}
	return n, nil
}

// Ready returns the circuits that can be asked. It needs Mu.
func (n *NameServers[C]) Ready() []C {
	var out []C
	for _, s := range n.servers {
		if s.asked && s.circuit.TakesNames() {
			out = append(out, s.circuit)
		}
	}
	return out
}

// Start keeps circuits up until ctx ends, on goroutines that the client waits for. It
// logs why there is none, once for the same cause in a row.
func (n *NameServers[C]) Start(ctx context.Context, run func(func())) {
	for _, s := range n.servers {
		run(func() { n.run(ctx, s) })
	}
}

func (n *NameServers[C]) run(ctx context.Context, s *nameServer[C]) {
	delay := MinPenalty
	said := ""
	for ctx.Err() == nil {
		began := time.Now()
		if err := n.serve(ctx, s); err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
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

// serve resolves a name server, and returns when the circuit to it is over. Of several
// addresses it takes the first that connects.
func (n *NameServers[C]) serve(ctx context.Context, s *nameServer[C]) error {
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

// pin gives a name server the circuit to an address; none if the client is closed.
func (n *NameServers[C]) pin(s *nameServer[C], address netip.AddrPort) (circuit C, ok bool) {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	circuit, ok = n.Circuit(address)
	if !ok {
		return circuit, false
	}
	s.circuit, s.asked = circuit, true
	circuit.Pin()
	if circuit.TakesNames() { // else the circuit hastens the search when it does
		n.Hasten()
	}
	return circuit, true
}

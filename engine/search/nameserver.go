package search

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// NameServer is a server that is asked over TCP where channels are, and that a
// client keeps a circuit to.
type NameServer struct {
	Address string // host[:port]
	Port    uint16 // of an address that has none
	Resolve Resolve
	// Connect has a circuit to an address, and returns when that is over: whether it
	// was up, and the cause of its end.
	Connect func(address netip.AddrPort) (up bool, cause error)

	Log          *slog.Logger
	LookUpErrors prometheus.Counter
}

// Check reports an address that is wrong.
func (s *NameServer) Check() error {
	if _, _, err := SplitAddress(s.Address, s.Port); err != nil {
		return fmt.Errorf("reading the name servers: %w", err)
	}
	return nil
}

// Run keeps a circuit up until ctx ends. It logs why there is none, once for the same
// cause in a row.
func (s *NameServer) Run(ctx context.Context) {
	delay := MinPenalty
	said := ""
	for ctx.Err() == nil {
		began := time.Now()
		if err := s.connect(ctx); err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			s.Log.Warn("name server lost", "server", s.Address, "err", err)
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

// connect resolves the name, and returns when the circuit to it is over. Of several
// addresses it takes the first that connects.
func (s *NameServer) connect(ctx context.Context) error {
	addresses, err := s.Resolve.Addresses(ctx, s.Address, s.Port)
	if err != nil {
		s.LookUpErrors.Inc()
		return err
	}
	for _, address := range addresses {
		var up bool
		if up, err = s.Connect(address); up || ctx.Err() != nil {
			break
		}
	}
	return err
}

package ioc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/ioc/ca"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/pva"
	"varve.dev/varve/ioc/sim"
)

// Server serves the PVs of a Config.
type Server struct {
	set      *sim.Set
	sched    *sim.Schedule
	services []*service
	ca       *service
	pva      *service // nil without pvAccess
}

// New checks a configuration and binds its ports. The PVs start to change immediately. Run
// frees the ports when it returns; Close frees them if Run is not called.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	set, err := cfg.Set()
	if err != nil {
		return nil, fmt.Errorf("simulating an IOC: %w", err)
	}
	s := &Server{set: set, sched: sim.NewSchedule(time.Now(), cfg.Rate)}
	if err := s.bind(&cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	register(cfg.Registerer, s.services)
	return s, nil
}

// bind opens the services of a configuration.
func (s *Server) bind(cfg *Config) (err error) {
	circuits := func(v *service) circuit.Config {
		return circuit.Config{Schedule: s.sched, Counts: &v.counts, MaxLag: cfg.MaxLag}
	}
	if s.ca, err = s.open(cfg, "ca", cfg.Listen, cfg.Beacons); err != nil {
		return fmt.Errorf("serving Channel Access: %w", err)
	}
	s.ca.protocol = &ca.Server{Set: s.set, Addr: s.ca.addr, Circuits: circuits(s.ca)}
	if cfg.PVAListen == "" {
		return nil
	}
	if s.pva, err = s.open(cfg, "pva", cfg.PVAListen, cfg.PVABeacons); err != nil {
		return fmt.Errorf("serving pvAccess: %w", err)
	}
	s.pva.protocol = pva.NewServer(s.set, s.pva.addr, circuits(s.pva))
	if cfg.PVASearch == "" {
		return nil
	}
	return s.pva.share(cfg.PVASearch)
}

func (s *Server) open(cfg *Config, name, listen string, beacons []string) (*service, error) {
	v, err := open(name, listen, beacons, cfg.Log)
	if err == nil {
		s.services = append(s.services, v)
	}
	return v, err
}

// Addr returns the address of circuits and searches of Channel Access.
func (s *Server) Addr() netip.AddrPort { return s.ca.addr }

// PVAAddr returns the address of pvAccess, or the zero address if the server has no pvAccess.
func (s *Server) PVAAddr() netip.AddrPort {
	if s.pva == nil {
		return netip.AddrPort{}
	}
	return s.pva.addr
}

// Close frees the ports of a server that does not run.
func (s *Server) Close() (err error) {
	for _, v := range s.services {
		err = errors.Join(err, v.close())
	}
	return err
}

// Run serves until ctx is done. Then it ends all circuits and returns nil. A server can run
// only once.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() {
		_ = s.Close() // ends the loops of the services
	})
	defer stop()
	for _, v := range s.services {
		group.Go(func() error { return v.accept(ctx) })
		for _, udp := range v.udp {
			group.Go(func() error { return v.answerSearches(udp) })
		}
		if len(v.beacons) > 0 {
			group.Go(func() error { return v.sendBeacons(ctx) })
		}
	}
	return group.Wait()
}

// isClosed reports whether an error means that the server is shutting down.
func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }

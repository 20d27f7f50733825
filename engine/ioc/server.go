package ioc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// bindTries is how often New looks for a port that is free for TCP and for UDP.
const bindTries = 16

// Server serves the PVs of a Config.
type Server struct {
	cfg   Config
	names *names
	sched *schedule
	stats counters
	tcp   *net.TCPListener
	udp   *net.UDPConn
	addr  netip.AddrPort
}

// New checks a configuration and binds its port. The PVs begin to change now.
// Run, or else Close, frees the port.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("simulating an IOC: %w", err)
	}
	n, err := newNames(&cfg)
	if err != nil {
		return nil, fmt.Errorf("simulating an IOC: %w", err)
	}
	s := &Server{cfg: cfg, names: n, sched: newSchedule(time.Now(), cfg.Rate)}
	if err := s.bind(); err != nil {
		return nil, err
	}
	s.stats.register(cfg.Registerer)
	return s, nil
}

// bind binds one port for TCP and UDP.
func (s *Server) bind() error {
	want, err := net.ResolveTCPAddr("tcp4", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("resolving the address %q to listen on: %w", s.cfg.Listen, err)
	}
	for try := 1; ; try++ {
		err := s.bindTo(want)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("listening on %s: %w", s.cfg.Listen, err)
		}
		if want.Port != 0 || try == bindTries {
			return fmt.Errorf("listening on %s: the port is in use, maybe by another IOC: %w", s.cfg.Listen, err)
		}
	}
}

func (s *Server) bindTo(want *net.TCPAddr) error {
	tcp, err := net.ListenTCP("tcp4", want)
	if err != nil {
		return err
	}
	s.addr = tcp.Addr().(*net.TCPAddr).AddrPort()
	udp, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(s.addr))
	if err != nil {
		_ = tcp.Close()
		return err
	}
	s.tcp, s.udp = tcp, udp
	return nil
}

// Addr returns the address of circuits and searches.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// Close frees the port of a server that is not run.
func (s *Server) Close() error { return errors.Join(s.tcp.Close(), s.udp.Close()) }

// Run serves until ctx is done, and then ends all circuits and returns nil. A
// server runs once.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() {
		_ = s.Close() // both loops below end with it
	})
	defer stop()
	group.Go(func() error { return s.accept(ctx) })
	group.Go(func() error { return answerSearches(s.udp, s.names, s.addr, s.cfg.Log) })
	return group.Wait()
}

// accept serves circuits until the listener is closed and all have ended.
func (s *Server) accept(ctx context.Context) error {
	var circuits sync.WaitGroup
	defer circuits.Wait()
	for {
		conn, err := s.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			// Circuits end when ctx does, which is when both loops have: say it first.
			_ = s.Close()
			return fmt.Errorf("accepting a circuit: %w", err)
		}
		circuits.Go(func() { s.serve(ctx, conn) })
	}
}

// serve serves one client.
func (s *Server) serve(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() {
		_ = conn.Close()
	})
	defer stop()
	s.stats.circuits.Add(1)
	defer s.stats.circuits.Add(-1)
	client := conn.RemoteAddr().String()
	s.cfg.Log.Debug("circuit began", "client", client)
	err := newCircuit(s, meter{conn, &s.stats.bytes}).run(conn)
	hungUp := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if err != nil && !hungUp && ctx.Err() == nil {
		s.cfg.Log.Warn("circuit broke", "client", client, "err", err)
		return
	}
	s.cfg.Log.Debug("circuit ended", "client", client)
}

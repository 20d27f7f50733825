package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// receiveBuffer is the size of the socket's receive buffer, for bursts of answers.
const receiveBuffer = 1 << 20

// Socket sends searches as datagrams, and receives the answers.
type Socket struct {
	To *Destinations

	conn         *net.UDPConn // nil if there are no destinations
	log          *slog.Logger
	sent, failed prometheus.Counter // numbers of datagrams
}

// NewSocket opens a socket if there are destinations. sent counts the datagrams that were
// sent, and failed counts those that could not be sent or received.
func NewSocket(to *Destinations, log *slog.Logger, sent, failed prometheus.Counter) (*Socket, error) {
	s := &Socket{To: to, log: log, sent: sent, failed: failed}
	if to.Empty() {
		return s, nil
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, fmt.Errorf("opening the search socket: %w", err)
	}
	_ = conn.SetReadBuffer(receiveBuffer) // the operating system may choose a smaller size
	s.conn = conn
	return s, nil
}

// Port returns the port on which answers arrive, or 0 if there are no destinations.
func (s *Socket) Port() uint16 {
	if s.conn == nil {
		return 0
	}
	return s.conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
}

// Close closes the socket, which ends Receive.
func (s *Socket) Close() {
	if s.conn != nil {
		_ = s.conn.Close() // an error has no effect now
	}
}

// Send sends datagrams to all destinations. Before each datagram it calls prepare, which may
// be nil, to adapt the datagram to its destination. If a datagram cannot be sent, Send skips
// the rest of the datagrams for this destination. They are like lost ones: the client searches
// for their names again.
func (s *Socket) Send(datagrams [][]byte, prepare func(datagram []byte, to netip.Addr)) {
	if s.conn == nil {
		return
	}
	for _, to := range s.To.Addresses() {
		for _, d := range datagrams {
			if prepare != nil {
				prepare(d, to.Addr())
			}
			if _, err := s.conn.WriteToUDPAddrPort(d, to); err != nil {
				s.failed.Inc()
				s.log.Debug("search datagram not sent", "to", to, "err", err)
				break
			}
			s.sent.Inc()
		}
	}
	s.To.Searched()
}

// Receive passes received datagrams to handle until the socket is closed.
func (s *Socket) Receive(ctx context.Context, handle func(datagram []byte, from netip.Addr)) {
	if s.conn != nil {
		Receive(ctx, s.conn, s.failed, handle)
	}
}

// Receive passes the datagrams that a socket receives to handle until the socket is closed. It
// counts failed reads.
func Receive(ctx context.Context, conn *net.UDPConn, failed prometheus.Counter, handle func(datagram []byte, from netip.Addr)) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			handle(buf[:n], from.Addr().Unmap())
		case errors.Is(err, net.ErrClosed):
			return
		default: // a temporary error of the operating system
			failed.Inc()
			select {
			case <-ctx.Done():
			case <-time.After(MinDelay):
			}
		}
	}
}

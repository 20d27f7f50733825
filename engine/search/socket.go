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

// Socket sends the datagrams of searches, and receives the answers.
type Socket struct {
	To *Destinations

	conn         *net.UDPConn // nil if there are no destinations
	log          *slog.Logger
	sent, failed prometheus.Counter // datagrams
}

// NewSocket opens a socket if there are destinations. It counts the datagrams that
// were sent, and those that could not be sent or received.
func NewSocket(to *Destinations, log *slog.Logger, sent, failed prometheus.Counter) (*Socket, error) {
	s := &Socket{To: to, log: log, sent: sent, failed: failed}
	if to.Empty() {
		return s, nil
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, fmt.Errorf("opening the search socket: %w", err)
	}
	_ = conn.SetReadBuffer(receiveBuffer) // the operating system may give less
	s.conn = conn
	return s, nil
}

// Port returns the port that answers come to, 0 if there are no destinations.
func (s *Socket) Port() uint16 {
	if s.conn == nil {
		return 0
	}
	return s.conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
}

// Close ends Receive.
func (s *Socket) Close() {
	if s.conn != nil {
		_ = s.conn.Close() // no error can matter now
	}
}

// Send sends datagrams to all destinations. prepare, if it is not nil, prepares a datagram
// for its destination. A datagram that cannot be sent is like a lost one: the client
// searches for its names again.
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

// Receive passes the datagrams that come to handle, until the socket is closed.
func (s *Socket) Receive(ctx context.Context, handle func(datagram []byte, from netip.Addr)) {
	if s.conn != nil {
		Receive(ctx, s.conn, s.failed, handle)
	}
}

// Receive passes the datagrams of a socket to handle, until the socket is closed.
func Receive(ctx context.Context, conn *net.UDPConn, failed prometheus.Counter, handle func(datagram []byte, from netip.Addr)) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			handle(buf[:n], from.Addr().Unmap())
		case errors.Is(err, net.ErrClosed):
			return
		default: // a passing error of the operating system
			failed.Inc()
			select {
			case <-ctx.Done():
			case <-time.After(MinDelay):
			}
		}
	}
}

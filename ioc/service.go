package ioc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"varve.dev/varve/ioc/circuit"
)

// bindTries is the maximum number of tries to find a port that is free for TCP and UDP.
const bindTries = 16

// maxDatagram is the maximum size of a UDP payload.
const maxDatagram = 1<<16 - 1

// protocol is the protocol of a service.
type protocol interface {
	// Serve serves one client until the client disconnects or conn is closed. It closes conn.
	Serve(conn net.Conn) error
	// AppendAnswer appends the answer to a datagram of searches, and returns the address to
	// which the caller must send it. It appends nothing if there is no answer.
	AppendAnswer(dst, request []byte, from netip.AddrPort) (answer []byte, to netip.AddrPort)
	// AppendBeacon appends beacon n. The first beacon has number 0, and the next one follows
	// after BeaconInterval.
	AppendBeacon(dst []byte, n uint32) []byte
	BeaconInterval(n uint32) time.Duration
}

// service serves one protocol on one port.
type service struct {
	name     string
	protocol protocol
	counts   circuit.Counts
	log      *slog.Logger
	tcp      *net.TCPListener
	udp      []*net.UDPConn
	addr     netip.AddrPort
	beacons  []netip.AddrPort
}

// open binds one port for TCP and UDP.
func open(name, listen string, beacons []string, log *slog.Logger) (*service, error) {
	v := &service{name: name, log: log.With("protocol", name)}
	for _, b := range beacons {
		to, err := net.ResolveUDPAddr("udp4", b)
		if err != nil {
			return nil, fmt.Errorf("resolving the address %q to send beacons to: %w", b, err)
		}
		v.beacons = append(v.beacons, to.AddrPort())
	}
	want, err := net.ResolveTCPAddr("tcp4", listen)
	if err != nil {
		return nil, fmt.Errorf("resolving the address %q to listen on: %w", listen, err)
	}
	for try := 1; ; try++ {
		err := v.bindTo(want)
		if err == nil {
			return v, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listening on %s: %w", listen, err)
		}
		if want.Port != 0 || try == bindTries {
			return nil, fmt.Errorf("listening on %s: the port is in use, maybe by another IOC: %w", listen, err)
		}
	}
}

func (v *service) bindTo(want *net.TCPAddr) error {
	tcp, err := net.ListenTCP("tcp4", want)
	if err != nil {
		return err
	}
	v.addr = tcp.Addr().(*net.TCPAddr).AddrPort()
	udp, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(v.addr))
	if err != nil {
		_ = tcp.Close()
		return err
	}
	v.tcp, v.udp = tcp, []*net.UDPConn{udp}
	return nil
}

// share also receives searches at another address, which other programs may have bound as
// well. A broadcast reaches all these programs. Any other datagram reaches only the program
// that bound the address last.
func (v *service) share(address string) error {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
		})
		return errors.Join(failed, err)
	}}
	conn, err := lc.ListenPacket(context.Background(), "udp4", address)
	if err != nil {
		return fmt.Errorf("listening for searches on %s: %w", address, err)
	}
	v.udp = append(v.udp, conn.(*net.UDPConn))
	return nil
}

func (v *service) close() error {
	err := v.tcp.Close()
	for _, udp := range v.udp {
		err = errors.Join(err, udp.Close())
	}
	return err
}

// accept serves circuits until the listener is closed and all circuits have ended.
func (v *service) accept(ctx context.Context) error {
	var circuits sync.WaitGroup
	defer circuits.Wait()
	for {
		conn, err := v.tcp.Accept()
		if isClosed(err) {
			return nil
		}
		if err != nil {
			// ctx ends only when all loops have returned, and circuits end with ctx. Close the
			// sockets first, so that the other loops return.
			_ = v.close()
			return fmt.Errorf("accepting a circuit: %w", err)
		}
		circuits.Go(func() { v.serve(ctx, conn) })
	}
}

// serve serves one client.
func (v *service) serve(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() {
		_ = conn.Close()
	})
	defer stop()
	client := conn.RemoteAddr().String()
	v.log.Debug("circuit began", "client", client)
	err := v.protocol.Serve(conn)
	hungUp := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	if err != nil && !hungUp && ctx.Err() == nil {
		v.log.Warn("circuit failed", "client", client, "err", err)
		return
	}
	v.log.Debug("circuit ended", "client", client)
}

// answerSearches answers datagrams until conn is closed.
func (v *service) answerSearches(conn *net.UDPConn) error {
	in, out := make([]byte, maxDatagram), []byte(nil)
	for {
		size, from, err := conn.ReadFromUDPAddrPort(in)
		if isClosed(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receiving searches: %w", err)
		}
		var to netip.AddrPort
		if out, to = v.protocol.AppendAnswer(out[:0], in[:size], from); len(out) == 0 {
			continue
		}
		if _, err := conn.WriteToUDPAddrPort(out, to); err != nil && !isClosed(err) {
			v.log.Debug("could not answer a search", "client", from, "err", err) // the client will search again
		}
	}
}

// sendBeacons sends beacons until ctx ends.
func (v *service) sendBeacons(ctx context.Context) error {
	var b []byte
	for n := uint32(0); ; n++ {
		b = v.protocol.AppendBeacon(b[:0], n)
		for _, to := range v.beacons {
			if _, err := v.udp[0].WriteToUDPAddrPort(b, to); err != nil && !isClosed(err) {
				v.log.Debug("could not send a beacon", "to", to, "err", err) // the next one may arrive
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(v.protocol.BeaconInterval(n)):
		}
	}
}

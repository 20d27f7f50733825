package ca

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/search"
)

// registerInterval is the average time between two registrations with a repeater. At the same
// interval the client also tries to become the repeater, because the other repeater may have
// stopped.
const registerInterval = 5 * time.Second

// beacons receives the beacons of servers, from the network or from a repeater:
//
//	port free ──▶ beacons of servers ─┬▶ detector ──anomaly──▶ search
//	              registrations ──▶ repeater ──▶ other clients of this host
//	port taken ─▶ register, listen ─▶ detector
//
// One goroutine does all of it.
type beacons struct {
	client   *Client
	ctx      context.Context
	port     uint16
	detector anomalyDetector
	anomaly  func() // is called for each beacon anomaly
}

func newBeacons(c *Client) *beacons {
	return &beacons{
		client: c, ctx: c.kernel.Context(), port: c.config.RepeaterPort, anomaly: c.kernel.BeaconAnomaly,
		detector: anomalyDetector{began: time.Now(), servers: map[netip.AddrPort]*beaconSource{}},
	}
}

// run receives beacons until the client is closed.
func (b *beacons) run() {
	own, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.client.config.Log.Warn("beacons cannot be received: the socket could not be opened", "err", err)
		return
	}
	defer own.Close()
	stop := context.AfterFunc(b.ctx, func() { _ = own.Close() })
	defer stop()
	for b.ctx.Err() == nil {
		if conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: int(b.port)}); err == nil {
			b.repeat(conn)
			continue
		}
		b.register(own)
		b.receive(own, time.Now().Add(search.Jitter(registerInterval)), nil)
	}
}

// register registers with the repeater of this host. If there is none, the datagram is
// lost, and run registers again.
func (b *beacons) register(own *net.UDPConn) {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	request := proto.AppendRepeaterRegister(nil, loopback)
	if _, err := own.WriteToUDPAddrPort(request, netip.AddrPortFrom(loopback, b.port)); err != nil {
		b.client.config.Log.Debug("registration not sent", "err", err)
	}
}

// repeat makes this client the host's repeater until the client is closed.
func (b *beacons) repeat(conn *net.UDPConn) {
	defer conn.Close()
	stop := context.AfterFunc(b.ctx, func() { _ = conn.Close() })
	defer stop()
	rep := newRepeater(b.client.metrics)
	defer rep.close()
	b.receive(conn, time.Time{}, rep)
}

// receive handles datagrams until a deadline, or until the socket is closed. rep is nil
// if this client is not the repeater.
func (b *beacons) receive(conn *net.UDPConn, until time.Time, rep *repeater) {
	if err := conn.SetReadDeadline(until); err != nil {
		return
	}
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			b.handleDatagram(buf[:n], from, rep)
		case b.ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
			return
		default: // a temporary error of the operating system
			b.pause()
		}
	}
}

// pause waits a little, so that a permanent error does not use a whole CPU.
func (b *beacons) pause() {
	select {
	case <-b.ctx.Done():
	case <-time.After(search.MinDelay):
	}
}

// handleDatagram handles the messages of one datagram. It stops at a message that does not
// parse.
func (b *beacons) handleDatagram(d []byte, from netip.AddrPort, rep *repeater) {
	if len(d) == 0 && rep != nil { // old clients register with an empty datagram
		rep.register(from)
	}
	for len(d) > 0 {
		var h proto.Header
		_, n, err := proto.ReadFrame(d, &h, uint32(len(d)))
		if err != nil {
			return
		}
		d = d[n:]
		switch {
		case h.Command == proto.CmdBeacon:
			b.handleBeacon(&h, from.Addr(), rep)
		case h.Command == proto.CmdRepRegister && rep != nil:
			rep.register(from)
		}
	}
}

// handleBeacon forwards a beacon if this client is the repeater. If the beacon is an anomaly,
// handleBeacon makes the client search sooner.
func (b *beacons) handleBeacon(h *proto.Header, from netip.Addr, rep *repeater) {
	m := b.client.metrics
	m.Beacons.Inc()
	beacon := proto.ParseBeacon(h, from)
	if rep != nil {
		rep.send(proto.AppendBeacon(nil, beacon))
	}
	if beacon.Server.Port() == 0 {
		beacon.Server = netip.AddrPortFrom(beacon.Server.Addr(), b.client.config.ServerPort)
	}
	if b.detector.note(beacon, time.Now()) {
		m.anomalies.Inc()
		b.anomaly()
	}
}

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

// registerInterval is about the time between two registrations with a repeater,
// and between two attempts to be the repeater: it may have ended.
const registerInterval = 5 * time.Second

// beacons hears the beacons of servers, from the network or a repeater:
//
//	port free ──▶ beacons of servers ─┬▶ watch ──news──▶ search
//	              registrations ──▶ repeater ──▶ other clients of this host
//	port taken ─▶ register, listen ─▶ watch
//
// All is one goroutine's.
type beacons struct {
	client *Client
	port   uint16
	watch  beaconWatch
	heard  func() // news
}

func newBeacons(c *Client) *beacons {
	return &beacons{
		client: c, port: c.config.RepeaterPort, heard: c.heard,
		watch: beaconWatch{began: time.Now(), servers: map[netip.AddrPort]*pulsar{}},
	}
}

// run hears beacons until the client is closed.
func (b *beacons) run() {
	ctx := b.client.ctx
	own, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.client.config.Log.Warn("no beacons are heard", "err", err)
		return
	}
	defer own.Close()
	stop := context.AfterFunc(ctx, func() { _ = own.Close() })
	defer stop()
	for ctx.Err() == nil {
		if conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: int(b.port)}); err == nil {
			b.repeat(conn)
			continue
		}
		b.register(own)
		b.receive(own, time.Now().Add(search.Jitter(registerInterval)), nil)
	}
}

// register asks the repeater of this host for beacons. Where there is none, that
// is lost, and done again.
func (b *beacons) register(own *net.UDPConn) {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	request := proto.AppendRepeaterRegister(nil, loopback)
	if _, err := own.WriteToUDPAddrPort(request, netip.AddrPortFrom(loopback, b.port)); err != nil {
		b.client.config.Log.Debug("registration not sent", "err", err)
	}
}

// repeat is the host's repeater until the client is closed.
func (b *beacons) repeat(conn *net.UDPConn) {
	defer conn.Close()
	stop := context.AfterFunc(b.client.ctx, func() { _ = conn.Close() })
	defer stop()
	rep := newRepeater(b.client.metrics)
	defer rep.close()
	b.receive(conn, time.Time{}, rep)
}

// receive handles datagrams until a time, or until the socket is closed; rep is
// nil if this is not the repeater.
func (b *beacons) receive(conn *net.UDPConn, until time.Time, rep *repeater) {
	if err := conn.SetReadDeadline(until); err != nil {
		return
	}
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			b.datagram(buf[:n], from, rep)
		case b.client.ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
			return
		default: // of the kernel, and passing
			b.pause()
		}
	}
}

// pause keeps an error that lasts from taking all of a processor.
func (b *beacons) pause() {
	select {
	case <-b.client.ctx.Done():
	case <-time.After(search.MinDelay):
	}
}

// datagram handles the messages of one datagram. What does not parse ends it.
func (b *beacons) datagram(d []byte, from netip.AddrPort, rep *repeater) {
	if len(d) == 0 && rep != nil { // how old clients register
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
			b.beacon(&h, from.Addr(), rep)
		case h.Command == proto.CmdRepRegister && rep != nil:
			rep.register(from)
		}
	}
}

// beacon repeats a beacon, and looks whether it tells news.
func (b *beacons) beacon(h *proto.Header, from netip.Addr, rep *repeater) {
	m := b.client.metrics
	m.beacons.Inc()
	beacon := proto.ParseBeacon(h, from)
	if rep != nil {
		rep.send(proto.AppendBeacon(nil, beacon))
	}
	if beacon.Server.Port() == 0 {
		beacon.Server = netip.AddrPortFrom(beacon.Server.Addr(), b.client.config.ServerPort)
	}
	if b.watch.see(beacon, time.Now()) {
		m.news.Inc()
		b.heard()
	}
}

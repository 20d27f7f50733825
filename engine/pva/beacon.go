package pva

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

// maxServers limits the number of servers whose beacons the client remembers. A forgotten
// server counts as new, which costs a few searches.
const maxServers = 1 << 14

// beacons receives the beacons that servers broadcast while they are up. It binds only the
// broadcast addresses, and not the host's own addresses. Otherwise the operating system might
// deliver searches to it that are for a server on this host. If another program has the port
// for itself, the client receives no beacons, and finds channels a little later.
type beacons struct {
	client *Client
	conns  []*net.UDPConn

	mu   sync.Mutex
	seen map[netip.AddrPort]proto.GUID
}

// start starts to receive beacons if the client searches by UDP.
func (b *beacons) start(c *Client) {
	b.client, b.seen = c, map[netip.AddrPort]proto.GUID{}
	if c.kernel.Socket().Port() == 0 {
		return
	}
	for _, ip := range c.udp.beaconAddresses() {
		conn, err := listenShared(c.kernel.Context(), netip.AddrPortFrom(ip, c.config.BroadcastPort))
		if err != nil {
			c.config.Log.Debug("beacons cannot be received: the socket could not be opened", "address", ip, "err", err)
			continue
		}
		b.conns = append(b.conns, conn)
		c.kernel.Go(func() { search.Receive(c.kernel.Context(), conn, c.metrics.DatagramErrors, b.handleDatagram) })
	}
}

func (b *beacons) close() {
	for _, conn := range b.conns {
		_ = conn.Close() // ends search.Receive
	}
}

// beaconAddresses returns the broadcast and multicast addresses to which servers send beacons.
func (u *udp) beaconAddresses() []netip.Addr {
	var out []netip.Addr
	for _, ip := range u.broadcasts {
		switch {
		case ip.IsLoopback():
			out = append(out, netip.AddrFrom4([4]byte{127, 255, 255, 255}))
		default:
			out = append(out, ip)
		}
	}
	for _, to := range u.client.kernel.Socket().To.Addresses() {
		if to.Addr().IsMulticast() {
			out = append(out, to.Addr())
		}
	}
	return out
}

// listenShared opens a socket for a broadcast or multicast address. Every program on this host
// that listens on this address gets the datagrams.
func listenShared(ctx context.Context, at netip.AddrPort) (*net.UDPConn, error) {
	if at.Addr().IsMulticast() {
		return net.ListenMulticastUDP("udp4", nil, net.UDPAddrFromAddrPort(at))
	}
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) {
			set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
		})
		if err != nil {
			return err
		}
		return set
	}}
	conn, err := lc.ListenPacket(ctx, "udp4", net.JoinHostPort(at.Addr().String(), strconv.Itoa(int(at.Port()))))
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// handleDatagram handles a datagram with a beacon. If the server is new, handleDatagram makes
// the client search sooner, because the server may have channels that the client searches for.
func (b *beacons) handleDatagram(d []byte, from netip.Addr) {
	var h proto.Header
	payload, _, err := proto.ReadFrame(d, &h, uint32(len(d)))
	if _, control := h.Control(); err != nil || control || h.Command != proto.CmdBeacon {
		return
	}
	r := proto.NewReader(payload, h.Order())
	beacon, err := proto.ParseBeacon(&r)
	if err != nil || beacon.Protocol != "tcp" {
		return
	}
	server := beacon.Server
	if !server.Addr().IsValid() {
		server = netip.AddrPortFrom(from, server.Port())
	}
	b.client.metrics.Beacons.Inc()
	if b.isNew(server, beacon.GUID) {
		b.client.kernel.BeaconAnomaly()
	}
}

// isNew reports whether a server is new at its address, or has restarted.
func (b *beacons) isNew(server netip.AddrPort, guid proto.GUID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	old, known := b.seen[server]
	if !known && len(b.seen) >= maxServers {
		clear(b.seen)
	}
	b.seen[server] = guid
	return !known || old != guid
}

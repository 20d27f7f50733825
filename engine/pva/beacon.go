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

// maxServers bounds the servers whose beacons are remembered. A forgotten one is
// taken for new, which costs a few searches.
const maxServers = 1 << 14

// beacons receives what servers broadcast as long as they are up. It binds the
// broadcast addresses only, and not all of the host's: else the kernel might give it
// the searches that are for a server on this host. Without it, as where another
// program has the port for itself, channels are found a little later.
type beacons struct {
	client *Client
	conns  []*net.UDPConn

	mu   sync.Mutex
	seen map[netip.AddrPort]proto.GUID
}

// start begins to receive, if there is anybody to search by UDP.
func (b *beacons) start(c *Client) {
	b.client, b.seen = c, map[netip.AddrPort]proto.GUID{}
	if c.udp.Port() == 0 {
		return
	}
	for _, ip := range c.udp.beaconAddresses() {
		conn, err := listenShared(c.ctx, netip.AddrPortFrom(ip, c.config.BroadcastPort))
		if err != nil {
			c.config.Log.Debug("no beacons received", "address", ip, "err", err)
			continue
		}
		b.conns = append(b.conns, conn)
		c.wg.Go(func() { search.Receive(c.ctx, conn, c.metrics.datagramErrors, b.datagram) })
	}
}

func (b *beacons) close() {
	for _, conn := range b.conns {
		_ = conn.Close() // ends receive
	}
}

// beaconAddresses returns the addresses that servers send beacons to and which are
// not those of hosts.
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
	for _, to := range u.To.Addresses() {
		if to.Addr().IsMulticast() {
			out = append(out, to.Addr())
		}
	}
	return out
}

// listenShared opens a socket for a broadcast or multicast address, of which every
// program on this host that listens gets the datagrams.
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

// datagram handles a datagram with a beacon. A server that was not there before, or
// is another one now, may have what is searched for.
func (b *beacons) datagram(d []byte, from netip.Addr) {
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
	b.client.metrics.beacons.Inc()
	if b.isNew(server, beacon.GUID) {
		b.client.heard()
	}
}

// isNew reports whether a server was not there before, or had another life.
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

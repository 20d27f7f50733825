package ca

import (
	"net"
	"net/netip"

	"varve.dev/varve/engine/ca/proto"
)

// maxListeners limits the number of clients that a repeater serves. Each client needs a
// socket.
const maxListeners = 256

// repeater forwards beacons to the other clients of this host, as caRepeater of EPICS base
// does. The repeater has a connected socket for each client. Sending on it fails when the
// client has stopped.
type repeater struct {
	metrics   *metrics
	listeners map[netip.AddrPort]*net.UDPConn
}

func newRepeater(m *metrics) *repeater {
	return &repeater{metrics: m, listeners: map[netip.AddrPort]*net.UDPConn{}}
}

// register adds a client of this host, and sends it a confirmation. Clients on other hosts
// receive beacons by themselves.
func (r *repeater) register(from netip.AddrPort) {
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	if !isOwn(from.Addr()) {
		return
	}
	// This additional message detects clients that have stopped.
	r.send(proto.AppendVersion(nil, 0))
	if r.listeners[from] == nil {
		if len(r.listeners) >= maxListeners {
			return
		}
		conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(from))
		if err != nil {
			return // the client registers again later
		}
		r.listeners[from] = conn
	}
	r.sendTo(from, proto.AppendRepeaterConfirm(nil, from.Addr()))
	r.metrics.listeners.Set(float64(len(r.listeners)))
}

// send sends a message to all clients.
func (r *repeater) send(message []byte) {
	for to := range r.listeners {
		r.sendTo(to, message)
	}
	r.metrics.listeners.Set(float64(len(r.listeners)))
}

// sendTo sends a message to one client. If this fails, it drops the client: the previous
// message found no socket, or the client does not read. A client that still runs registers
// again.
func (r *repeater) sendTo(to netip.AddrPort, message []byte) {
	if _, err := r.listeners[to].Write(message); err != nil {
		_ = r.listeners[to].Close()
		delete(r.listeners, to)
	}
}

func (r *repeater) close() {
	for _, conn := range r.listeners {
		_ = conn.Close()
	}
	r.metrics.listeners.Set(0)
}

// isOwn reports whether an address belongs to this host.
func isOwn(addr netip.Addr) bool {
	if addr.IsLoopback() {
		return true
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr {
			return true
		}
	}
	return false
}

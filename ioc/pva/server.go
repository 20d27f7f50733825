package pva

import (
	"crypto/rand"
	"net"
	"net/netip"
	"time"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

const (
	// maxRequest bounds the payload of a request in bytes, in all its segments. The server is
	// read-only, so requests are small.
	maxRequest = 64 << 10
	// readSize is the size of the read buffer in bytes. Any request fits.
	readSize = proto.HeaderSize + maxRequest

	fromServer = proto.FlagServer // and little-endian
)

// Server holds the state that all clients share. It does not change.
type Server struct {
	set      *sim.Set
	addr     netip.AddrPort // where circuits connect
	circuits circuit.Config
	guid     proto.GUID
	layouts  [sim.NumKinds]*layout
}

// NewServer returns a server of PVs whose circuits connect to addr.
func NewServer(set *sim.Set, addr netip.AddrPort, circuits circuit.Config) *Server {
	s := &Server{set: set, addr: addr, circuits: circuits}
	_, _ = rand.Read(s.guid[:]) // it does not fail
	for _, k := range sim.Kinds() {
		s.layouts[k] = newLayout(set, k)
	}
	return s
}

// Serve serves one client until it hangs up, conn is closed or it breaks the
// protocol. It closes conn.
func (s *Server) Serve(conn net.Conn) error {
	c := newSession(s, circuit.New(s.circuits, conn))
	return c.Run(conn, c, readSize)
}

// AppendBeacon appends the n-th beacon, counted from 0.
func (s *Server) AppendBeacon(dst []byte, n uint32) []byte {
	return proto.AppendBeacon(dst, &proto.Beacon{GUID: s.guid, Sequence: uint8(n), Server: s.addr, Protocol: "tcp"}, fromServer)
}

// Beacons are sent every 15 s after a server starts, and every 180 s later, as PVXS does.
const (
	firstBeacons  = 10
	firstInterval = 15 * time.Second
	lastInterval  = 180 * time.Second
)

// BeaconInterval returns the time from the n-th beacon to the next.
func (s *Server) BeaconInterval(n uint32) time.Duration {
	if n < firstBeacons {
		return firstInterval
	}
	return lastInterval
}

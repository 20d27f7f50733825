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
	// maxRequest is the maximum payload of a request in bytes, including all its segments. The
	// server is read-only, so requests are small.
	maxRequest = 64 << 10
	// readSize is the size of the read buffer in bytes. Any request fits.
	readSize = proto.HeaderSize + maxRequest

	fromServer = proto.FlagServer // without FlagBig: messages of the server are little-endian
)

// Server has the state that all clients share. It does not change.
type Server struct {
	set      *sim.Set
	addr     netip.AddrPort // address to which circuits connect
	circuits circuit.Config
	guid     proto.GUID
	layouts  [sim.NumKinds]*layout
}

// NewServer returns a server of the PVs in set. addr is the address to which circuits connect.
func NewServer(set *sim.Set, addr netip.AddrPort, circuits circuit.Config) *Server {
	s := &Server{set: set, addr: addr, circuits: circuits}
	_, _ = rand.Read(s.guid[:]) // Read never fails
	for _, k := range sim.Kinds() {
		s.layouts[k] = newLayout(set, k)
	}
	return s
}

// Serve serves one client until the client disconnects, conn is closed or the client violates
// the protocol. It closes conn.
func (s *Server) Serve(conn net.Conn) error {
	c := newSession(s, circuit.New(s.circuits, conn))
	return c.Run(conn, c, readSize)
}

// AppendBeacon appends beacon n. The first beacon has number 0.
func (s *Server) AppendBeacon(dst []byte, n uint32) []byte {
	return proto.AppendBeacon(dst, &proto.Beacon{GUID: s.guid, Sequence: uint8(n), Server: s.addr, Protocol: "tcp"}, fromServer)
}

// As in PVXS, a server sends beacons every 15 s after its start, and later every 180 s.
const (
	firstBeacons  = 10
	firstInterval = 15 * time.Second
	lastInterval  = 180 * time.Second
)

// BeaconInterval returns the time from beacon n to the next beacon.
func (s *Server) BeaconInterval(n uint32) time.Duration {
	if n < firstBeacons {
		return firstInterval
	}
	return lastInterval
}

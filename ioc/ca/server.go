package ca

import (
	"net"
	"net/netip"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// readSize is the size of the read buffer in bytes. Any request fits.
const readSize = 32 << 10

// Server has the state that all clients share. It does not change.
type Server struct {
	Set *sim.Set
	// Addr is the address to which circuits connect.
	Addr     netip.AddrPort
	Circuits circuit.Config
}

// Serve serves one client until the client disconnects, conn is closed or the client violates
// the protocol. It closes conn.
func (s *Server) Serve(conn net.Conn) error {
	c := newSession(s, circuit.New(s.Circuits, conn))
	return c.Run(conn, c, readSize)
}

// AppendBeacon appends beacon n. The first beacon has number 0.
func (s *Server) AppendBeacon(dst []byte, n uint32) []byte {
	return proto.AppendBeacon(dst, proto.Beacon{Server: s.Addr, ID: n})
}

// A server sends beacons in quick succession after its start, and later every 15 s.
const (
	firstInterval = 20 * time.Millisecond
	lastInterval  = 15 * time.Second
)

// BeaconInterval returns the time from beacon n to the next beacon.
func (s *Server) BeaconInterval(n uint32) time.Duration {
	if n > 9 {
		return lastInterval
	}
	return firstInterval << n // the last of these intervals is 10.24 s
}

// session is one client's circuit.
type session struct {
	*circuit.Circuit
	server *Server
	enc    encoder
	buf    []byte // scratch for an answer

	channels map[uint32]*channel // by the server's ID
	lastSID  uint32
	places   map[uint32]place // of subscriptions, by the client's ID
	memory   int              // total size of all frames in bytes
	slices   []slice
	paused   bool // the client sent EVENTS_OFF
}

// slice has the subscriptions of a session that belong to one slice of the schedule.
type slice struct {
	every  group // subscriptions to every update
	alarms group // subscriptions to alarm changes, or only to the first value
}

// place is the position of a subscription in the session's slices.
type place struct {
	sid    uint32
	slice  int32
	pos    int32
	alarms bool
}

func newSession(s *Server, c *circuit.Circuit) *session {
	_ = c.Write(proto.AppendVersion(nil, 0)) // the server sends the first message; Circuit flushes it later
	return &session{
		Circuit: c, server: s, enc: encoder{set: s.Set},
		channels: map[uint32]*channel{},
		places:   map[uint32]place{},
		slices:   make([]slice, s.Circuits.Schedule.Slices()),
	}
}

package ca

import (
	"maps"
	"net/netip"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

const (
	// newsInterval is the least time between two news of one server.
	newsInterval = 10 * time.Second

	// earlyBeacons are the numbers of beacons that tell of a server that started
	// just now: the first 10 come within 20 s.
	earlyBeacons = 10
	// quietStart is how long after its own start the client takes servers that it
	// does not know for old ones: the longest usual time between two beacons.
	quietStart = 16 * time.Second
	// reordered is by how many numbers a beacon may be behind the last one, because
	// it came over two networks.
	reordered = 3
	// Of servers that start, the time between beacons doubles, up to 15 s. News are
	// beacons that come much faster than before, or after being away.
	shorter = 2
	longer  = 4

	// maxServers bounds the servers whose beacons are remembered, forgetTime for how
	// long a server may be silent if there are more.
	maxServers = 10_000
	forgetTime = 5 * time.Minute
)

// beaconWatch finds news in beacons.
type beaconWatch struct {
	began   time.Time
	servers map[netip.AddrPort]*pulsar
	purged  time.Time
}

// pulsar is a server as its beacons tell.
type pulsar struct {
	id     uint32
	last   time.Time
	period time.Duration // between the last two; 0 if there was one only
	told   time.Time     // when it was news last
}

// see notes a beacon and reports whether it is news: of a server that came up, came
// back, or started again.
func (w *beaconWatch) see(b proto.Beacon, now time.Time) bool {
	s := w.servers[b.Server]
	numbered := b.Minor >= proto.MinorBeaconID
	if s == nil {
		if s = w.add(b.Server, now); s == nil {
			return false
		}
		s.id, s.last = b.ID, now
		return s.tell(now.Sub(w.began) > quietStart || numbered && b.ID < earlyBeacons, now)
	}
	steps := uint32(1)
	if numbered {
		steps = b.ID - s.id
		if back := -steps; back <= reordered {
			return false // one that was seen
		}
		if steps > 1<<31 {
			s.id, s.last, s.period = b.ID, now, 0
			return s.tell(true, now)
		}
	}
	period := now.Sub(s.last) / time.Duration(steps)
	known := s.period > 0
	odd := known && (period < s.period/shorter || period > longer*s.period)
	if s.id, s.last, s.period = b.ID, now, period; odd {
		s.period = 0 // what is usual now, the next one tells
	}
	return s.tell(odd, now)
}

// tell limits how often a server is news.
func (s *pulsar) tell(odd bool, now time.Time) bool {
	if !odd || now.Sub(s.told) < newsInterval {
		return false
	}
	s.told = now
	return true
}

// add adds a server; none if there are too many.
func (w *beaconWatch) add(server netip.AddrPort, now time.Time) *pulsar {
	if len(w.servers) >= maxServers && now.Sub(w.purged) > forgetTime/10 {
		w.purged = now
		maps.DeleteFunc(w.servers, func(_ netip.AddrPort, s *pulsar) bool { return now.Sub(s.last) > forgetTime })
	}
	if len(w.servers) >= maxServers {
		return nil
	}
	s := &pulsar{}
	w.servers[server] = s
	return s
}

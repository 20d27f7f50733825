package ca

import (
	"maps"
	"net/netip"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

const (
	// anomalyInterval is the minimum time between two anomalies of one server.
	anomalyInterval = 10 * time.Second

	// earlyBeacons is the number of beacons that a server sends in its first 20 s.
	earlyBeacons = 10
	// quietStart is the time after the start of the client in which it assumes that an unknown
	// server has run for long. It is the longest usual time between two beacons.
	quietStart = 16 * time.Second
	// reordered is the maximum number of steps by which the ID of a beacon may be behind the
	// last one. Such a beacon is a copy that arrived over a second network.
	reordered = 3
	// After its start, a server doubles the time between its beacons, up to 15 s. A beacon is
	// an anomaly if this time is shorter or longer than the previous time by these factors.
	shorter = 2
	longer  = 4

	// maxServers limits the number of servers that the detector remembers. A full detector
	// forgets servers that were silent for forgetTime.
	maxServers = 10_000
	forgetTime = 5 * time.Minute
)

// anomalyDetector finds anomalies in beacons.
type anomalyDetector struct {
	began   time.Time
	servers map[netip.AddrPort]*beaconSource
	purged  time.Time
}

// beaconSource is a server that sends beacons.
type beaconSource struct {
	id       uint32 // ID of the last beacon
	last     time.Time
	period   time.Duration // between the last two beacons; 0 after the first
	reported time.Time     // time of its last anomaly
}

// note records a beacon, and reports whether it is an anomaly: the server has started,
// returned or restarted.
func (d *anomalyDetector) note(b proto.Beacon, now time.Time) bool {
	s := d.servers[b.Server]
	numbered := b.Minor >= proto.MinorBeaconID
	if s == nil {
		if s = d.add(b.Server, now); s == nil {
			return false
		}
		s.id, s.last = b.ID, now
		return s.report(now.Sub(d.began) > quietStart || numbered && b.ID < earlyBeacons, now)
	}
	steps := uint32(1)
	if numbered {
		steps = b.ID - s.id
		if back := -steps; back <= reordered {
			return false // a late copy
		}
		if steps > 1<<31 {
			s.id, s.last, s.period = b.ID, now, 0
			return s.report(true, now)
		}
	}
	period := now.Sub(s.last) / time.Duration(steps)
	known := s.period > 0
	odd := known && (period < s.period/shorter || period > longer*s.period)
	if s.id, s.last, s.period = b.ID, now, period; odd {
		s.period = 0 // the next beacon determines the new period
	}
	return s.report(odd, now)
}

// report reports whether a beacon counts as an anomaly. It limits how often one server has
// anomalies.
func (s *beaconSource) report(odd bool, now time.Time) bool {
	if !odd || now.Sub(s.reported) < anomalyInterval {
		return false
	}
	s.reported = now
	return true
}

// add adds a server. It returns nil if the detector remembers too many servers.
func (d *anomalyDetector) add(server netip.AddrPort, now time.Time) *beaconSource {
	if len(d.servers) >= maxServers && now.Sub(d.purged) > forgetTime/10 {
		d.purged = now
		maps.DeleteFunc(d.servers, func(_ netip.AddrPort, s *beaconSource) bool { return now.Sub(s.last) > forgetTime })
	}
	if len(d.servers) >= maxServers {
		return nil
	}
	s := &beaconSource{}
	d.servers[server] = s
	return s
}

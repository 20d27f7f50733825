package ca

import (
	"net/netip"
	"testing"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

// heardBeacon is a beacon, with the time after the start of the client at which it arrives.
type heardBeacon struct {
	at      time.Duration
	id      uint32
	anomaly bool
}

// starting returns the beacons of a server that starts at a given time. The first beacon is an
// anomaly.
func starting(at time.Duration) []heardBeacon {
	var out []heardBeacon
	period := 20 * time.Millisecond
	for id := range uint32(20) {
		out = append(out, heardBeacon{at, id, id == 0})
		at += period
		period = min(2*period, 15*time.Second)
	}
	return out
}

func TestBeaconAnomalies(t *testing.T) {
	const second = time.Second
	for name, beacons := range map[string][]heardBeacon{
		"an old server, heard first soon after the start": {{5 * second, 1000, false}, {20 * second, 1001, false}, {35 * second, 1002, false}},
		"a server that starts":                            starting(60 * second),
		"starts with the client":                          {{second, 3, true}},
		"a server that appears":                           {{60 * second, 1000, true}},
		"a restart, detected by the sequence number":      {{5 * second, 1000, false}, {20 * second, 1001, false}, {25 * second, 0, true}, {26 * second, 1, false}},
		"an early restart, detected by the interval":      {{5 * second, 100, false}, {20 * second, 101, false}, {21 * second, 102, true}},
		"away for a while":                                {{5 * second, 100, false}, {20 * second, 101, false}, {100 * second, 102, true}, {115 * second, 103, false}},
		"some lost":                                       {{5 * second, 100, false}, {20 * second, 101, false}, {95 * second, 106, false}},
		"over two networks":                               {{5 * second, 100, false}, {5 * second, 100, false}, {20 * second, 101, false}, {20 * second, 100, false}, {20 * second, 101, false}, {35 * second, 102, false}},
		"flapping":                                        {{5 * second, 1000, false}, {20 * second, 0, true}, {25 * second, 1000, false}, {28 * second, 0, false}, {29 * second, 1000, false}, {31 * second, 0, true}},
		"the number wraps":                                {{5 * second, ^uint32(0), false}, {20 * second, 0, false}, {35 * second, 1, false}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Unix(0, 0)
			d := anomalyDetector{began: began, servers: map[netip.AddrPort]*beaconSource{}}
			for _, b := range beacons {
				beacon := proto.Beacon{Server: netip.MustParseAddrPort("10.0.0.5:5064"), ID: b.id, Minor: proto.Minor}
				if got := d.note(beacon, began.Add(b.at)); got != b.anomaly {
					t.Errorf("beacon %d at %v: got anomaly %v", b.id, b.at, got)
				}
			}
		})
	}
}

func TestBeaconsOfManyServersAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	d := anomalyDetector{began: now, servers: map[netip.AddrPort]*beaconSource{}}
	flood := func(from int) {
		for i := range maxServers {
			ip := netip.AddrFrom4([4]byte{10, byte(from), byte(i >> 8), byte(i)})
			d.note(proto.Beacon{Server: netip.AddrPortFrom(ip, 5064), ID: 100, Minor: proto.Minor}, now)
		}
	}
	flood(0)
	flood(1)
	if len(d.servers) != maxServers {
		t.Errorf("the detector remembers %d servers", len(d.servers))
	}
	now = now.Add(2 * forgetTime)
	flood(2)
	if len(d.servers) != maxServers || d.servers[netip.MustParseAddrPort("10.2.0.0:5064")] == nil {
		t.Errorf("the detector remembers %d servers, but not the current ones", len(d.servers))
	}
}

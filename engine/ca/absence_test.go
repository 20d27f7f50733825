package ca

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/testclock"
)

// elsewhere is a network in which a name server knows of the channels of another
// server, until it is silenced.
func elsewhere(t *testing.T, channels int, f func(t *testing.T, n *network, c *Client, names, home *script, sinks []recorder)) {
	t.Helper()
	names, home := doubles(nameServerAddr), doubles(otherAddr)
	names.redirect = map[string]string{}
	for i := range channels {
		names.redirect[fmt.Sprintf("T:C%d", i)] = otherAddr
	}
	bubble(t, func(t *testing.T, n *network, c *Client) {
		sinks := make([]recorder, channels)
		subscribeAll(c, sinks)
		testclock.Advance(time.Minute)
		for i := range sinks {
			if sinks[i].connects != 1 {
				t.Fatalf("channel %d was told %v", i, told(&sinks[i]))
			}
		}
		f(t, n, c, names, home, sinks)
	}, names, home)
}

func TestServerThatComesBackIsFoundWhereNoSearchReachesIt(t *testing.T) {
	const channels = 5000
	for _, minor := range []uint16{proto.Minor, proto.MinorTCPSearch - 1, 0} {
		t.Run(fmt.Sprint("4.", minor), func(t *testing.T) {
			elsewhere(t, channels, func(t *testing.T, n *network, c *Client, names, home *script, sinks []recorder) {
				greeting := []byte{}
				if minor > 0 {
					greeting = proto.AppendHeader(nil, proto.Header{Command: proto.CmdVersion, Count: uint32(minor)})
				}
				n.greet(home, greeting)
				for round := range 2 {
					names.silent.Store(true)
					n.stop(home)
					testclock.Advance(time.Minute)
					probes := n.dialled(otherAddr)
					if probes < 30*(round+1) || probes > 120*(round+1) {
						t.Errorf("%d probes", probes)
					}
					n.start(home)
					testclock.Advance(5 * time.Second)
					for i := range sinks {
						if !sinks[i].view(func(r *recorder) bool { return r.up && r.connects == round+2 }) {
							t.Fatalf("channel %d was told %v", i, told(&sinks[i]))
						}
					}
					testclock.Advance(time.Minute)
					if got := n.dialled(otherAddr); got != probes+1 {
						t.Errorf("%d more probes when it was back", got-probes)
					}
				}
				if searched := home.asked(proto.CmdSearch) > 0; searched != (minor >= proto.MinorTCPSearch) {
					t.Errorf("of revision 4.%d: searched over TCP: %v", minor, searched)
				}
			})
		})
	}
}

func TestServerThatNobodyMissesIsNotProbed(t *testing.T) {
	for name, part := range map[string]func(n *network, names, home *script, subs []capture.Subscription){
		"found elsewhere": func(n *network, names, home *script, _ []capture.Subscription) {
			names.redirect = nil
			n.stop(home)
		},
		"closed": func(n *network, names, home *script, subs []capture.Subscription) {
			names.silent.Store(true)
			n.stop(home)
			testclock.Advance(20 * time.Second)
			for _, s := range subs {
				s.Close()
			}
		},
		"has them no more": func(n *network, names, home *script, _ []capture.Subscription) {
			names.silent.Store(true)
			home.silent.Store(true)
			n.stop(home)
			testclock.Advance(20 * time.Second)
			n.start(home)
		},
	} {
		t.Run(name, func(t *testing.T) {
			names, home := doubles(nameServerAddr), doubles(otherAddr)
			names.redirect = map[string]string{"ONE": otherAddr, "TWO": otherAddr}
			bubble(t, func(t *testing.T, n *network, c *Client) {
				var subs []capture.Subscription
				for _, pv := range []string{"ONE", "TWO"} {
					subs = append(subs, c.Subscribe(pv, capture.SubscribeOptions{}, &recorder{}))
				}
				testclock.Advance(time.Minute)
				part(n, names, home, subs)
				testclock.Advance(time.Minute)
				before := n.dialled(otherAddr)
				testclock.Advance(10 * time.Minute)
				if after := n.dialled(otherAddr); after != before {
					t.Errorf("%d more probes", after-before)
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.absences.Len() > 0 || c.circuits[netip.MustParseAddrPort(otherAddr)] != nil {
					t.Errorf("%d absences, circuits %v", c.absences.Len(), c.circuits)
				}
			}, names, home)
		})
	}
}

func TestServerThatTakesCircuitsAndBreaksThemIsProbedSlowly(t *testing.T) {
	elsewhere(t, 3, func(t *testing.T, n *network, c *Client, names, home *script, sinks []recorder) {
		names.silent.Store(true)
		n.greet(home, []byte("garbage, and long enough for a header"))
		n.stop(home)
		n.start(home)
		testclock.Advance(10 * time.Minute)
		if dials := n.dialled(otherAddr); dials < 10 || dials > 60 {
			t.Errorf("%d circuits in 10 minutes", dials)
		}
		n.greet(home, nil)
		testclock.Advance(time.Minute)
		for i := range sinks {
			if !sinks[i].up {
				t.Errorf("channel %d was told %v", i, told(&sinks[i]))
			}
		}
	})
}

func TestProbesEndWithTheClient(t *testing.T) {
	elsewhere(t, 1, func(t *testing.T, n *network, c *Client, names, home *script, _ []recorder) {
		names.silent.Store(true)
		n.stop(home)
		testclock.Advance(10 * time.Second)
		_ = c.Close()
		synctest.Wait()
	})
}

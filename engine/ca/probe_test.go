package ca

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/testclock"
)

// withRedirect runs a test with a name server that redirects searches to another server. The
// test can silence the name server.
func withRedirect(t *testing.T, channels int, f func(t *testing.T, n *clienttest.Network, c *Client, names, home *script, sinks []recorder)) {
	t.Helper()
	names, home := doubles(nameServerAddr), doubles(otherAddr)
	names.redirect = map[string]string{}
	for i := range channels {
		names.redirect[fmt.Sprintf("T:C%d", i)] = otherAddr
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		sinks := make([]recorder, channels)
		clienttest.SubscribeAll(c, sinks)
		testclock.Advance(time.Minute)
		for i := range sinks {
			if sinks[i].Connects != 1 {
				t.Fatalf("channel %d got calls %v", i, sinks[i].Calls())
			}
		}
		f(t, n, c, names, home, sinks)
	}, names, home)
}

// TestServerThatComesBackIsFoundWhereNoSearchReachesIt uses more channels than the client
// requests at once.
func TestServerThatComesBackIsFoundWhereNoSearchReachesIt(t *testing.T) { loseServer(t, 900) }

func TestLong_ServerThatComesBackIsFoundWhereNoSearchReachesIt(t *testing.T) { loseServer(t, 5000) }

// loseServer stops and starts a server, of each of several revisions of the protocol.
func loseServer(t *testing.T, channels int) {
	for _, minor := range []uint16{proto.Minor, proto.MinorTCPSearch - 1, 0} {
		t.Run(fmt.Sprint("4.", minor), func(t *testing.T) {
			withRedirect(t, channels, func(t *testing.T, n *clienttest.Network, c *Client, names, home *script, sinks []recorder) {
				greeting := []byte{}
				if minor > 0 {
					greeting = proto.AppendHeader(nil, proto.Header{Command: proto.CmdVersion, Count: uint32(minor)})
				}
				n.Update(func() { home.greet = greeting })
				for round := range 2 {
					names.silent.Store(true)
					n.Stop(home)
					testclock.Advance(time.Minute)
					probes := n.Dials(otherAddr)
					if probes < 30*(round+1) || probes > 120*(round+1) {
						t.Errorf("%d probes, want %d to %d", probes, 30*(round+1), 120*(round+1))
					}
					n.Start(home)
					testclock.Advance(5 * time.Second)
					for i := range sinks {
						if !sinks[i].Back(round + 2) {
							t.Fatalf("channel %d got calls %v", i, sinks[i].Calls())
						}
					}
					testclock.Advance(time.Minute)
					if got := n.Dials(otherAddr); got != probes+1 {
						t.Errorf("%d more probes after the server returned", got-probes)
					}
				}
				if searched := home.count(proto.CmdSearch) > 0; searched != (minor >= proto.MinorTCPSearch) {
					t.Errorf("server of revision 4.%d: searched over TCP: %v", minor, searched)
				}
			})
		})
	}
}

func TestServerWithoutLostChannelsIsNotProbed(t *testing.T) {
	for name, part := range map[string]func(n *clienttest.Network, names, home *script, subs []capture.Subscription){
		"found elsewhere": func(n *clienttest.Network, names, home *script, _ []capture.Subscription) {
			names.redirect = nil
			n.Stop(home)
		},
		"closed": func(n *clienttest.Network, names, home *script, subs []capture.Subscription) {
			names.silent.Store(true)
			n.Stop(home)
			testclock.Advance(20 * time.Second)
			for _, s := range subs {
				s.Close()
			}
		},
		"no longer has them": func(n *clienttest.Network, names, home *script, _ []capture.Subscription) {
			names.silent.Store(true)
			home.silent.Store(true)
			n.Stop(home)
			testclock.Advance(20 * time.Second)
			n.Start(home)
		},
	} {
		t.Run(name, func(t *testing.T) {
			names, home := doubles(nameServerAddr), doubles(otherAddr)
			names.redirect = map[string]string{"ONE": otherAddr, "TWO": otherAddr}
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				var subs []capture.Subscription
				for _, pv := range []string{"ONE", "TWO"} {
					subs = append(subs, c.Subscribe(pv, capture.SubscribeOptions{}, &recorder{}))
				}
				testclock.Advance(time.Minute)
				part(n, names, home, subs)
				testclock.Advance(time.Minute)
				before := n.Dials(otherAddr)
				testclock.Advance(10 * time.Minute)
				if after := n.Dials(otherAddr); after != before {
					t.Errorf("%d more probes, want none", after-before)
				}
				if s := c.kernel.Stats(); s.LostServers > 0 || c.kernel.Circuit(netip.MustParseAddrPort(otherAddr)) != nil {
					t.Errorf("the client still has a lost server or a circuit: %+v", s)
				}
			}, names, home)
		})
	}
}

func TestServerThatAcceptsAndBreaksCircuitsIsProbedSlowly(t *testing.T) {
	withRedirect(t, 3, func(t *testing.T, n *clienttest.Network, c *Client, names, home *script, sinks []recorder) {
		names.silent.Store(true)
		n.Update(func() { home.greet = []byte("garbage, and long enough for a header") })
		n.Stop(home)
		n.Start(home)
		testclock.Advance(10 * time.Minute)
		if dials := n.Dials(otherAddr); dials < 10 || dials > 60 {
			t.Errorf("%d circuits in 10 minutes, want 10 to 60", dials)
		}
		n.Update(func() { home.greet = nil })
		testclock.Advance(time.Minute)
		for i := range sinks {
			if !sinks[i].Up {
				t.Errorf("channel %d got calls %v", i, sinks[i].Calls())
			}
		}
	})
}

func TestProbesEndWithTheClient(t *testing.T) {
	withRedirect(t, 1, func(t *testing.T, n *clienttest.Network, c *Client, names, home *script, _ []recorder) {
		names.silent.Store(true)
		n.Stop(home)
		testclock.Advance(10 * time.Second)
		_ = c.Close()
		synctest.Wait()
	})
}

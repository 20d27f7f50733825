package ca

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/testclock"
)

func TestNameThatNoServerHasIsSearchedForWithBackOff(t *testing.T) {
	server := doubles(nameServerAddr)
	server.lacks = map[string]bool{"NOBODY": true}
	bubble(t, func(t *testing.T, _ *clienttest.Network, c *Client) {
		clienttest.CheckSearchBackOff(t, c, 4, func() int { return server.count(proto.CmdSearch) })
	}, server)
}

func TestDatagramsHaveManyNamesAndOnlyAnswersToThemCount(t *testing.T) {
	server := clienttest.Listen(t)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(server.LocalAddr().String())})
	sinks := make([]recorder, 30)
	clienttest.SubscribeAll(c, sinks)
	seen := map[uint32]bool{}
	datagrams := 0
	for ; len(seen) < len(sinks); datagrams++ {
		d := nextSearch(t, server)
		for _, cid := range d.cids {
			seen[cid] = true
		}
		stale := proto.AppendSearchReply(proto.AppendUDPVersion(nil, d.sequence+1000), d.from, d.cids[0])
		garbage := proto.AppendSearchReply(proto.AppendHeader(nil, proto.Header{Size: 4000}), d.from, d.cids[0])
		for _, answer := range [][]byte{stale, garbage, {1}, nil} {
			if _, err := server.WriteToUDPAddrPort(answer, d.from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if datagrams > 8 {
		t.Errorf("the client sent %d datagrams for %d names", datagrams, len(sinks))
	}
	if s := c.kernel.Stats(); s.Circuits > 0 {
		t.Error("the client accepted an answer for another client")
	}
}

func TestBeaconAnomalyHastensTheSearchButNotTooOften(t *testing.T) { makeAnomalies(t, 5000) }

func TestLong_BeaconAnomalyHastensTheSearchButNotTooOften(t *testing.T) { makeAnomalies(t, 20_000) }

// makeAnomalies counts the searches for a number of names before, after and during beacon
// anomalies.
func makeAnomalies(t *testing.T, names int) {
	server := doubles(nameServerAddr)
	server.silent.Store(true)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		const steadyNames = 2000 // names per second that the search sends in steady state
		for i := range names {
			c.Subscribe(fmt.Sprintf("NOBODY:%d", i), capture.SubscribeOptions{}, &recorder{})
		}
		searches := func(d time.Duration, each func()) float64 {
			before := server.count(proto.CmdSearch)
			for range int(d / time.Second) {
				each()
				testclock.Advance(time.Second)
			}
			return float64(server.count(proto.CmdSearch)-before) / d.Seconds()
		}
		first := searches(2*time.Second, func() {})
		searches(time.Minute, func() {})
		rest := searches(time.Minute, func() {})
		sweep := searches(3*time.Second, sync.OnceFunc(c.kernel.BeaconAnomaly))
		storm := searches(time.Duration(names)*3*time.Millisecond, c.kernel.BeaconAnomaly)
		t.Logf("names per second: %.0f at first, %.0f later, %.0f after an anomaly, %.0f while anomalies arrive continuously", first, rest, sweep, storm)
		if rest > 1.2*steadyNames {
			t.Errorf("%.0f searches a second of names that no server has", rest)
		}
		if sweep < float64(names/3) {
			t.Errorf("%.0f searches a second after an anomaly: the client did not search for all names", sweep)
		}
		if storm > 7*steadyNames/2 {
			t.Errorf("%.0f searches a second while anomalies arrive continuously", storm)
		}
	}, server)
}

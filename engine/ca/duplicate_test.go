package ca

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/testclock"
)

func TestPVOnTwoServersIsReportedAndTheFirstServerKept(t *testing.T) {
	const channels = 100
	one, two := doubles(nameServerAddr), doubles(otherAddr)
	synctest.Test(t, func(t *testing.T) {
		n := clienttest.NewNetwork(one, two)
		registry := prometheus.NewRegistry()
		var log bytes.Buffer
		config := config(n)
		config.NameServers = []string{nameServerAddr, otherAddr}
		config.Registerer, config.Log = registry, slog.New(slog.NewTextHandler(&log, nil))
		c := clienttest.Start(t, New, config)
		// Without this delay, the client finds all PVs on the first name server and does not
		// search on the second one.
		testclock.Advance(time.Second)
		sinks := make([]recorder, channels)
		clienttest.SubscribeAll(c, sinks)
		testclock.Advance(time.Minute)
		for i := range sinks {
			if log := sinks[i].Calls(); len(log) != 2 || len(sinks[i].Words()) != 1 {
				t.Errorf("channel %d got calls %v", i, log)
			}
		}
		if got := clienttest.Gather(t, registry)["varve_ca_duplicate_servers_total"]; got != channels {
			t.Errorf("%v duplicate servers counted, want %d", got, channels)
		}
		lines := strings.Count(log.String(), "PV found on two servers")
		if lines != 1 || !strings.Contains(log.String(), "level=INFO") {
			t.Errorf("%d log lines, want 1 at level INFO:\n%s", lines, log.String())
		}
	})
}

func TestCircuitsAreListed(t *testing.T) {
	names, other := doubles(nameServerAddr), doubles(otherAddr)
	names.redirect = map[string]string{"ONE": otherAddr, "TWO": otherAddr, "GONE": "10.0.0.9:5064"}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		for pv := range names.redirect {
			c.Subscribe(pv, capture.SubscribeOptions{}, &recorder{})
		}
		testclock.Advance(time.Minute)
		want := map[netip.AddrPort]int{names.circuitAddr(): 1, other.circuitAddr(): 1}
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(maps.Collect(c.Circuits()))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, names, other)
}

func TestNameServerOfAnOldRevisionIsNotSearched(t *testing.T) {
	server := doubles(nameServerAddr)
	server.greet = proto.AppendHeader(nil, proto.Header{Command: proto.CmdVersion, Count: proto.MinorTCPSearch - 1})
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(10 * time.Minute)
		if server.count(proto.CmdSearch) > 0 || server.count(proto.CmdCreateChan) > 0 || n.Dials(nameServerAddr) != 1 {
			t.Errorf("%d searches, %d circuits", server.count(proto.CmdSearch), n.Dials(nameServerAddr))
		}
	}, server)
}

func TestPriorityIsSentToServers(t *testing.T) {
	server := doubles(nameServerAddr)
	priorities := make(chan uint16, 1)
	server.override = func(_ *session, h *proto.Header, _ []byte) bool {
		if h.Command == proto.CmdVersion {
			priorities <- h.Type
		}
		return false
	}
	synctest.Test(t, func(t *testing.T) {
		config := config(clienttest.NewNetwork(server))
		config.Priority = 42
		clienttest.Start(t, New, config)
		testclock.Advance(time.Second)
		if got := <-priorities; got != 42 {
			t.Errorf("priority %d, want 42", got)
		}
	})
}

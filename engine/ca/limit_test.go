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

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/testclock"
)

// TestCircuitsAreLimited lets a name server send the client to many ports of one host, and
// then to many hosts.
func TestCircuitsAreLimited(t *testing.T) {
	const limit, servers = 3, 10
	for name, test := range map[string]struct {
		address        string
		perHost, inAll int
		reason         string
	}{
		"per host": {"10.0.9.1:%d", limit, 1000, "too_many_circuits_host"},
		"in all":   {"10.0.9.%d:5064", 1000, limit + 1, "too_many_circuits"}, // one more for the name server
	} {
		t.Run(name, func(t *testing.T) {
			names := doubles(nameServerAddr)
			names.redirect = map[string]string{}
			all := []*script{names}
			for i := range servers {
				address := fmt.Sprintf(test.address, 10+i)
				names.redirect[fmt.Sprint("PV", i)] = address
				all = append(all, doubles(address))
			}
			synctest.Test(t, func(t *testing.T) {
				config, registry := config(clienttest.NewNetwork(all...)), prometheus.NewRegistry()
				var log bytes.Buffer
				config.MaxCircuitsPerHost, config.MaxCircuits = test.perHost, test.inAll
				config.Registerer, config.Log = registry, slog.New(slog.NewTextHandler(&log, nil))
				c := clienttest.Start(t, New, config)
				subs := map[netip.AddrPort]capture.Subscription{}
				for pv, address := range names.redirect {
					subs[netip.MustParseAddrPort(address)] = c.Subscribe(pv, capture.SubscribeOptions{}, &recorder{})
				}
				wantCircuits := func() map[netip.AddrPort]int {
					t.Helper()
					open := maps.Collect(c.Circuits())
					delete(open, names.circuitAddr())
					if len(open) != limit {
						t.Errorf("%d circuits, want %d", len(open), limit)
					}
					return open
				}
				testclock.Advance(time.Second)
				open := wantCircuits()
				if got := clienttest.Gather(t, registry)["varve_ca_search_answers_dropped_total "+test.reason]; got < servers-limit {
					t.Errorf("%v refused circuits counted", got)
				}
				if lines := strings.Count(log.String(), "level=WARN msg=\"server not connected: the client has too many circuits"); lines != 1 {
					t.Errorf("%d warnings:\n%s", lines, log.String())
				}
				for server := range open { // a free place goes to another server
					subs[server].Close()
					testclock.Advance(time.Minute)
					if again := wantCircuits(); again[server] > 0 {
						t.Errorf("the circuit to %v is still open", server)
					}
					return
				}
			})
		})
	}
}

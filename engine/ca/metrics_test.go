package ca

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/testclock"
)

func TestMetricsTellWhatTheClientDoes(t *testing.T) {
	server := doubles(nameServerAddr)
	server.lacks = map[string]bool{"NOBODY": true}
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		config := newNetwork(server).config()
		config.Registerer = registry
		c, stop := start(t, config)
		defer stop()
		for _, name := range []string{"ONE", "TWO", "NOBODY"} {
			c.Subscribe(name, capture.SubscribeOptions{}, &recorder{})
		}
		c.Subscribe("CLOSED", capture.SubscribeOptions{}, &recorder{}).Close()
		testclock.Advance(time.Second)
		want := map[string]float64{
			"varve_ca_channels connected": 2, "varve_ca_channels connecting": 0, "varve_ca_channels searching": 1,
			"varve_ca_channels unusable": 0, "varve_ca_circuits": 1, "varve_ca_events_total": 2,
			"varve_ca_connect_failures_total": 0, "varve_ca_dropped_total malformed": 0,
		}
		got := gather(t, registry)
		for name, v := range want {
			if diff := cmp.Diff(v, got[name]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if got["varve_ca_received_bytes_total"] == 0 || got["varve_ca_sent_bytes_total"] == 0 {
			t.Errorf("no bytes counted: %v", got)
		}
	})
}

// gather returns the values of counters and gauges by name and label values.
func gather(t testing.TB, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

package pva

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/testclock"
)

// value returns the value of a counter or gauge.
func value(m prometheus.Metric) float64 {
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		panic("BUG: " + err.Error())
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue()
}

func TestMetricsTellWhatTheClientDoes(t *testing.T) {
	server := doubles(nameServerAddr)
	server.lacks = map[string]bool{"NOBODY": true}
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		config := newNetwork(server).config()
		config.Registerer = registry
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, name := range []string{"ONE", "TWO", "NOBODY"} {
			c.Subscribe(name, capture.SubscribeOptions{}, &recorder{})
		}
		c.Subscribe("CLOSED", capture.SubscribeOptions{}, &recorder{}).Close()
		testclock.Advance(time.Second)
		want := map[string]float64{
			"varve_pva_channels connected": 2, "varve_pva_channels connecting": 0, "varve_pva_channels searching": 1,
			"varve_pva_channels unusable": 0, "varve_pva_circuits": 1, "varve_pva_events_total": 2,
			"varve_pva_connect_failures_total": 0, "varve_pva_dropped_total malformed": 0, "varve_pva_dropped_total overrun": 0,
		}
		got := gather(t, registry)
		for name, v := range want {
			if v != got[name] {
				t.Errorf("%s is %v, want %v", name, got[name], v)
			}
		}
		if got["varve_pva_received_bytes_total"] == 0 || got["varve_pva_sent_bytes_total"] == 0 {
			t.Errorf("no bytes counted: %v", got)
		}
	})
}

// gather returns the values of counters and gauges by name and label values.
func gather(t *testing.T, g prometheus.Gatherer) map[string]float64 {
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

package cassandra_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	cassandrastore "varve.dev/varve/engine/store/cassandra"
)

// sum returns the sum of the values of a counter, gauge or histogram over its labels.
func sum(t *testing.T, reg prometheus.Gatherer, name string) (total float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		return total
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// TestBytesInFlightAreBounded checks that rows larger than the bound are written one at a
// time.
func TestBytesInFlightAreBounded(t *testing.T) {
	cfg := config(t)
	reg := prometheus.NewPedanticRegistry()
	cfg.Registerer, cfg.InFlightBytes = reg, 1000
	st := open(t, cfg)
	if err := st.PutBlocks(t.Context(), benchBlocks("A", 20)...); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"varve_cassandra_written_bytes_total": 20 * (8<<10 + 1), "varve_cassandra_in_flight_bytes": 0,
		"varve_cassandra_nodes": 1,
	} {
		if got := sum(t, reg, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	// On a busy machine the driver may write blocks twice, so there may be more requests.
	if got := sum(t, reg, "varve_cassandra_request_seconds"); got < 20 {
		t.Errorf("%v of 20 requests were answered", got)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	cfg := config(t)
	reg := prometheus.NewRegistry()
	cfg.Registerer = reg
	before := goleak.IgnoreCurrent()
	st, err := cassandrastore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.PutBlocks(t.Context(), benchBlocks("A", 3)...); err != nil {
		t.Fatal(err)
	}
	for range st.Blocks(t.Context(), "A", benchBlocks("A", 1)[0].Bucket, 0, 1e6) {
		break
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := reg.Gather(); err != nil || len(left) > 0 {
		t.Errorf("%d metrics are still registered after Close, %v", len(left), err)
	}
	goleak.VerifyNone(t, before)
}

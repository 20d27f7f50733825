package shards

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// The alert VarveEngineBlind sees the first move away from a blind engine only if the counter
// was 0 before.
func TestMovesOffBlindEnginesCountFromZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	newShardsMetrics(reg)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "varve_operator_moves_total" && m.GetLabel()[0].GetValue() == "Blind" {
				return
			}
		}
	}
	t.Error("the operator has no series of varve_operator_moves_total for Blind before the first move")
}

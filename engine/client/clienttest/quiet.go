package clienttest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
)

// Quiet has records without updates that are processed ten times per second: one has a constant value,
// the other a value that changes within its deadband.
const Quiet = `
record(calc, "T:CONST") { field(CALC, "5") field(SCAN, ".1 second") }
record(calc, "T:DRIFT") { field(CALC, "VAL+1") field(SCAN, ".1 second") field(MDEL, "1000000") field(ADEL, "1000000") }
`

// CheckQuiet checks, with an IOC that has the records of Quiet, how a client checks channels without
// updates. The client must check them every second. prefix is that of its metrics. The checks of the
// constant record have no effect. Those of the other record deliver its value.
func CheckQuiet(t *testing.T, c capture.Source, g prometheus.Gatherer, prefix string) {
	t.Helper()
	results := func(result string) float64 { return Gather(t, g)[prefix+"subscription_checks_total "+result] }
	constant, drift := &Recorder{}, &Recorder{}
	c.Subscribe("T:CONST", capture.SubscribeOptions{}, constant)
	Await(t, "five checks of the constant record", func() bool { return results("same") >= 5 })
	if results("changed")+results("failed")+results("unanswered") > 0 || constant.Connects != 1 || len(constant.Suspects()) > 0 {
		t.Errorf("the constant channel got %v; metrics %v", constant.Calls(), Gather(t, g))
	}
	before := len(constant.Words())
	c.Subscribe("T:DRIFT", capture.SubscribeOptions{}, drift)
	Await(t, "two checks that find another value", func() bool { return results("changed") >= 2 })
	words := drift.Floats()
	if len(words) < 3 || words[0] >= words[len(words)-1] || results("healed") > 0 || len(drift.Suspects()) < 2 {
		t.Errorf("the other channel got %v and %v; metrics %v", words, drift.Calls(), Gather(t, g))
	}
	if n := len(constant.Words()); n != before {
		t.Errorf("the constant channel got %d samples, then %d", before, n)
	}
}

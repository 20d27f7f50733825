package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/epics"
)

// launchOn runs an engine with a Channel Access client of its own for an IOC.
func launchOn(t *testing.T, st store.Store, ioc *epics.IOC, opts Options) *life {
	opts.Sources = capture.Sources{clienttest.Start(t, ca.New, ca.Config{Config: clienttest.ByUDP(ioc.CAAddr())})}
	return launch(t, st, nil, opts)
}

// oneWith returns an assignment of shard 0 with a PV.
func oneWith(sealing bool, pv string, set capture.Settings) Assignment {
	return Assignment{0: Shard{Seal: sealing, Channels: []capture.Channel{{PV: pv, Group: "lab/test", Settings: &set}}}}
}

// stored reads all samples of a PV since a time, as integers, or as hashes of their bytes.
func stored(t *testing.T, r *query.Reader, pv string, begin int64) (all []sample.Sample) {
	t.Helper()
	read, err := r.Read(t.Context(), pv, begin, time.Now().Add(time.Hour).UnixNano(), query.Options{Inside: true})
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range read.All {
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Len() {
			s := sample.Sample{Time: run.Times[i], Tag: run.Tags[i]}
			if run.Type.Fixed() {
				s.Word = uint64(run.Float(i))
			} else {
				s.Word = xxhash.Sum64(run.Value(i))
			}
			all = append(all, s)
		}
	}
	return all
}

// inState waits until a channel has a state in all engines.
func (f fleet) inState(t *testing.T, pv string, want capture.State) {
	t.Helper()
	for i, l := range f {
		eventually(t, fmt.Sprintf("engine %d: %s is %v", i, pv, want), func() bool {
			st, _ := l.Capture().Status(pv)
			return st.State == want
		})
	}
}

// moreUpdates waits until an engine has received n more updates of a PV.
func (l *life) moreUpdates(t *testing.T, pv string, n uint64) {
	t.Helper()
	before, _ := l.Capture().Status(pv)
	eventually(t, "more updates", func() bool {
		st, _ := l.Capture().Status(pv)
		return st.Received >= before.Received+n
	})
}

// TestAnEnabledPVOfARealIOC captures a PV of an IOC with two engines while another PV of the IOC enables and disables
// it. The shard moves meanwhile, and an engine restarts. Readers get each update once while the PV is enabled, none
// while it is disabled, and the cause of the gap.
func TestAnEnabledPVOfARealIOC(t *testing.T) {
	const pv = "T:COUNT"
	ioc := epics.StartIOC(t, `record(calc, "T:COUNT") { field(INPA, "T:COUNT") field(CALC, "A+1") field(SCAN, ".1 second") }
record(ao, "T:ON") { field(VAL, "1") field(PINI, "YES") }
`)
	st, begin := openStore(t), time.Now().UnixNano()
	set := capture.Settings{EnabledBy: "ca://T:ON > 0.5"}
	a, b := launchOn(t, st, ioc, Options{Checkpoint: 300 * time.Millisecond}), launchOn(t, st, ioc, Options{Checkpoint: 300 * time.Millisecond})
	a.Apply(oneWith(true, pv, set))
	b.Apply(oneWith(false, pv, set))
	both := fleet{a, b}
	reader := both.reader(st)
	both.inState(t, pv, capture.Connected)
	b.moreUpdates(t, pv, 15)

	ioc.Shell("dbpf T:ON 0")
	both.inState(t, pv, capture.Disabled)
	before := stored(t, reader, pv, begin)
	a.moreUpdates(t, pv, 10)
	if got := stored(t, reader, pv, begin); !slices.EqualFunc(got, before, func(a, b sample.Sample) bool { return a.Same(&b) }) {
		t.Errorf("%d samples when the PV was disabled, %d a second later", len(before), len(got))
	}

	b.Apply(oneWith(true, pv, set)) // the shard moves from a to b
	a.Apply(Assignment{})
	eventually(t, "the first engine has drained", func() bool { return len(a.Held()) == 0 })
	c := launchOn(t, st, ioc, Options{Checkpoint: 300 * time.Millisecond})
	c.Apply(oneWith(false, pv, set)) // and c becomes the second engine
	both = fleet{b, c}
	both.inState(t, pv, capture.Disabled)

	ioc.Shell("dbpf T:ON 1")
	both.inState(t, pv, capture.Connected)
	enabled := time.Now().UnixNano()
	b.moreUpdates(t, pv, 15)
	c.moreUpdates(t, pv, 15)
	b.end() // the first engine stops, and starts again
	b = launchOn(t, st, ioc, Options{Checkpoint: 300 * time.Millisecond})
	b.Apply(oneWith(true, pv, set))
	both = fleet{b, c}
	reader = both.reader(st)
	both.inState(t, pv, capture.Connected)
	b.moreUpdates(t, pv, 15)

	checkEnabledPV(t, stored(t, reader, pv, begin), before, enabled)
	var gaps []query.Gap
	for g, err := range query.Gaps(reader.Marks(t.Context(), pv, begin, time.Now().UnixNano()), func(k sample.MarkKind) bool { return k.IsState() && !k.Delivers() }) {
		if err != nil {
			t.Fatal(err)
		}
		gaps = append(gaps, g)
	}
	if len(gaps) == 0 || gaps[0].Kind != sample.Disabled || gaps[0].To == 0 || gaps[0].To > enabled {
		t.Errorf("the gaps are %+v; the PV was enabled before %d", gaps, enabled)
	}
}

// checkEnabledPV checks the samples of a counter that was disabled once. before are those from before, and it was enabled
// again before a time. The update after the first one of a subscription may be missing (see checkRuns in test/standalone).
func checkEnabledPV(t *testing.T, all, before []sample.Sample, enabled int64) {
	t.Helper()
	leaps := 0
	for i := 1; i < len(all); i++ {
		step := int(all[i].Word) - int(all[i-1].Word)
		switch {
		case step <= 0 || all[i].Time <= all[i-1].Time:
			t.Errorf("sample %d is %d, after %d", i, all[i].Word, all[i-1].Word)
		case step > 1 && i == len(before):
			leaps++ // disabled
		case step > 1 && i > 2 && i != len(before)+1 && i != len(before)+2:
			t.Errorf("samples are missing between %d and %d", all[i-1].Word, all[i].Word)
		}
	}
	if leaps != 1 || len(before) < 10 || len(all) < len(before)+25 {
		t.Errorf("%d samples, %d before the PV was disabled, leaps over %d times without samples", len(all), len(before), leaps)
		return
	}
	if first := all[len(before)]; first.Time >= enabled || first.Word < before[len(before)-1].Word+9 {
		t.Errorf("the first sample after the PV was enabled is %d at %d", first.Word, first.Time)
	}
}

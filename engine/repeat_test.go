package engine

import (
	"testing"
	"time"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
)

// TestRepeatedSamplesOfARealIOC captures records whose values do not change with two engines, by both protocols. The shard
// moves meanwhile. Readers get one sample at each second, and none twice.
func TestRepeatedSamplesOfARealIOC(t *testing.T) {
	ioc := epics.StartIOC(t, `record(ao, "T:PASSIVE") { field(VAL, "7") field(PINI, "YES") }
record(calc, "T:SCANNED") { field(CALC, "7") field(SCAN, ".1 second") }
record(waveform, "T:ARRAY") { field(FTVL, "DOUBLE") field(NELM, "3") field(INP, [1,2,3]) field(PINI, "YES") }
`)
	st, begin := openStore(t), time.Now()
	run := func() *life {
		return launch(t, st, nil, Options{Checkpoint: 300 * time.Millisecond, Sources: capture.Sources{
			clienttest.Start(t, ca.New, ca.Config{Config: clienttest.ByUDP(ioc.CAAddr())}),
			clienttest.Start(t, pva.New, pva.Config{Config: clienttest.ByTCP(ioc.PVAAddr())}),
		}})
	}
	pvs := []string{"T:ARRAY", "T:PASSIVE", "T:SCANNED", "T:SCANNED.CALC", "T:SCANNED.SCAN"}
	assignment := func(sealing bool) Assignment {
		s := Shard{Seal: sealing}
		for i, pv := range pvs {
			set := &capture.Settings{MaxPeriod: time.Second}
			if i == 1 || i == 3 {
				set.Provider = capture.PVA
			}
			s.Channels = append(s.Channels, capture.Channel{PV: pv, Group: "lab/test", Settings: set})
		}
		return Assignment{0: s}
	}
	a, b := run(), run()
	a.Apply(assignment(true))
	b.Apply(assignment(false))
	both := fleet{a, b}
	for _, pv := range pvs {
		both.inState(t, pv, capture.Connected)
	}
	connected := time.Now()
	await := func(seconds time.Duration) {
		t.Helper()
		until := time.Now().Add(seconds * time.Second).UnixNano()
		for _, pv := range pvs {
			eventually(t, "repeated samples of "+pv, func() bool {
				all := stored(t, both.reader(st), pv, begin.UnixNano())
				return len(all) > 0 && all[len(all)-1].Time >= until
			})
		}
	}
	await(4)
	b.Apply(assignment(true)) // the shard moves from a to b
	a.Apply(Assignment{})
	eventually(t, "the first engine has drained", func() bool { return len(a.Held()) == 0 })
	both = fleet{b}
	await(4)
	holes, missed := 0, uint64(0)
	for _, pv := range pvs {
		holes += checkRepeated(t, pv, stored(t, both.reader(st), pv, 0), connected)
	}
	for i, l := range []*life{a, b} {
		n := l.Capture().Totals()
		if n.Suspected > 0 || n.Dropped[sample.Duplicate] > 0 {
			t.Errorf("engine %d: suspected %d, duplicates %d", i, n.Suspected, n.Dropped[sample.Duplicate])
		}
		missed += n.MissedRepeats
	}
	if holes > 0 && missed == 0 { // on a busy machine, both engines may read a value too late, but they count it
		t.Errorf("%d seconds have no sample, and no engine has counted one", holes)
	}
}

// checkRepeated checks that there is at most one repeated sample at each second from a time on, with the value of the first
// sample. It returns the number of seconds without one.
func checkRepeated(t *testing.T, pv string, all []sample.Sample, from time.Time) (holes int) {
	t.Helper()
	const second = int64(time.Second)
	last, repeated := int64(0), 0
	for _, s := range all {
		if s.Tag&sample.EngineClock == 0 {
			continue
		}
		if repeated++; s.Time <= last || s.Time%second != 0 || s.Word != all[0].Word {
			t.Errorf("%s: the repeated sample %d at %d, after one at %d, want %d", pv, s.Word, s.Time, last, all[0].Word)
		}
		if last >= from.UnixNano()+second {
			holes += int((s.Time-last)/second) - 1
		}
		last = s.Time
	}
	if updates := len(all) - repeated; repeated+holes < 7 || updates < 1 || updates > 4 {
		t.Errorf("%s: %d updates, %d repeated samples", pv, updates, repeated)
	}
	return holes
}

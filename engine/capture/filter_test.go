package capture

import (
	"math"
	"testing"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
)

const sec = int64(time.Second)

func val(t int64, v float64) sample.Sample { return sample.Sample{Time: t, Word: math.Float64bits(v)} }

func alarm(s sample.Sample, sev sample.Severity, status uint16) sample.Sample {
	s.Tag = sample.MakeTag(sev, status)
	return s
}

func TestFilter(t *testing.T) {
	const kept = sample.Reason(255)
	now := 1_700_000_000 * sec
	nan := math.NaN()
	type step struct {
		s    sample.Sample
		want sample.Reason
	}
	for name, tc := range map[string]struct {
		set   Settings
		steps []step
	}{
		"no filters keep everything that is new": {Settings{}, []step{
			{val(now, 1), kept}, {val(now+1, 1), kept}, {val(now+1, 2), kept}, {val(now-5*sec, 2), kept},
		}},
		"the same sample again": {Settings{}, []step{
			{val(now, 1), kept}, {val(now, 1), sample.Duplicate}, {alarm(val(now, 1), sample.Minor, 4), kept},
		}},
		"absolute deadband": {Settings{Absolute: 0.5}, []step{
			{val(now, 1), kept}, {val(now+1, 1.5), sample.Deadband}, {val(now+2, 1.51), kept}, {val(now+3, 1.2), sample.Deadband},
			{val(now+4, 1.0), kept},
		}},
		"a slow drift leaves the deadband": {Settings{Absolute: 1}, []step{
			{val(now, 0), kept}, {val(now+1, 0.6), sample.Deadband}, {val(now+2, 1.2), kept},
		}},
		"relative deadband": {Settings{Relative: 0.1}, []step{
			{val(now, -100), kept}, {val(now+1, -109), sample.Deadband}, {val(now+2, -111), kept}, {val(now+3, 0), kept}, {val(now+4, 1e-9), kept},
		}},
		"the wider of two deadbands": {Settings{Absolute: 1, Relative: 0.1}, []step{
			{val(now, 1), kept}, {val(now+1, 1.9), sample.Deadband}, {val(now+2, 100), kept}, {val(now+3, 109), sample.Deadband},
		}},
		"alarms pass the deadband": {Settings{Absolute: 10}, []step{
			{val(now, 1), kept}, {alarm(val(now+1, 1.1), sample.Minor, 4), kept},
			{alarm(val(now+2, 1.1), sample.Minor, 4), sample.Deadband}, {alarm(val(now+3, 1.1), sample.Minor, 6), kept}, {val(now+4, 1), kept},
		}},
		"NaN passes when it comes and when it goes": {Settings{Absolute: 10}, []step{
			{val(now, 1), kept}, {val(now+1, nan), kept}, {val(now+2, nan), sample.Deadband}, {val(now+3, 1), kept},
			{val(now+4, math.Inf(1)), kept}, {val(now+5, math.Inf(1)), sample.Deadband},
		}},
		"unchanged values": {Settings{Unchanged: true}, []step{
			{val(now, 1), kept}, {val(now+1, 1), sample.Deadband}, {alarm(val(now+2, 1), sample.Minor, 4), kept},
			{alarm(val(now+3, 1), sample.Minor, 4), sample.Deadband}, {val(now+4, 1), kept}, {val(now+5, math.Nextafter(1, 2)), kept},
			{val(now+6, nan), kept}, {val(now+7, nan), sample.Deadband},
		}},
		"the first value of each heartbeat": {Settings{Unchanged: true, Heartbeat: 10 * time.Second}, []step{
			{val(now+3*sec, 1), kept}, {val(now+9*sec, 1), sample.Deadband}, {val(now+10*sec, 1), kept}, {val(now+19*sec, 1), sample.Deadband},
			{val(now+35*sec, 1), kept}, {val(now+36*sec, 1), sample.Deadband}, {val(now+37*sec, 2), kept}, {val(now+39*sec, 2), sample.Deadband},
			{val(now+40*sec, 2), kept},
		}},
		"a heartbeat passes the deadband": {Settings{Absolute: 1, Heartbeat: 10 * time.Second}, []step{
			{val(now, 1), kept}, {val(now+9*sec, 1.5), sample.Deadband}, {val(now+10*sec, 1.5), kept}, {val(now+11*sec, 2.4), sample.Deadband},
		}},
		"a heartbeat does not pass the rate": {Settings{Unchanged: true, Heartbeat: time.Second, MaxRate: 0.1}, []step{
			{val(now, 1), kept}, {val(now+sec, 1), sample.Rate}, {val(now+10*sec, 1), kept},
		}},
		"one sample per slot of source time": {Settings{MaxRate: 2}, []step{
			{val(now, 1), kept}, {val(now+sec/4, 2), sample.Rate}, {val(now+sec/2, 3), kept},
			{alarm(val(now+sec*3/4, 4), sample.Major, 3), kept},
		}},
		"far from the arrival, restamped": {Settings{Ahead: time.Minute, Behind: time.Minute}, []step{
			{val(now-3600*sec, 1), kept}, {val(now+61*sec, 2), kept}, {val(now-61*sec, 3), kept},
		}},
		"far from the arrival, refused": {Settings{Ahead: time.Minute, Behind: time.Minute, OnClock: Refuse}, []step{
			{val(0, 1), kept}, {val(now+61*sec, 2), sample.Clock}, {val(now+59*sec, 2), kept}, {val(now-61*sec, 3), sample.Clock},
			{val(now-59*sec, 3), kept},
		}},
		"too large": {Settings{}, []step{{sample.Sample{Bytes: make([]byte, MaxValueBytes+1)}, sample.TooLarge}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := filter{set: &tc.set, typ: sample.Float64, fresh: true}
			for i, st := range tc.steps {
				reason, ok := f.keep(&st.s, clock.At(now))
				if ok {
					reason = kept
				}
				if reason != st.want {
					t.Fatalf("step %d: %v, want %v", i, reason, st.want)
				}
			}
		})
	}
}

// TestUnchangedValuesOfAllTypes checks that values without a number are compared, too, and that large integers
// are not compared as floats.
func TestUnchangedValuesOfAllTypes(t *testing.T) {
	now := 1_700_000_000 * sec
	text := func(s string) sample.Sample { return sample.Sample{Bytes: []byte(s)} }
	word := func(w uint64) sample.Sample { return sample.Sample{Word: w} }
	for typ, v := range map[sample.Type][2]sample.Sample{
		sample.String:          {text("open"), text("closed")},
		sample.Float64.Array(): {text("\x00\x00\x00\x00\x00\x00\xf0?"), text("\x00\x00\x00\x00\x00\x00\x00@")},
		sample.Enum:            {word(1), word(2)},
		sample.Int64:           {word(1 << 60), word(1<<60 + 1)},
	} {
		f := filter{set: &Settings{Unchanged: true}, typ: typ, fresh: true}
		for i, want := range []bool{true, false, true, false, true} {
			s := v[i/2%2]
			s.Time = now + int64(i)
			if _, kept := f.keep(&s, clock.At(now)); kept != want {
				t.Errorf("%v: value %d is kept: %v, want %v", typ, i, kept, want)
			}
		}
	}
}

// TestWrongClockOfTheEngine checks that a good time of an IOC stays although the engine's clock is
// wrong, and that a wrong one is replaced by the corrected time.
func TestWrongClockOfTheEngine(t *testing.T) {
	now := 1_700_000_000 * sec // the true time
	slow := 360 * sec
	known := clock.Instant{Now: now, From: now - sec, To: now + sec}
	doubtful := clock.Instant{Now: now - slow, From: now - slow, To: now}
	for name, tc := range map[string]struct {
		at       clock.Instant
		ago      int64
		restamps bool
		time     int64 // if restamped
	}{
		"right, good":              {clock.At(now), 0, false, 0},
		"slow, good":               {clock.At(now - slow), 0, true, now - slow}, // without evidence
		"slow and known, good":     {known, 0, false, 0},
		"slow and known, ahead":    {known, -302 * sec, true, now},
		"slow and known, behind":   {known, 302 * sec, true, now},
		"slow and doubtful, good":  {doubtful, 0, false, 0},
		"slow and doubtful, ahead": {doubtful, -301 * sec, true, now - slow},
		"slow and doubtful, old":   {doubtful, 661 * sec, true, now - slow},
	} {
		f := filter{set: &Settings{Ahead: 5 * time.Minute, Behind: 5 * time.Minute}, typ: sample.Float64}
		s := val(now-tc.ago, 1)
		want := s.Time
		if tc.restamps {
			want = tc.time
		}
		if _, ok := f.keep(&s, tc.at); !ok || s.Time != want || s.Tag&sample.EngineClock != 0 != tc.restamps {
			t.Errorf("%s: kept %v, time %d s from the true one, tag %x", name, ok, (s.Time-now)/sec, s.Tag)
		}
	}
}

func TestClockOfTheEngine(t *testing.T) {
	now := 1_700_000_000 * sec
	old := val(now-3600*sec, 1)
	for name, tc := range map[string]struct {
		set      Settings
		fresh    bool
		time     int64
		restamps bool
	}{
		"asked for":                           {Settings{Clock: EngineClock}, false, now, true},
		"behind":                              {Settings{Behind: time.Minute}, false, now, true},
		"behind, first on connecting":         {Settings{Behind: time.Minute}, true, old.Time, false},
		"within the limit":                    {Settings{Behind: 2 * time.Hour}, false, old.Time, false},
		"no limit":                            {Settings{}, false, old.Time, false},
		"a limit in the other direction only": {Settings{Ahead: time.Minute}, false, old.Time, false},
	} {
		s := old
		f := filter{set: &tc.set, typ: sample.Float64, fresh: tc.fresh}
		if _, ok := f.keep(&s, clock.At(now)); !ok || s.Time != tc.time || s.Tag&sample.EngineClock != 0 != tc.restamps {
			t.Errorf("%s: kept %v, time %d, tag %x", name, ok, s.Time, s.Tag)
		}
		again := old
		if reason, ok := f.keep(&again, clock.At(now+1)); ok || reason != sample.Duplicate {
			t.Errorf("%s: the same update again is kept", name)
		}
	}
}

// TestScanChoosesTheLastOfEachSlot checks that two engines that receive the same updates
// choose the same samples. Earlier updates and late timers must make no difference.
func TestScanChoosesTheLastOfEachSlot(t *testing.T) {
	const period = 10 * time.Second
	at := func(s float64) int64 { return int64(s * 1e9) }
	arrivals := []float64{1, 4, 9.9, 10, 10.1, 31, 45, 49}
	want := []int64{at(10), at(10.1), at(31), at(49)}
	for name, ticks := range map[string]map[int]float64{
		"timer only at the end":  {7: 60},
		"timer after every slot": {3: 10, 4: 20, 5: 40, 7: 50},
		"timer late by a slot":   {4: 10, 5: 20, 6: 30, 7: 60},
		"timer fires often":      {0: 0, 1: 0, 3: 10, 4: 20, 5: 40, 6: 40, 7: 50},
	} {
		var sc scanner
		var got []int64
		emit := func(s *sample.Sample) { got = append(got, s.Time) }
		passed := uint64(0)
		for i, a := range arrivals {
			s := val(at(a), a)
			passed += sc.offer(&s, period, emit)
			if end, ok := ticks[i]; ok {
				sc.tick(at(end), period, emit)
			}
		}
		if len(got) != len(want) || passed != uint64(len(arrivals)-len(want)) {
			t.Fatalf("%s: chose %v and dropped %d, want %v", name, got, passed, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: chose %v, want %v", name, got, want)
			}
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	f := filter{set: &Settings{Absolute: 0.5, MaxRate: 100}, typ: sample.Float64}
	b.ReportAllocs()
	i := 0.0
	for b.Loop() {
		s := val(int64(i*1e8), i)
		f.keep(&s, clock.At(int64(i*1e8)))
		i++
	}
}

package capture

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// server is a source whose subscriptions can read values at once. It answers with the present value of the PV.
type server struct {
	*script
	mu    sync.Mutex
	value func(pv string) *sample.Sample // nil: the server does not answer
	polls []string
	full  bool // the server gets no more requests
}

type polled struct {
	scripted
	at *server
}

func (s *server) Subscribe(pv string, opts SubscribeOptions, sink Sink) Subscription {
	return polled{s.script.Subscribe(pv, opts, sink).(scripted), s}
}

func (p polled) Poll() bool {
	p.at.mu.Lock()
	defer p.at.mu.Unlock()
	if p.at.full {
		return false
	}
	p.at.polls = append(p.at.polls, p.pv)
	if p.at.value != nil {
		p.s.sink(p.pv).Checked(p.at.value(p.pv), time.Now())
	}
	return true
}

// takePolls returns the PVs that were read since the previous call.
func (s *server) takePolls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	polls := s.polls
	s.polls = nil
	return polls
}

// answer sets the value that the server has.
func (s *server) answer(value func(pv string) *sample.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = value
}

// withServer runs a test of a manager whose source is a server.
func withServer(t *testing.T, f func(r *rig, s *server)) {
	inManager(t, func(r *rig) {
		s := &server{script: r.source}
		r.sources[CA] = s
		f(r, s)
	})
}

// keptSample is a sample that a channel kept.
type keptSample struct {
	second float64 // of its minute
	value  float64
	engine bool // the time comes from the clock of the engine
}

// record returns a function that returns the latest sample that a channel kept, if it is new.
func (r *rig) record(t *testing.T, pv string) func() (out []keptSample) {
	var before sample.Sample
	return func() (out []keptSample) {
		st := r.status(t, pv)
		if st.HasLast && !st.Last.Same(&before) {
			before = st.Last
			out = append(out, keptSample{float64(st.Last.Time%int64(time.Minute)) / 1e9, math.Float64frombits(st.Last.Word), st.Last.Tag&sample.EngineClock != 0})
		}
		return out
	}
}

// TestADroppedUpdateKeepsItsTime lets maxRate drop an update at the beginning of an interval. The sample of the interval must not
// say that the PV had the value before.
func TestADroppedUpdateKeepsItsTime(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		r.Apply(Assignment{0: groupOf(Settings{MaxPeriod: 10 * time.Second, MaxRate: 1.0 / 3600}, "A")})
		present := r.float(5)
		s.answer(func(string) *sample.Sample { again := *present; return &again })
		sink := r.connect("A", sample.Float64)
		first := *present
		sink.Sample(&first)
		var got []keptSample
		news := r.record(t, "A")
		for i := range 4 * 40 {
			if i == 4*30+1 {
				present = r.float(6)
				update := *present
				sink.Sample(&update)
			}
			got = append(got, news()...)
			testclock.Advance(250 * time.Millisecond)
		}
		want := []keptSample{{0, 5, false}, {10, 5, true}, {20, 5, true}, {30.25, 6, false}}
		if !slices.Equal(got, want) {
			t.Errorf("kept %v, want %v", got, want)
		}
	})
}

// TestALargeValueIsNotRepeated reads a value again that is too large to be archived.
func TestALargeValueIsNotRepeated(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		r.Apply(Assignment{0: groupOf(Settings{MaxPeriod: 10 * time.Second}, "A")})
		large := sample.Sample{Time: r.float(1).Time, Bytes: make([]byte, MaxValueBytes+1)}
		s.answer(func(string) *sample.Sample { again := large; return &again })
		sink := r.connect("A", sample.Uint8.Array())
		again := large
		sink.Sample(&again)
		testclock.Advance(25 * time.Second)
		if st := r.status(t, "A"); st.Stored != 0 || st.Dropped[sample.TooLarge] < 2 {
			t.Errorf("stored %d, too large %d", st.Stored, st.Dropped[sample.TooLarge])
		}
	})
}

// TestAnUnchangedValueIsRepeated checks that each interval of MaxPeriod gets a sample, which has the beginning of the
// interval as its time if there was no update, and that nothing is marked or counted as lost.
func TestAnUnchangedValueIsRepeated(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		r.Apply(Assignment{0: groupOf(Settings{MaxPeriod: 10 * time.Second, Unchanged: true}, "A")})
		first := r.float(5)
		s.answer(func(string) *sample.Sample { // a record that is processed: a new time, and the same value
			again := r.float(5)
			return again
		})
		sink := r.connect("A", sample.Float64)
		sink.Sample(first)
		var got []keptSample
		news := r.record(t, "A")
		for i := range 48 {
			if i == 27 {
				sink.Sample(r.float(6))
				s.answer(func(string) *sample.Sample { return r.float(6) })
			}
			got = append(got, news()...)
			testclock.Advance(time.Second)
		}
		want := []keptSample{{0, 5, false}, {10, 5, true}, {20, 5, true}, {27, 6, false}, {30, 6, true}, {40, 6, true}}
		if !slices.Equal(got, want) {
			t.Errorf("kept %v, want %v", got, want)
		}
		st := r.status(t, "A")
		if st.Received != 6 || st.Stored != 6 || st.Suspected != 0 || r.Totals().MissedRepeats != 0 {
			t.Errorf("received %d, stored %d, suspected %d, missed %d", st.Received, st.Stored, st.Suspected, r.Totals().MissedRepeats)
		}
		if n := len(s.takePolls()); n != 4 {
			t.Errorf("%d reads", n)
		}
		sink = r.connect("A", sample.Float64) // the server sends the latest update again
		sink.Sample(&sample.Sample{Time: first.Time + int64(27*time.Second), Word: math.Float64bits(6)})
		if d := r.status(t, "A").Dropped; d[sample.Duplicate] != 1 {
			t.Errorf("the latest update after a repeated sample is dropped as %v", d)
		}
		r.wantMarks(t, "all", "A connected")
	})
}

// TestARepeatedValueThatChanged checks that a value without an update is stored with its own time, and that it renews the
// subscription at most once in a while.
func TestARepeatedValueThatChanged(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		r.Apply(Assignment{0: groupOf(Settings{MaxPeriod: 5 * time.Second}, "A")})
		sink := r.connect("A", sample.Float64)
		sink.Sample(r.float(1))
		testclock.Advance(time.Second)
		renewed, v := 0, 1.0
		for range 240 { // 20 minutes, in which the value drifts within the record's deadband
			v += 0.01
			at := r.float(v)
			if sink.Checked(at, time.Now()) {
				renewed++
			}
			if st := r.status(t, "A"); st.Last.Time != at.Time || st.Last.Tag&sample.EngineClock != 0 || st.Last.Word != at.Word {
				t.Fatalf("the value %v at %d is not kept: %v", v, at.Time, st.Last)
			}
			testclock.Advance(5 * time.Second)
		}
		if renewed != 2 {
			t.Errorf("%d values renewed the subscription", renewed)
		}
	})
}

// TestReadsAreBoundedAndSpread checks that a server gets one read of a PV in each interval, spread over time, that all PVs
// get their turn, and that missing samples are counted.
func TestReadsAreBoundedAndSpread(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		var pvs []string
		for i := range 200 {
			pvs = append(pvs, "A"+string(rune('a'+i/20))+string(rune('a'+i%20)))
		}
		r.Apply(Assignment{0: groupOf(Settings{MaxPeriod: 20 * time.Second}, pvs...)})
		testclock.Advance(time.Second)
		for _, pv := range pvs {
			r.connect(pv, sample.Float64).Sample(r.float(1))
		}
		testclock.Advance(18900 * time.Millisecond)
		s.takePolls()
		most := 0
		for range 10 { // the first half of the interval
			testclock.Advance(time.Second)
			most = max(most, len(s.takePolls()))
		}
		if most < 10 || most > 60 {
			t.Errorf("at most %d reads in a second", most)
		}
		testclock.Advance(11 * time.Second)
		if n := r.Totals().MissedRepeats; n != 200 {
			t.Errorf("%d intervals without a sample are counted, and no read was answered", n)
		}
		s.answer(func(string) *sample.Sample { return r.float(1) })
		testclock.Advance(20 * time.Second)
		before := r.Totals().MissedRepeats
		s.takePolls()
		testclock.Advance(20 * time.Second)
		polls := s.takePolls()
		slices.Sort(polls)
		if n := len(slices.Compact(polls)); n != 200 || len(polls) != 200 || r.Totals().MissedRepeats != before {
			t.Errorf("%d reads of %d PVs; missed %d", len(polls), n, r.Totals().MissedRepeats-before)
		}
	})
}

// TestNothingIsReadFromPVsThatAreNotCaptured checks which channels are not read.
func TestNothingIsReadFromPVsThatAreNotCaptured(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		set := enabledBy("!= 0")
		set.MaxPeriod = time.Second
		never, paused, scan := Settings{}, Settings{MaxPeriod: time.Second, Paused: true}, Settings{Mode: Scan, Period: time.Second, MaxPeriod: time.Second}
		r.Apply(Assignment{0: slices.Concat(groupOf(set, "A"), groupOf(never, "B"), groupOf(paused, "C"), groupOf(scan, "D"), groupOf(Settings{MaxPeriod: time.Second}, "F", "G"))})
		r.connect("E", sample.Float64).Sample(r.float(0))
		for _, pv := range []string{"A", "B", "D", "F"} {
			r.connect(pv, sample.Float64)
		}
		r.source.sink("A").Sample(r.float(1))
		for range 40 { // D has an update in each interval; F has had none yet, and G is not connected
			r.source.sink("D").Sample(r.float(1))
			testclock.Advance(250 * time.Millisecond)
		}
		if polls := s.takePolls(); len(polls) > 0 {
			t.Errorf("read %v", polls)
		}
		if n := r.Totals().MissedRepeats; n != 0 {
			t.Errorf("%d intervals are missed", n)
		}
		s.answer(func(string) *sample.Sample { return r.float(1) })
		testclock.Advance(5 * time.Second)
		if st := r.status(t, "D"); st.Last.Tag&sample.EngineClock == 0 || st.Last.Time%int64(time.Second) != 0 {
			t.Errorf("D has %v", st.Last)
		}
	})
}

// TestRepetitionFollowsTheSettings sets, removes and sets MaxPeriod while a channel is captured.
func TestRepetitionFollowsTheSettings(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		r.connect("A", sample.Float64).Sample(r.float(1))
		s.answer(func(string) *sample.Sample { return r.float(1) })
		for i, period := range []time.Duration{0, time.Second, 0, time.Second} {
			r.Apply(Assignment{0: groupOf(Settings{MaxPeriod: period}, "A")})
			testclock.Advance(5500 * time.Millisecond)
			if n := len(s.takePolls()); period == 0 && n > 0 || period > 0 && (n < 5 || n > 6) {
				t.Errorf("step %d, MaxPeriod %v: %d reads in 5.5 s", i, period, n)
			}
		}
	})
}

// TestALateClockOfAnIOC checks that a value is not repeated while an update with an earlier time may follow.
func TestALateClockOfAnIOC(t *testing.T) {
	withServer(t, func(r *rig, s *server) {
		const behind = 3 * time.Second
		r.Apply(Assignment{0: groupOf(Settings{MaxPeriod: 10 * time.Second}, "A")})
		sink := r.connect("A", sample.Float64)
		v := 0.0
		value := func() *sample.Sample {
			return &sample.Sample{Time: r.now() - int64(behind), Word: math.Float64bits(v)}
		}
		s.answer(func(string) *sample.Sample { return value() })
		testclock.Advance(4 * time.Second)
		var all []sample.Sample
		for range 120 { // an update at 4, 4.5, 5, … s, with times up to 3 s earlier
			v++
			sink.Sample(value())
			testclock.Advance(500 * time.Millisecond)
			all = append(all, r.status(t, "A").Last)
		}
		v++
		sink.Sample(value()) // the last one
		for range 60 {
			testclock.Advance(500 * time.Millisecond)
			all = append(all, r.status(t, "A").Last)
		}
		repeated := 0
		for i := range all {
			if i > 0 && all[i].Time < all[i-1].Time {
				t.Errorf("a sample at %d follows one at %d", all[i].Time, all[i-1].Time)
			}
			if all[i].Tag&sample.EngineClock != 0 && (i == 0 || !all[i].Same(&all[i-1])) {
				repeated++
			}
		}
		if repeated < 2 {
			t.Errorf("%d values are repeated after the last update", repeated)
		}
	})
}

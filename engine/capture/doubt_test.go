package capture

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// lateMarks returns the marks that say that a value changed without an update.
func (r *rig) lateMarks() (late []sample.Mark) {
	r.marks.mu.Lock()
	defer r.marks.mu.Unlock()
	for _, m := range r.marks.marks {
		if m.Kind == sample.Lost && m.Text == lateChange {
			late = append(late, m.Mark)
		}
	}
	return late
}

// answer answers the subscriptions to deadbands.
func (r *rig) answer(source *script, deadbands map[string]float64) {
	for field, value := range deadbands {
		sink := source.sink("A." + field)
		sink.Connected(ChannelInfo{Type: sample.Float64, TypeName: "float64", Count: 1})
		sink.Sample(&sample.Sample{Time: r.now(), Word: math.Float64bits(value)})
	}
}

// TestAValueWithinTheRecordsDeadbandIsNoLoss checks that a value which a check has read is marked as a
// possible loss only if no deadband of the record explains why there was no update for it.
func TestAValueWithinTheRecordsDeadbandIsNoLoss(t *testing.T) {
	for name, c := range map[string]struct {
		pv        string // A by default
		set       Settings
		typ       sample.Type // Float64 by default
		value     float64     // the last update is 5
		severity  sample.Severity
		calls     string // subscriptions to fields
		deadbands map[string]float64
		mark      bool
	}{
		"within ADEL":                   {value: 8, calls: "+A.ADEL", deadbands: map[string]float64{"ADEL": 3}},
		"within ADEL of an old value":   {value: -0.5, calls: "+A.ADEL", deadbands: map[string]float64{"ADEL": 3}},
		"beyond ADEL":                   {value: 12, calls: "+A.ADEL", deadbands: map[string]float64{"ADEL": 3}, mark: true},
		"without a deadband":            {value: 5.001, calls: "+A.ADEL", deadbands: map[string]float64{"ADEL": 0}, mark: true},
		"every processing is an update": {value: 5.001, calls: "+A.ADEL", deadbands: map[string]float64{"ADEL": -1}, mark: true},
		"ADEL is no number":             {value: 6, calls: "+A.ADEL", deadbands: map[string]float64{"ADEL": math.NaN()}, mark: true},
		"events Value":                  {set: Settings{Events: EventValue | EventAlarm}, value: 8, calls: "+A.MDEL", deadbands: map[string]float64{"MDEL": 3}},
		"beyond one of two":             {set: Settings{Events: EventValue | EventLog}, value: 8, calls: "+A.MDEL +A.ADEL", deadbands: map[string]float64{"MDEL": 1, "ADEL": 3}, mark: true},
		"within both":                   {set: Settings{Events: EventValue | EventLog}, value: 8, calls: "+A.MDEL +A.ADEL", deadbands: map[string]float64{"MDEL": 2, "ADEL": 3}},
		"one is unknown":                {set: Settings{Events: EventValue | EventLog}, value: 8, calls: "+A.MDEL +A.ADEL", deadbands: map[string]float64{"MDEL": 2}, mark: true},
		"only alarms are updates":       {set: Settings{Events: EventAlarm}, value: 8},
		"scanned":                       {set: Settings{Mode: Scan, Period: time.Second}, value: 8, calls: "+A.ADEL", deadbands: map[string]float64{"ADEL": 3}},
		"no record":                     {value: 8, calls: "+A.ADEL", mark: true},
		"another alarm":                 {value: 5, severity: sample.Major, mark: true},
		"a field":                       {pv: "A.HIGH", value: 8, mark: true},
		"another alarm of a field":      {pv: "A.HIGH", value: 5, severity: sample.Major},
		"another alarm of VAL":          {pv: "A.VAL$", value: 5, severity: sample.Major, mark: true},
		"a field and its alarm":         {pv: "A.HIGH", value: 8, severity: sample.Major, mark: true},
		"an enumeration":                {typ: sample.Enum, value: 8, mark: true},
		"infinite":                      {value: math.Inf(1), mark: true},
	} {
		t.Run(name, func(t *testing.T) {
			inManager(t, func(r *rig) {
				pv, typ := "A", sample.Float64
				if c.pv != "" {
					pv = c.pv
				}
				if c.typ != sample.Unknown {
					typ = c.typ
				}
				r.Apply(Assignment{0: groupOf(c.set, pv)})
				sink := r.connect(pv, typ)
				sink.Sample(&sample.Sample{Time: r.now(), Word: math.Float64bits(5)})
				since := time.Now()
				r.source.takeCalls()
				testclock.Advance(10 * time.Minute)
				s := &sample.Sample{Time: r.now(), Word: math.Float64bits(c.value), Tag: sample.MakeTag(c.severity, 0)}
				to := r.now()
				if !sink.Checked(s, since) {
					t.Fatal("the value is not stored")
				}
				testclock.Advance(2 * time.Second)
				if got := r.source.takeCalls(); got != c.calls {
					t.Fatalf("subscriptions %q, want %q", got, c.calls)
				}
				r.answer(r.source, c.deadbands)
				testclock.Advance(answerWithin)
				if got, want := r.source.takeCalls(), strings.ReplaceAll(c.calls, "+", "-"); got != want {
					t.Errorf("subscriptions at the end %q, want %q", got, want)
				}
				tot := r.Totals()
				switch late := r.lateMarks(); {
				case c.mark && (len(late) != 1 || late[0].Time != since.UnixNano() || late[0].End != to || late[0].Reason != sample.Overrun || tot.Suspected != 1 || tot.WithinDeadband != 0):
					t.Errorf("marks %+v, want one from %d to %d; %+v", late, since.UnixNano(), to, tot)
				case !c.mark && (len(late) > 0 || tot.Suspected != 0 || tot.WithinDeadband != 1):
					t.Errorf("marks %+v; %+v", late, tot)
				}
			})
		})
	}
}

// TestRecordsOverPVAHaveMDEL checks that the deadband of the events Value counts over pvAccess.
func TestRecordsOverPVAHaveMDEL(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Provider: PVA}, "A")})
		sink := r.pva.sink("A")
		sink.Connected(ChannelInfo{Type: sample.Int32, TypeName: "int32", Count: 1})
		sink.Sample(&sample.Sample{Time: r.now(), Word: 5})
		r.pva.takeCalls()
		sink.Checked(&sample.Sample{Time: r.now(), Word: 7}, time.Now())
		testclock.Advance(2 * time.Second)
		if got := r.pva.takeCalls(); got != "+A.MDEL" {
			t.Fatalf("subscriptions %q", got)
		}
		r.answer(r.pva, map[string]float64{"MDEL": 2})
		testclock.Advance(2 * time.Second)
		if late := r.lateMarks(); len(late) > 0 || r.Totals().WithinDeadband != 1 {
			t.Errorf("marks %v, %+v", late, r.Totals())
		}
	})
}

// TestAValueThatAFilterDroppedIsNoLoss checks that a check which reads the last value, of which a
// filter dropped the update, stores the value and marks nothing.
func TestAValueThatAFilterDroppedIsNoLoss(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{MaxRate: 0.001}, "A")})
		sink := r.connect("A", sample.Float64)
		num(sink, time.Now(), 5)
		num(sink, time.Now().Add(time.Second), 6) // within the slot of the first
		r.source.takeCalls()
		testclock.Advance(10 * time.Minute)
		if !sink.Checked(&sample.Sample{Time: r.now(), Word: math.Float64bits(6)}, time.Now()) {
			t.Error("the value does not differ")
		}
		testclock.Advance(time.Minute)
		if st := r.status(t, "A"); st.Stored != 2 || len(r.lateMarks()) > 0 || r.source.takeCalls() != "" {
			t.Errorf("%d samples are stored, marks %v", st.Stored, r.lateMarks())
		}
	})
}

// TestADoubtIsMarkedWhenTheCaptureEnds checks that a value whose reason is not known yet is marked when
// its channel is removed, and that several values make one mark.
func TestADoubtIsMarkedWhenTheCaptureEnds(t *testing.T) {
	for name, wait := range map[string]time.Duration{"before the deadband is requested": 0, "before it is known": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inManager(t, func(r *rig) {
				r.Apply(Assignment{0: groupOf(Settings{}, "A")})
				sink := r.connect("A", sample.Float64)
				num(sink, time.Now(), 5)
				since := time.Now()
				testclock.Advance(time.Minute)
				var to int64
				for _, v := range []float64{6, 7} {
					to = r.now()
					sink.Checked(&sample.Sample{Time: to, Word: math.Float64bits(v)}, since)
					testclock.Advance(time.Millisecond)
				}
				if wait > 0 {
					testclock.Advance(wait)
				}
				r.source.takeCalls()
				r.Apply(Assignment{})
				if late := r.lateMarks(); len(late) != 1 || late[0].Time != since.UnixNano() || late[0].End != to {
					t.Errorf("marks %+v, want one from %d to %d", late, since.UnixNano(), to)
				}
				if got := r.source.takeCalls(); (got == "-A -A.ADEL") != (wait > 0) {
					t.Errorf("subscriptions at the end: %q", got)
				}
				testclock.Advance(time.Minute)
			})
		})
	}
}

// TestDoubtReplacesTheSubscriptionWithAMark checks that a newer sample of another engine leads to a new
// subscription, unless a deadband of the record explains why this engine had no update for it.
func TestDoubtReplacesTheSubscriptionWithAMark(t *testing.T) {
	for name, c := range map[string]struct {
		value   float64 // the last update is 5
		adel    float64
		typ     sample.Type
		replace bool
	}{
		"within the deadband": {value: 6, adel: 2, typ: sample.Float64},
		"beyond the deadband": {value: 16, adel: 2, typ: sample.Float64, replace: true},
		"the same again":      {value: 5, adel: 0, typ: sample.Float64, replace: true},
		"another type":        {value: 6, adel: 2, typ: sample.Int32, replace: true},
	} {
		t.Run(name, func(t *testing.T) {
			inManager(t, func(r *rig) {
				r.Apply(Assignment{0: append(groupOf(Settings{}, "A"), groupOf(Settings{Paused: true}, "P")...)})
				num(r.connect("A", sample.Float64), time.Now(), 5)
				r.source.takeCalls()
				stored := &sample.Run{Type: c.typ}
				stored.Append(&sample.Sample{Time: r.now() + 1e10, Word: math.Float64bits(c.value)})
				done := map[string]int{}
				for _, pv := range []string{"P", "nobody's", "A"} {
					r.Doubt(pv, stored, "it was silent", func() { done[pv]++ })
				}
				testclock.Advance(2 * time.Second)
				if r.source.sink("A.ADEL") != nil {
					r.answer(r.source, map[string]float64{"ADEL": c.adel})
				}
				testclock.Advance(2 * time.Second)
				calls := strings.Fields(r.source.takeCalls())
				if slices.Contains(calls, "-A") != c.replace || slices.Contains(calls, "+A") != c.replace || done["A"] > 1 || (done["A"] == 1) != c.replace || len(done) > 1 {
					t.Errorf("calls: %v, done: %v", calls, done)
				}
				m := r.marks.latest("A")
				if c.replace != (m.Kind == sample.Disconnected && strings.Contains(m.Text, "it was silent")) || len(r.lateMarks()) > 0 {
					t.Errorf("the mark is %+v", m)
				}
				if !c.replace {
					return
				}
				num(r.connect("A", sample.Float64), time.Now().Add(time.Second), 7)
				if st := r.status(t, "A"); st.State != Connected || st.Received != 2 || st.Last.Word != math.Float64bits(7) {
					t.Errorf("the status is %+v", st)
				}
			})
		})
	}
}

// TestADoubtWithoutDeadbandsIsALoss changes the type of a channel while it doubts an update, so that no
// deadband applies any more. The possible loss must be marked.
func TestADoubtWithoutDeadbandsIsALoss(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		sink := r.connect("A", sample.Float64)
		sink.Sample(&sample.Sample{Time: r.now(), Word: math.Float64bits(5)})
		since := time.Now()
		testclock.Advance(10 * time.Minute)
		if !sink.Checked(&sample.Sample{Time: r.now(), Word: math.Float64bits(8)}, since) {
			t.Fatal("the value is not stored")
		}
		sink.Connected(ChannelInfo{Type: sample.Enum, TypeName: "enum", Count: 1})
		testclock.Advance(2 * answerWithin)
		if late, tot := r.lateMarks(), r.Totals(); len(late) != 1 || tot.WithinDeadband != 0 {
			t.Errorf("marks %+v; %+v", late, tot)
		}
	})
}

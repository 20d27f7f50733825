package capture

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// TestAPVThatIsNotFoundIsMarkedOnce checks that the mark says since when and where the client
// searches, and that a PV that is found soon has no such mark.
func TestAPVThatIsNotFoundIsMarkedOnce(t *testing.T) {
	inManager(t, func(r *rig) {
		begin := r.now()
		r.Apply(Assignment{0: groupOf(Settings{}, "FOUND", "MISSING")})
		testclock.Advance(3 * time.Second)
		r.connect("FOUND", sample.Float64)
		testclock.Advance(10 * time.Minute)
		if want := []string{"FOUND connected", "MISSING searching"}; !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
		const cause = "no server has answered; asked by UDP 10.0.0.1:5064"
		if m := r.marks.latest("MISSING"); m.Time != begin || m.Text != cause {
			t.Errorf("the mark is %+v, and the search began at %d", m, begin)
		}
		if st := r.status(t, "MISSING"); st.Absent != sample.Searching || st.AbsentSince != begin || st.Cause != cause {
			t.Errorf("the status is %v since %d: %q", st.Absent, st.AbsentSince, st.Cause)
		}
		if st := r.status(t, "FOUND"); st.Absent != 0 || st.Cause != "" {
			t.Errorf("the status of a connected PV is %v: %q", st.Absent, st.Cause)
		}
	})
}

// TestAServerThatRefusesIsMarkedOnce checks that retries of a PV that one server refuses and
// another denies are not marked again.
func TestAServerThatRefusesIsMarkedOnce(t *testing.T) {
	refusal, denial := errors.New("found at ioc:5064, but not connected: refused"), fmt.Errorf("ioc:5064: %w", ErrAccessDenied)
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A", "D")})
		lost := r.connect("D", sample.Float64)
		lost.Disconnected(denial)
		testclock.Advance(time.Minute)
		sink := r.source.sinks["A"]
		for range 20 {
			sink.Disconnected(refusal)
			testclock.Advance(30 * time.Second)
		}
		if st := r.status(t, "A"); st.State != Searching || st.Absent != sample.Refused || st.Cause != refusal.Error() {
			t.Errorf("the status is %v, %v: %q", st.State, st.Absent, st.Cause)
		}
		for range 20 {
			sink.Disconnected(denial)
			testclock.Advance(30 * time.Second)
			sink.Disconnected(refusal)
		}
		want := []string{"D connected", "D access_denied", "A searching", "A refused", "A access_denied"}
		if !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
		if m := r.marks.latest("A"); m.Text != denial.Error() {
			t.Errorf("the mark is %+v", m)
		}
	})
}

// TestAServerThatRefusesNoLongerIsNotTheCause checks that the cause of a PV is up to date after the server
// that refused it has gone.
func TestAServerThatRefusesNoLongerIsNotTheCause(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		testclock.Advance(time.Minute)
		sink := r.source.sinks["A"]
		for range 10 {
			sink.Disconnected(errors.New("found at ioc:5064, but not connected: refused"))
			testclock.Advance(time.Minute)
		}
		if st := r.status(t, "A"); st.Absent != sample.Refused {
			t.Errorf("while a server refuses, the status is %v: %q", st.Absent, st.Cause)
		}
		last := r.now() - int64(time.Minute)
		testclock.Advance(forgetAfter)
		if st := r.status(t, "A"); st.Absent != sample.Searching || st.AbsentSince != last || !strings.HasPrefix(st.Cause, "no server has answered") {
			t.Errorf("after that the status is %v since %d: %q, want since %d", st.Absent, st.AbsentSince, st.Cause, last)
		}
		if want := []string{"A searching", "A refused"}; !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
	})
}

// TestManyPVsThatAreNotFoundAreMarkedSlowly checks that the queue of marks has room if a million
// PVs are not found.
func TestManyPVsThatAreNotFoundAreMarkedSlowly(t *testing.T) {
	inManager(t, func(r *rig) {
		var pvs []string
		for i := range maxAbsences + 100 {
			pvs = append(pvs, fmt.Sprint("PV", i))
		}
		r.Apply(Assignment{0: groupOf(Settings{}, pvs...)})
		testclock.Advance(markAfter + reportEvery/2) // one report since the marks are due
		if n := len(r.marks.kinds()); n != maxAbsences {
			t.Errorf("%d marks at first, want %d", n, maxAbsences)
		}
		testclock.Advance(reportEvery)
		if n := len(r.marks.kinds()); n != len(pvs) {
			t.Errorf("%d marks, want %d", n, len(pvs))
		}
	})
}

// TestAPropertyThatNobodyServesHasACause checks the status of a channel with two properties.
func TestAPropertyThatNobodyServesHasACause(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC,NONE,SHUT"}, "A")})
		r.connect("A", sample.Float64)
		r.connect("A.DESC", sample.String).Sample(&sample.Sample{Bytes: []byte("pump")})
		r.source.sinks["A.SHUT"].Disconnected(errors.New("ioc: denied"))
		if m := r.status(t, "A").Missing; m != nil {
			t.Errorf("missing at once: %v", m)
		}
		testclock.Advance(time.Minute)
		want := []MissingProperty{{"NONE", "no server has answered; asked by UDP 10.0.0.1:5064"}, {"SHUT", "ioc: denied"}}
		if m := r.status(t, "A").Missing; !slices.Equal(m, want) {
			t.Errorf("missing: %v, want %v", m, want)
		}
	})
}

// TestTheRateOfAChannelThatIsNotConnectedIsZero checks the rate in the first seconds, after a loss,
// and while the group is paused.
func TestTheRateOfAChannelThatIsNotConnectedIsZero(t *testing.T) {
	inManager(t, func(r *rig) {
		run := func(sink Sink) {
			for range 30 {
				sink.Sample(&sample.Sample{Time: r.now(), Word: uint64(r.now())})
				testclock.Advance(100 * time.Millisecond)
			}
		}
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		sink := r.connect("A", sample.Float64)
		run(sink)
		if rate := r.status(t, "A").Rate; rate < 8 || rate > 12 {
			t.Errorf("after 3 s at 10 updates/s the rate is %v", rate)
		}
		for range 10 {
			run(sink)
		}
		sink.Disconnected(errors.New("lost"))
		if st, sh := r.status(t, "A"), r.ShardStatus(0); st.Rate != 0 || sh.Rate != 0 || sh.BytesPerSecond != 0 {
			t.Errorf("disconnected: rate %v, of the shard %v", st.Rate, sh.Rate)
		}
		run(r.connect("A", sample.Float64))
		if rate := r.status(t, "A").Rate; rate < 8 || rate > 12 {
			t.Errorf("3 s after the reconnect the rate is %v", rate)
		}
		r.Apply(Assignment{0: groupOf(Settings{Paused: true}, "A")})
		if st := r.status(t, "A"); st.Rate != 0 || st.Absent != sample.Paused || !strings.Contains(st.Cause, "lab/vacuum") {
			t.Errorf("paused: rate %v, %v: %q", st.Rate, st.Absent, st.Cause)
		}
	})
}

// TestProblemsOfSearchesCountIfTheirProtocolIsUsed checks the warnings and the metric about searches that
// may not reach all servers. A protocol without channels needs no addresses.
func TestProblemsOfSearchesCountIfTheirProtocolIsUsed(t *testing.T) {
	inManager(t, func(r *rig) {
		r.source.wrong, r.pva.wrong = "no addresses for CA", "no addresses for PVA"
		check := func(want ...string) {
			t.Helper()
			got := make(chan prometheus.Metric, 100)
			collector{r.Manager}.Collect(got)
			close(got)
			metric := -1.0
			for m := range got {
				var out dto.Metric
				if m.Desc() == descProblems && m.Write(&out) == nil {
					metric = out.GetGauge().GetValue()
				}
			}
			if p := r.Problems(); !slices.Equal(p, want) || metric != float64(len(want)) {
				t.Errorf("problems %v, metric %v, want %v", p, metric, want)
			}
		}
		check()
		r.Apply(Assignment{0: groupOf(Settings{}, "A")})
		check("no addresses for CA")
		r.Apply(Assignment{0: groupOf(Settings{Provider: PVA}, "A")})
		check("no addresses for PVA")
		r.Apply(Assignment{})
		check()
	})
}

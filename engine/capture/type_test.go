package capture

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// runs returns the samples that a shard journal holds of a PV, as "type: values".
func (r *rig) runs(shard int, pv string) (out []string) {
	for _, run := range r.journals[shard].Recent(pv, math.MinInt64, math.MaxInt64) {
		words := []string{run.Type.String() + ":"}
		for i := range run.Len() {
			if s := run.At(i); run.Type == sample.String {
				words = append(words, string(s.Bytes))
			} else {
				words = append(words, fmt.Sprint(sample.Float(run.Type, s.Word)))
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func num(sink Sink, at time.Time, v float64) {
	sink.Sample(&sample.Sample{Time: at.UnixNano(), Word: math.Float64bits(v)})
}

// TestATypeChangesWhileConnected checks that samples of the new type are archived at once, and
// that no sample of either type is lost. Values of the old type that filters remember must
// have no effect.
func TestATypeChangesWhileConnected(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Absolute: 10}, "A")})
		sink := r.connect("A", sample.Float64)
		sink.Metadata(&sample.Metadata{Units: "V"})
		num(sink, time.Now(), 1)
		num(sink, time.Now().Add(1), 2)
		sink.Connected(ChannelInfo{Type: sample.Int32, TypeName: "int32", Count: 1, Host: "ioc:5064"})
		if st := r.status(t, "A"); st.HasLast || st.Type != sample.Int32 || st.State != Connected || st.Connects != 1 {
			t.Fatalf("right after the change: %+v", st)
		}
		sink.Metadata(&sample.Metadata{Units: "counts"})
		sink.Sample(&sample.Sample{Time: time.Now().UnixNano(), Word: 1}) // the same value and time as the last accepted float64
		sink.Sample(&sample.Sample{Time: time.Now().UnixNano() + 1, Word: 5})
		sink.Connected(ChannelInfo{Type: sample.String, TypeName: "string", Count: 1, Host: "ioc:5064"})
		sink.Sample(&sample.Sample{Time: time.Now().UnixNano() + 2, Bytes: []byte("on")})
		if got, want := r.runs(0, "A"), []string{"float64: 1", "int32: 1", "string: on"}; !slices.Equal(got, want) {
			t.Fatalf("held: %q, want %q", got, want)
		}
		if want := []string{"A connected", "A type_changed", "A type_changed"}; !slices.Equal(r.marks.kinds(), want) {
			t.Errorf("marks %v, want %v", r.marks.kinds(), want)
		}
		if m := r.marks.latest("A"); m.Text != "int32 to string" {
			t.Errorf("the mark says %q", m.Text)
		}
		r.expect(t, "A", "V", "counts", "") // a string has no unit, and may have no metadata
		if m := r.status(t, "A").Metadata; m.Type != sample.String || !math.IsNaN(m.AlarmHigh) {
			t.Errorf("the metadata of the string is %+v", m)
		}
		testclock.Advance(time.Second)
		if st := r.status(t, "A"); st.Stored != 3 || st.Dropped[sample.Deadband] != 2 || st.Received != 5 || !st.HasLast {
			t.Errorf("%+v", st)
		}
	})
}

// TestATypeChangesInAScan checks that the held sample of the old type is stored, and that the
// slot continues with the new type.
func TestATypeChangesInAScan(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Mode: Scan, Period: 10 * time.Second}, "A")})
		sink := r.connect("A", sample.Float64)
		begin := time.Now().Truncate(10 * time.Second).Add(10 * time.Second)
		testclock.Advance(time.Until(begin.Add(time.Second)))
		num(sink, time.Now(), 1)
		testclock.Advance(time.Second)
		num(sink, time.Now(), 2)
		sink.Disconnected(errors.New("reboot"))
		testclock.Advance(time.Second)
		sink.Connected(ChannelInfo{Type: sample.Int16, TypeName: "int16", Count: 1})
		sink.Sample(&sample.Sample{Time: time.Now().UnixNano(), Word: 3})
		testclock.Advance(time.Second)
		sink.Sample(&sample.Sample{Time: time.Now().UnixNano(), Word: 4})
		testclock.Advance(10 * time.Second)
		sink.Sample(&sample.Sample{Time: time.Now().UnixNano(), Word: 5})
		r.Apply(Assignment{})
		if got, want := r.runs(0, "A"), []string{"float64: 2", "int16: 4 5"}; !slices.Equal(got, want) {
			t.Fatalf("held: %q, want %q", got, want)
		}
		if tot := r.Totals(); tot.Dropped[sample.Scan] != 2 || tot.Received != 5 {
			t.Errorf("%+v", tot)
		}
	})
}

// TestATypeThatCannotBeArchivedComesAndGoes checks that the status shows a type that cannot be
// archived for as long as the channel has it. Samples that were captured before must be
// stored.
func TestATypeThatCannotBeArchivedComesAndGoes(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Mode: Scan, Period: 10 * time.Second}, "A")})
		sink := r.connect("A", sample.Float64)
		num(sink, time.Now(), 1)
		sink.Connected(ChannelInfo{TypeName: "union", Host: "ioc:5075"})
		sink.Sample(&sample.Sample{Time: time.Now().UnixNano(), Bytes: []byte("?")})
		st := r.status(t, "A")
		if st.State != Unsupported || st.TypeName != "union" || !strings.Contains(st.Cause, "union") || st.Dropped[sample.Unsupported] != 1 {
			t.Fatalf("%+v", st)
		}
		if m := r.marks.latest("A"); m.Kind != sample.TypeChanged || m.Text != "float64 to union, which cannot be archived" {
			t.Fatalf("%+v", m)
		}
		if got, want := r.runs(0, "A"), []string{"float64: 1"}; !slices.Equal(got, want) {
			t.Fatalf("held: %q, want %q", got, want)
		}
		sink.Disconnected(nil)
		if st := r.status(t, "A"); st.State != Disconnected || !strings.Contains(st.Cause, "union") || st.LostConnections != 1 {
			t.Fatalf("%+v", st)
		}
		r.connect("A", sample.Float64)
		num(sink, time.Now(), 2)
		testclock.Advance(11 * time.Second)
		if st := r.status(t, "A"); st.State != Connected || st.Stored != 2 || st.Connects != 2 {
			t.Fatalf("%+v", st)
		}
	})
}

// TestAliasesAndFieldsAreSeparatePVs checks that two names of one record are two PVs, and that
// a field of the record is a third one.
func TestAliasesAndFieldsAreSeparatePVs(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC"}, "REC", "ALIAS", "REC.HIGH", "REC.NAME$")})
		want := "+REC +REC.DESC +ALIAS +ALIAS.DESC +REC.HIGH +REC.DESC +REC.NAME$ +REC.DESC"
		if got := r.source.takeCalls(); got != want {
			t.Fatalf("subscriptions %s, want %s", got, want)
		}
		for i, pv := range []string{"REC", "ALIAS", "REC.HIGH"} {
			num(r.connect(pv, sample.Float64), time.Now(), float64(i))
		}
		for i, pv := range []string{"REC", "ALIAS", "REC.HIGH"} {
			if got, want := r.runs(0, pv), []string{fmt.Sprint("float64: ", i)}; !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", pv, got, want)
			}
		}
	})
}

func TestSuspectedLosses(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{}, "A", "B")})
		sink := r.connect("A", sample.Float64)
		stall := func(d time.Duration) {
			from := time.Now()
			time.Sleep(d)
			sink.Suspect(from, time.Now())
		}
		begin := time.Now().UnixNano()
		for range 10 { // adjacent suspicions: one mark
			stall(2 * time.Second)
			testclock.Advance(time.Second)
		}
		end := time.Now().Add(-time.Second).UnixNano()
		testclock.Advance(time.Minute)
		if m := r.marks.latest("A"); m.Kind != sample.Lost || m.Reason != sample.Overrun || m.Count != 0 || m.Time != begin || m.End != end {
			t.Errorf("%+v, want one from %d to %d", m, begin, end)
		}
		for range 600 { // a suspicion without end: a mark per minute
			stall(time.Second)
		}
		r.connect("B", sample.Float64).Suspect(time.Now(), time.Now())
		r.Apply(Assignment{}) // the end of the capture emits the rest at once
		count := func(pv string) (n int) {
			for _, m := range r.marks.kinds() {
				if m == pv+" lost" {
					n++
				}
			}
			return n
		}
		if a, b := count("A"), count("B"); a < 10 || a > 13 || b != 1 {
			t.Errorf("%d and %d marks", a, b)
		}
		if tot := r.Totals(); tot.Suspected != 611 || tot.Dropped[sample.Overrun] != 0 {
			t.Errorf("%+v", tot)
		}
	})
}

func TestSuspicionIsCounted(t *testing.T) {
	inManager(t, func(r *rig) {
		r.Apply(Assignment{0: groupOf(Settings{Properties: "DESC"}, "A")})
		sink := r.connect("A", sample.Float64)
		sink.Suspect(time.Now(), time.Now())
		sink.Dropped(sample.Overrun, 4)
		if st := r.status(t, "A"); st.Suspected != 1 || st.Dropped[sample.Overrun] != 4 {
			t.Errorf("%+v", st)
		}
		reg := prometheus.NewRegistry()
		reg.MustRegister(collector{r.Manager})
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			m := f.GetMetric()[0]
			got[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
		if got["varve_capture_suspected_total"] != 1 || got["varve_capture_properties"] != 1 {
			t.Error(got)
		}
	})
}

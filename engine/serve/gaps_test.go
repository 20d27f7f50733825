package serve

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestSamplesAfterGaps checks that the first sample after each gap says when the connection was lost
// and regained, as the Appliance writes it, and that no other sample does.
func TestSamplesAfterGaps(t *testing.T) {
	r := newRig(t)
	want := r.putWithGaps()
	for _, path := range []string{"getData.json?pv=X", "getData.qw?pv=X", "getData.json?pv=lastSample_1(X)", "getData.json?pv=optimized_100(X)", "getData.json?pv=optimLastSample_100(X)"} {
		var got []struct {
			Data []struct {
				Val    float64
				Fields map[string]string
			}
		}
		code, text := r.get("/retrieval/data/" + path + "&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:30Z")
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || len(got[0].Data) != 31 {
			t.Fatalf("%s returns %d %s: %v", path, code, text, err)
		}
		for _, d := range got[0].Data {
			if !maps.Equal(d.Fields, want[d.Val]) {
				t.Errorf("%s: sample %v has the fields %v, want %v", path, d.Val, d.Fields, want[d.Val])
			}
		}
	}
	// The range begins within the pause.
	_, text := r.get("/retrieval/data/getData.json?pv=X&from=2026-01-01T00:00:13Z&to=2026-01-01T00:00:16Z")
	var got []struct {
		Data []struct{ Fields map[string]string }
	}
	r.check(json.Unmarshal([]byte(text), &got))
	if f := got[0].Data[0].Fields; !maps.Equal(f, want[13]) {
		t.Errorf("the first sample of a range within a gap has the fields %v", f)
	}
}

// putWithGaps stores a PV whose values are the seconds since the new year, with gaps from 3.5 to 6.5 s, 12.5 to
// 15.5 s and 20.5 to 22.5 s. It returns the fields of the samples after the gaps, by value.
func (r *rig) putWithGaps() map[float64]map[string]string {
	r.put("X", ramp(newYear, 31), 1)
	first, second2 := store.WriterID{1}, store.WriterID{2}
	for _, m := range []struct {
		at     int64 // half seconds after the new year
		kind   sample.MarkKind
		writer store.WriterID
	}{
		{-20, sample.Searching, first}, {-1, sample.Connected, first},
		{7, sample.Disconnected, first}, {13, sample.Connected, first},
		{20, sample.Connected, second2}, {21, sample.Disconnected, first}, // the shard has moved
		{25, sample.Paused, second2}, {29, sample.Resumed, second2}, {31, sample.Connected, second2},
		{41, sample.Stopped, second2}, {43, sample.Searching, second2}, {45, sample.Connected, second2},
		{47, sample.Died, second2}, // and never connected again
	} {
		r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: "X", Writer: m.writer, Mark: sample.Mark{Time: newYear + m.at*second/2, Kind: m.kind}}))
	}
	gap := func(lost, regained string) map[string]string {
		return map[string]string{"cnxlostepsecs": lost, "cnxregainedepsecs": regained}
	}
	restart := func(lost, regained string) map[string]string {
		m := gap(lost, regained)
		m["startup"] = "true"
		return m
	}
	return map[float64]map[string]string{
		4: gap("1767225603", "1767225606"), 13: restart("1767225612", "1767225615"), 21: restart("1767225620", "1767225622"),
	}
}

// TestBinsWithGaps checks that the bin in which a gap ends says so, and no other one: the bins before it hold
// samples from before the gap, or repeat them.
func TestBinsWithGaps(t *testing.T) {
	r := newRig(t)
	after := r.putWithGaps()
	r.rollUp("X", store.LevelOf(10*time.Second, store.Forever), ramp(newYear, 31))
	for _, c := range []struct {
		op   string
		n    int               // number of bins
		want map[int64]float64 // the seconds of the bins after gaps: the first samples after the gaps
	}{
		{"mean_2(X)", 16, map[int64]float64{7: 4, 15: 13, 23: 21}},
		{"lastFill_2(X)", 16, map[int64]float64{7: 4, 15: 13, 23: 21}},
		{"optimized_10(X)", 11, map[int64]float64{7: 4, 16: 13, 22: 21}}, // bins of 3 s
		{"optimLastSample_10(X)", 11, map[int64]float64{7: 4, 16: 13, 22: 21}},
		{"X&usereduced=true", 3, map[int64]float64{5: 4, 15: 13, 25: 21}},
	} {
		code, text := r.get("/retrieval/data/getData.json?pv=" + c.op + "&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:30Z")
		var got []struct {
			Data []struct {
				Secs   int64
				Fields map[string]string
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || len(got[0].Data) != c.n {
			t.Fatalf("%s returns %d %s: %v", c.op, code, text, err)
		}
		for _, d := range got[0].Data {
			var want map[string]string
			if first, gap := c.want[d.Secs-newYear/second]; gap {
				want = maps.Clone(after[first])
				want["connectionChange"] = "true"
			}
			if !maps.Equal(d.Fields, want) {
				t.Errorf("%s: the bin at %d s has the fields %v, want %v", c.op, d.Secs-newYear/second, d.Fields, want)
			}
		}
	}
}

// TestDeadBandKeepsTheFirstSampleAfterAGap checks that deadBand leaves out no sample after a gap, because a
// client would draw a line across the gap.
func TestDeadBandKeepsTheFirstSampleAfterAGap(t *testing.T) {
	r := newRig(t)
	after := r.putWithGaps()
	for from, want := range map[string][]float64{"00": {0, 4, 13, 21}, "14": {14, 21}} {
		code, text := r.get("/retrieval/data/getData.json?pv=deadBand_1000(X)&from=2026-01-01T00:00:" + from + "Z&to=2026-01-01T00:00:30Z")
		var got []struct {
			Data []struct {
				Val    float64
				Fields map[string]string
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || len(got[0].Data) != len(want) {
			t.Fatalf("deadBand from second %s returns %d %s: %v", from, code, text, err)
		}
		for i, d := range got[0].Data {
			if d.Val != want[i] || i > 0 && !maps.Equal(d.Fields, after[d.Val]) {
				t.Errorf("deadBand from second %s: sample %d is %v with %v, want %v with %v", from, i, d.Val, d.Fields, want[i], after[want[i]])
			}
		}
	}
}

// TestRangesThatBeginNearAGap checks the fields of the samples of ranges that begin within a gap, or
// after it. The first sample after the gap carries its times, if the sample before it is in the answer.
func TestRangesThatBeginNearAGap(t *testing.T) {
	r := newRig(t)
	r.put("X", ramp(newYear, 5), 1)
	r.put("X", ramp(newYear+20*second, 5), 2)
	first, second2 := store.WriterID{1}, store.WriterID{2}
	for _, m := range []struct {
		at     int64 // seconds after the new year
		kind   sample.MarkKind
		writer store.WriterID
	}{
		{-20, sample.Connected, first}, {6, sample.Disconnected, first}, {12, sample.Connected, first},
		{13, sample.Lost, first}, {15, sample.Connected, second2}, {16, sample.Disconnected, first}, // the shard has moved
		{40, sample.Stopped, second2}, {50, sample.Connected, second2},
	} {
		r.check(r.store.PutMarks(context.Background(), store.PVMark{PV: "X", Writer: m.writer, Mark: sample.Mark{Time: newYear + m.at*second, Kind: m.kind}}))
	}
	gap := map[string]string{"cnxlostepsecs": "1767225606", "cnxregainedepsecs": "1767225612"}
	for from, want := range map[string][]map[string]string{
		"06": {nil, gap}, "09": {nil, gap}, "12": {nil, gap}, "14": {nil, gap}, "16": {nil, gap}, "19": {nil, gap},
		"20": {nil, nil}, // there is a sample at the start, so that no line comes from before it
		"22": {nil, nil}, "30": {nil}, "49": {nil}, "55": {nil},
	} {
		code, text := r.get("/retrieval/data/getData.json?pv=X&from=2026-01-01T00:00:" + from + "Z&to=2026-01-01T00:01:00Z")
		var got []struct {
			Data []struct{ Fields map[string]string }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || len(got[0].Data) < len(want) {
			t.Fatalf("from %s: %d %s, %v", from, code, text, err)
		}
		for i, d := range got[0].Data {
			var w map[string]string
			if i < len(want) {
				w = want[i]
			}
			if !maps.Equal(d.Fields, w) {
				t.Errorf("from second %s: sample %d has the fields %v, want %v", from, i, d.Fields, w)
			}
		}
	}
}

// manyGaps is a store in which each PV has lost and regained its connection very often.
type manyGaps struct {
	store.Store
	gaps int64
}

func (s *manyGaps) Marks(_ context.Context, pv string, from, _ int64) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		for i := range 2 * s.gaps {
			kind := []sample.MarkKind{sample.Disconnected, sample.Connected}[i%2]
			if !yield(store.PVMark{PV: pv, Mark: sample.Mark{Time: from + i*1000, Kind: kind}}, nil) {
				return
			}
		}
	}
}

// TestGapsAreBounded checks that a range with too many gaps is refused, and says what to do.
func TestGapsAreBounded(t *testing.T) {
	st := &manyGaps{Store: openStore(t)}
	r := newRigOn(t, st)
	r.put("X", ramp(newYear, 5), 1)
	const path = "/retrieval/data/getData.json?pv=X&from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z"
	for gaps, want := range map[int64]int{query.MaxGaps: http.StatusOK, query.MaxGaps + 1: http.StatusRequestEntityTooLarge} {
		st.gaps = gaps
		code, text := r.get(path)
		if code != want || code != http.StatusOK && text != "X has more than 100000 gaps and losses in this range; choose a shorter one\n" {
			t.Errorf("%d gaps: %d %.200s", gaps, code, text)
		}
	}
}

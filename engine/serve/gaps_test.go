package serve

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestSamplesAfterGaps checks that the first sample after each gap says when the connection was lost
// and regained, as the Appliance writes it, and that no other sample does.
func TestSamplesAfterGaps(t *testing.T) {
	r := newRig(t)
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
	want := map[float64]map[string]string{
		4: gap("1767225603", "1767225606"), 13: restart("1767225612", "1767225615"), 21: restart("1767225620", "1767225622"),
	}
	for _, path := range []string{"getData.json?pv=X", "getData.qw?pv=X", "getData.json?pv=lastSample_1(X)"} {
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

package journal

import (
	"errors"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func exampleRow() store.JournalRow {
	var e rowEncoder
	e.reset(1_700_000_000_000_000_000)
	for _, pv := range []string{"SR:A", "SR:B"} {
		r := &sample.Run{Type: sample.Float64}
		for i := range 5 {
			r.Append(&sample.Sample{Time: int64(i) * 1e9, Word: uint64(i) << 40})
		}
		e.add(pv, r)
	}
	index, blob := e.finish()
	return store.JournalRow{Shard: 1, Writer: store.WriterID{1}, At: store.At(1, 1), Index: index, Blob: blob}
}

// TestRowCutOrFlippedAtEachByte cuts a row at each byte of its index and its body, and flips each
// bit. Nothing of such a row decodes, and no damaged byte passes as a row of a later version, for
// which a sealer would wait.
func TestRowCutOrFlippedAtEachByte(t *testing.T) {
	row := exampleRow()
	if runs, err := Decode(row); err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	check := func(what string, at int, bad store.JournalRow) {
		t.Helper()
		runs, err := Decode(bad)
		if err == nil || len(runs) > 0 || errors.Is(err, ErrVersion) {
			t.Errorf("%s at %d: %d runs, %v", what, at, len(runs), err)
		}
		for _, pv := range []string{"SR:A", "SR:B"} {
			if runs, err := Find(bad, pv); err == nil || len(runs) > 0 {
				t.Errorf("%s at %d: %d runs of %s, %v", what, at, len(runs), pv, err)
			}
		}
		names, err := Names(bad.Index)
		if err == nil && !slices.Equal(names, []string{"SR:A", "SR:B"}) {
			t.Errorf("%s at %d: names %v", what, at, names)
		}
	}
	for i := range row.Index {
		bad := row
		bad.Index = row.Index[:i]
		check("index cut", i, bad)
		for bit := range 8 {
			bad.Index = slices.Clone(row.Index)
			bad.Index[i] ^= 1 << bit
			check("index flipped", i, bad)
		}
	}
	for i := range row.Blob {
		bad := row
		bad.Blob = row.Blob[:i]
		check("body cut", i, bad)
		for bit := range 8 {
			bad.Blob = slices.Clone(row.Blob)
			bad.Blob[i] ^= 1 << bit
			check("body flipped", i, bad)
		}
	}
}

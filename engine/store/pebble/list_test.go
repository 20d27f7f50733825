package pebble_test

import (
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// TestListing checks that PVs and buckets are listed even if the directory does not name them.
func TestListing(t *testing.T) {
	st := open(t, t.TempDir(), pebble.Options{})
	defer st.Close()
	put := func(pv string, buckets ...store.Bucket) {
		for _, b := range buckets {
			for start := range int64(3) {
				blk := store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: start - 1}, Blob: []byte{1}}
				if err := st.PutBlocks(t.Context(), blk); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	buckets := []store.Bucket{store.Hour.Of(-1), store.Hour.Of(0), store.Day.Of(0), store.Hour.Of(0).In(store.Keep30d)}
	put("a", buckets...)
	put("ab", store.Year.Of(0))
	for _, err := range []error{
		st.AddChannel(t.Context(), store.Channel{PV: "a", Starts: buckets}),
		st.AddChannel(t.Context(), store.Channel{PV: "c"}),
		st.PutMarks(t.Context(), store.PVMark{PV: "m", Mark: sample.Mark{Kind: sample.Connected}}),
		st.PutMetadata(t.Context(), store.PVMetadata{PV: "n"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for pv, err := range st.PVs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, pv)
	}
	slices.Sort(names)
	if want := []string{"a", "ab", "c", "m", "n"}; !slices.Equal(slices.Compact(names), want) {
		t.Errorf("PVs are %v, want %v", names, want)
	}
	var got []store.Bucket
	for b, err := range st.Buckets(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b)
	}
	slices.Sort(buckets)
	if !slices.Equal(got, buckets) {
		t.Errorf("buckets are %v, want %v", got, buckets)
	}
}

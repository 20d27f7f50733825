package storetest

import (
	"testing"

	"varve.dev/varve/engine/store"
)

// testCutoff tests that the cutoff only rises. There is one cutoff for the whole archive, so
// other tests of the store see it.
func testCutoff(t *testing.T, s *suite) {
	read := func() store.Cutoff {
		f, found, err := s.Cutoff(t.Context())
		must(t, err)
		if !found {
			t.Fatal("there is no cutoff")
		}
		return f
	}
	was, _, err := s.Cutoff(t.Context())
	must(t, err)
	first := store.Cutoff{
		Before: max(was.Before, nanos(2020)) + 10, At: nanos(2026), By: newWriter(), Size: 1 << 50, Limit: 1<<50 + 1,
		Open: true, Settled: 7 << 40, Peak: 8 << 40,
	}
	must(t, s.PutCutoff(t.Context(), first))
	equal(t, "the cutoff", read(), first)
	lower := store.Cutoff{Before: first.Before - 5, At: nanos(2027), By: newWriter(), Size: 1, Limit: 2, Settled: 3, Peak: 4}
	must(t, s.PutCutoff(t.Context(), lower))
	lower.Before = first.Before
	equal(t, "the cutoff after a write of a lower one", read(), lower)
	higher := first
	higher.Before++
	must(t, s.PutCutoff(t.Context(), higher))
	must(t, s.PutCutoff(t.Context(), higher))
	equal(t, "a higher cutoff", read(), higher)

	shardProgress := map[int]store.CutoffProgress{}
	for i, shard := range []int{s.shard(), s.shard(), s.shard()} {
		shardProgress[shard] = store.CutoffProgress{Shard: shard, Cutoff: higher.Before - int64(i), Buckets: int64(i), Bytes: int64(i) << 40}
		must(t, s.PutCutoffProgress(t.Context(), store.CutoffProgress{Shard: shard, Cutoff: 1, Bytes: 99, Buckets: 98}))
		must(t, s.PutCutoffProgress(t.Context(), shardProgress[shard]))
	}
	all, err := s.CutoffProgress(t.Context())
	must(t, err)
	for i, sp := range all {
		if want, ours := shardProgress[sp.Shard]; ours {
			equal(t, "the progress of a shard", sp, want)
			delete(shardProgress, sp.Shard)
		}
		if i > 0 && all[i-1].Shard >= sp.Shard {
			t.Errorf("shard %d comes after %d", sp.Shard, all[i-1].Shard)
		}
	}
	equal(t, "number of shards whose progress is missing", len(shardProgress), 0)
	equal(t, "the cutoff beside the progress of shards", read(), higher)
	if limit, err := s.Limit(t.Context()); err != nil || limit < 0 {
		t.Errorf("the limit is %d, %v", limit, err)
	}
}

package storetest

import (
	"testing"

	"varve.dev/varve/engine/store"
)

// The floor is that of the archive, so other tests of a store see it. It only rises.
func testFloor(t *testing.T, s *suite) {
	read := func() store.Floor {
		f, found, err := s.Floor(t.Context())
		must(t, err)
		if !found {
			t.Fatal("there is no floor")
		}
		return f
	}
	was, _, err := s.Floor(t.Context())
	must(t, err)
	first := store.Floor{
		Before: max(was.Before, nanos(2020)) + 10, At: nanos(2026), By: newWriter(), Size: 1 << 50, Limit: 1<<50 + 1,
		Open: true, Settled: 7 << 40, Peak: 8 << 40,
	}
	must(t, s.PutFloor(t.Context(), first))
	equal(t, "the floor", read(), first)
	lower := store.Floor{Before: first.Before - 5, At: nanos(2027), By: newWriter(), Size: 1, Limit: 2, Settled: 3, Peak: 4}
	must(t, s.PutFloor(t.Context(), lower))
	lower.Before = first.Before
	equal(t, "the floor, which only rises", read(), lower)
	higher := first
	higher.Before++
	must(t, s.PutFloor(t.Context(), higher))
	must(t, s.PutFloor(t.Context(), higher))
	equal(t, "a higher floor", read(), higher)

	sweeps := map[int]store.Sweep{}
	for i, shard := range []int{s.shard(), s.shard(), s.shard()} {
		sweeps[shard] = store.Sweep{Shard: shard, Floor: higher.Before - int64(i), Buckets: int64(i), Bytes: int64(i) << 40}
		must(t, s.PutSweep(t.Context(), store.Sweep{Shard: shard, Floor: 1, Bytes: 99, Buckets: 98}))
		must(t, s.PutSweep(t.Context(), sweeps[shard]))
	}
	all, err := s.Sweeps(t.Context())
	must(t, err)
	for i, sw := range all {
		if want, ours := sweeps[sw.Shard]; ours {
			equal(t, "a sweep", sw, want)
			delete(sweeps, sw.Shard)
		}
		if i > 0 && all[i-1].Shard >= sw.Shard {
			t.Errorf("shard %d comes after %d", sw.Shard, all[i-1].Shard)
		}
	}
	equal(t, "number of sweeps that are missing", len(sweeps), 0)
	equal(t, "the floor beside sweeps", read(), higher)
	if limit, err := s.Limit(t.Context()); err != nil || limit < 0 {
		t.Errorf("the limit is %d, %v", limit, err)
	}
}

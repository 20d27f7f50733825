package storetest

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// sorted puts the sets of an entry in order, because a store may return them in any order.
func sorted(c store.Channel) store.Channel {
	slices.Sort(c.Shards)
	slices.Sort(c.Starts)
	slices.Sort(c.Types)
	slices.Sort(c.Levels)
	slices.SortFunc(c.Deleted, compareDeleted)
	return c
}

func compareDeleted(a, b store.Deleted) int {
	done := 0
	if a.Done != b.Done {
		done = 1
		if b.Done {
			done = -1
		}
	}
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), done)
}

func (s *suite) channel(t *testing.T, pv string) []store.Channel {
	t.Helper()
	c, found, err := s.Channel(t.Context(), pv)
	must(t, err)
	if !found {
		return nil
	}
	return []store.Channel{sorted(c)}
}

func testChannel(t *testing.T, s *suite) {
	pv := s.pv("a")
	equal(t, "the entry of an unknown PV", len(s.channel(t, pv)), 0)
	want := store.Channel{PV: pv}
	for _, add := range []store.Channel{
		{PV: pv},
		{PV: pv, Shards: []int{4095}, Types: []sample.Type{sample.Float64}},
		{PV: pv, Starts: []store.Bucket{store.Year.Of(0), store.Hour.Of(-1)}},
		{PV: pv, Starts: []store.Bucket{store.Hour.Of(-1).In(store.Keep10y)}, Levels: []store.Level{store.LevelOf(time.Millisecond, store.Forever)}},
		{PV: pv, Levels: []store.Level{store.LevelOf(365*24*time.Hour, store.Keep10y), store.LevelOf(time.Millisecond, store.Forever)}},
		{PV: pv, Deleted: []store.Deleted{{From: math.MinInt64, To: -1}, {From: 7, To: math.MaxInt64}}},
		{PV: pv, Deleted: []store.Deleted{{From: 7, To: math.MaxInt64, Done: true}, {From: 7, To: 8}, {From: math.MinInt64, To: -1}}},
		{PV: pv, Shards: []int{0, 4095}, Types: []sample.Type{sample.Struct.Array(), sample.Float64}},
		{PV: pv},
	} {
		must(t, s.AddChannel(t.Context(), add))
		want = union(want, add)
		equal(t, "the entry", s.channel(t, pv), []store.Channel{want})
	}
}

// union returns an entry whose sets are the unions of both entries' sets.
func union(a, b store.Channel) store.Channel {
	a.Shards, a.Starts, a.Types = slices.Concat(a.Shards, b.Shards), slices.Concat(a.Starts, b.Starts), slices.Concat(a.Types, b.Types)
	a.Levels, a.Deleted = slices.Concat(a.Levels, b.Levels), slices.Concat(a.Deleted, b.Deleted)
	a = sorted(a)
	a.Shards, a.Starts, a.Types = slices.Compact(a.Shards), slices.Compact(a.Starts), slices.Compact(a.Types)
	a.Levels, a.Deleted = slices.Compact(a.Levels), slices.Compact(a.Deleted)
	return a
}

func testChannels(t *testing.T, s *suite) {
	want := map[string]store.Channel{}
	for i := range 1200 {
		c := store.Channel{PV: s.pv(string(rune('A' + i))), Shards: []int{i}, Starts: []store.Bucket{store.Day.Of(0)}}
		want[c.PV] = c
		must(t, s.AddChannel(t.Context(), c))
	}
	got := map[string]store.Channel{}
	for c, err := range s.Channels(t.Context()) {
		must(t, err)
		if _, ours := want[c.PV]; ours {
			if _, twice := got[c.PV]; twice {
				t.Errorf("%s is listed twice", c.PV)
			}
			got[c.PV] = sorted(c)
		}
	}
	equal(t, "the directory", got, want)
	names := map[string]int{}
	for pv, err := range store.DirectoryNames(t.Context(), s) {
		must(t, err)
		if _, ours := want[pv]; ours {
			names[pv]++
		}
	}
	for pv := range want {
		if names[pv] != 1 {
			t.Errorf("%s is %d times in the names of the directory", pv, names[pv])
		}
	}
}

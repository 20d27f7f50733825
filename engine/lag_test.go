package engine

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// slow is a store that acknowledges no journal row while stalled is locked, and reports no error.
type slow struct {
	store.Store
	stalled sync.RWMutex
}

func (s *slow) PutJournal(ctx context.Context, r store.JournalRow) error {
	s.stalled.RLock()
	defer s.stalled.RUnlock()
	return s.Store.PutJournal(ctx, r)
}

// busy answers for an engine that is short of memory.
type busy struct{ *life }

func (b busy) Recent(_ context.Context, q query.RecentRequest) query.Held { return b.Flushed(q) }

// unreachable answers for an engine that does not answer and captures a PV in some shards.
type unreachable []int

func (u unreachable) Recent(context.Context, query.RecentRequest) query.Held {
	return query.Held{Known: true, Shards: u, Unanswered: true}
}

// moved answers for an engine of which it is not known whether it still captures a PV.
type moved struct {
	*life
	confirmed int64
}

func (m moved) Recent(ctx context.Context, q query.RecentRequest) query.Held {
	h := m.life.Recent(ctx, q)
	h.Confirmed = m.confirmed
	return h
}

// completeUntil returns the values of a PV that a reader yields, and up to which time they are
// complete.
func completeUntil(t *testing.T, st store.Store, recent query.Recent) (got []int, until int64) {
	t.Helper()
	r := &query.Reader{Store: st, Recent: recent, Shards: 4}
	s, err := r.Read(t.Context(), "A", query.Earliest, query.Latest, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return values(t, r, "A"), s.CompleteUntil
}

// TestReadsSayWhereAnEngineLags checks reads while the store accepts rows slowly, without an
// error. The engine answers, is busy, or is unreachable. Whatever the result lacks arrived after
// the time up to which the result is complete.
func TestReadsSayWhereAnEngineLags(t *testing.T) { readsSayWhereAnEngineLags(t, openStore(t)) }

func readsSayWhereAnEngineLags(t *testing.T, on store.Store) {
	st := &slow{Store: on}
	ioc := &taps{}
	begun := time.Now().UnixNano()
	l := launch(t, st, ioc, Options{Checkpoint: time.Hour})
	l.Apply(one(0, true, "A"))
	ioc.send("A", 0, 100)
	sent := time.Now().UnixNano()
	eventually(t, "samples are durable", func() bool { _, until := completeUntil(t, st, busy{l}); return until > sent })
	st.stalled.Lock()
	resume := sync.OnceFunc(st.stalled.Unlock)
	defer resume()
	ioc.send("A", 100, 200)
	arrived := time.Now().UnixNano()
	if got, until := completeUntil(t, st, l); until != query.Latest || !slices.Equal(got, count(0, 200)) {
		t.Errorf("the engine answers, but the result is complete until %d and has %d values", until, len(got))
	}
	for name, c := range map[string]struct {
		recent query.Recent
		since  int64
	}{"busy": {busy{l}, sent}, "unreachable": {unreachable{0}, begun}} {
		got, until := completeUntil(t, st, c.recent)
		if until < c.since || until > arrived {
			t.Errorf("the engine is %s, and the result is complete until %d, want a time from %d to %d", name, until, c.since, arrived)
		}
		if !slices.Equal(got, count(0, 100)) {
			t.Errorf("the engine is %s, and the result has %d values, want the first 100", name, len(got))
		}
	}
	resume()
	resumed := time.Now().UnixNano()
	eventually(t, "the busy engine says that all is flushed", func() bool {
		got, until := completeUntil(t, st, busy{l})
		return until > resumed && slices.Equal(got, count(0, 200))
	})
	if got, until := completeUntil(t, st, moved{l, sent}); until != sent || !slices.Equal(got, count(0, 200)) {
		t.Errorf("no known engine may capture the PV since %d, but the result is complete until %d and has %d values", sent, until, len(got))
	}
	l.Apply(one(0, true)) // the shard without the PV
	if got, until := completeUntil(t, st, fleet{l}); until != query.Latest || !slices.Equal(got, count(0, 200)) {
		t.Errorf("no engine captures the PV, but the result is complete until %d and has %d values", until, len(got))
	}
}

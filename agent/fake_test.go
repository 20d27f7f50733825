package agent

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// fakeEngine accepts assignments. Its channels connect at once, unless unreachable is set.
type fakeEngine struct {
	mu      sync.Mutex
	applied engine.Assignment
	applies int
	// lost counts, for each PV, how often its capture ended.
	lost        map[string]int
	slow        bool // released shards stay open
	closing     map[int]bool
	unreachable bool                  // no channel connects
	waiting     map[int]time.Duration // shards with unstored samples, and their age
	passed      map[int]bool          // shards whose sealer differs from the order
	deleted     []string
	broken      bool // Delete fails
	erase       func(d engine.Deletion) (engine.Erased, error)
	lag         seal.Lag
	late        int // shards
	damaged     seal.Found
	summary     engine.Summary
}

var errBroken = errors.New("the store is unreachable")

func (f *fakeEngine) Apply(a engine.Assignment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applies++
	now := map[string]bool{}
	for _, pv := range pvsOf(a) {
		now[pv] = true
	}
	for _, pv := range pvsOf(f.applied) {
		if !now[pv] {
			if f.lost == nil {
				f.lost = map[string]int{}
			}
			f.lost[pv]++
		}
	}
	for i := range f.applied {
		if _, still := a[i]; !still && f.slow {
			if f.closing == nil {
				f.closing = map[int]bool{}
			}
			f.closing[i] = true
		}
	}
	f.applied = a
}

func pvsOf(a engine.Assignment) (pvs []string) {
	for _, s := range a {
		for _, ch := range s.Channels {
			pvs = append(pvs, ch.PV)
		}
	}
	slices.Sort(pvs)
	return pvs
}

// captured returns the captured PVs, separated by spaces.
func (f *fakeEngine) captured() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(pvsOf(f.applied), " ")
}

func (f *fakeEngine) seals(shard int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.applied[shard].Seal
}

func (f *fakeEngine) Sealing() map[int]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	sealing := map[int]bool{}
	for i, s := range f.applied {
		sealing[i] = s.Seal != f.passed[i]
	}
	return sealing
}

func (f *fakeEngine) Waiting() map[int]time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.waiting)
}

func (f *fakeEngine) everLost() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.lost)
}

// set changes the behaviour of the engine.
func (f *fakeEngine) set(change func(*fakeEngine)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeEngine) Held() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := slices.Collect(maps.Keys(f.applied))
	return append(held, slices.Collect(maps.Keys(f.closing))...)
}

func (f *fakeEngine) ShardStatus(shard int) (st engine.ShardStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st.Channels, st.Claimed = len(f.applied[shard].Channels), true
	st.Sealing = f.applied[shard].Seal != f.passed[shard]
	if f.unreachable {
		st.States[capture.Searching] = st.Channels
	} else {
		st.States[capture.Connected] = st.Channels
	}
	return st
}

func (f *fakeEngine) Delete(_ context.Context, _ int, pvs []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errBroken
	}
	f.deleted = append(f.deleted, pvs...)
	return nil
}

func (f *fakeEngine) Erase(_ context.Context, d engine.Deletion) (engine.Erased, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.erase == nil {
		return engine.Erased{}, errBroken
	}
	return f.erase(d)
}

func (f *fakeEngine) Writer() store.WriterID  { return store.WriterID{1, 2, 3} }
func (f *fakeEngine) Summary() engine.Summary { return f.summary }
func (f *fakeEngine) Storage() string         { return "" }
func (f *fakeEngine) DiskGuard() guard.Status { return guard.Status{} }

func (f *fakeEngine) Clock() clock.Verdict { return clock.Verdict{} }

func (f *fakeEngine) Damaged() seal.Found { return f.damaged }

func (f *fakeEngine) SealingLag() (worst seal.Lag, late int) { return f.lag, f.late }

func (f *fakeEngine) Problems() []string { return nil }

func (f *fakeEngine) Statuses() iter.Seq[capture.Status] {
	return func(yield func(capture.Status) bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, s := range f.applied {
			for _, ch := range s.Channels {
				if !yield(capture.Status{PV: ch.PV, Group: ch.Group, State: capture.Connected, HasLast: true}) {
					return
				}
			}
		}
	}
}

func (f *fakeEngine) Shard(pv string) (int, bool) {
	for i, s := range f.applied { // Statuses holds the lock
		for _, ch := range s.Channels {
			if ch.PV == pv {
				return i, true
			}
		}
	}
	return 0, false
}

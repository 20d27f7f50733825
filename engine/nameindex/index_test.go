package nameindex

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// capturing is a set of captured PVs.
type capturing struct {
	mu      sync.Mutex
	set     map[string]bool
	version uint64
}

func (c *capturing) change(pv string, captured bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version++; captured {
		c.set[pv] = true
	} else {
		delete(c.set, pv)
	}
}

func (c *capturing) Names() iter.Seq[string] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Keys(maps.Clone(c.set))
}

func (c *capturing) Captures(pv string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set[pv]
}

func (c *capturing) NamesVersion() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// quiet is a store that does not report changes, and counts the times that its directory is read.
type quiet struct {
	st    Store
	reads atomic.Int64
	away  atomic.Bool
	takes time.Duration
}

func (q *quiet) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	return q.st.Channel(ctx, pv)
}

func (q *quiet) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	return func(yield func(store.Channel, error) bool) {
		q.reads.Add(1)
		time.Sleep(q.takes)
		if q.away.Load() {
			yield(store.Channel{}, errors.New("the store is away"))
			return
		}
		q.st.Channels(ctx)(yield)
	}
}

func openStore(t testing.TB) *pebble.Store {
	t.Helper()
	st, err := pebble.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func add(t testing.TB, st *pebble.Store, pvs ...string) {
	t.Helper()
	for _, pv := range pvs {
		if err := st.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{1}, Starts: []store.Bucket{7}}); err != nil {
			t.Fatal(err)
		}
	}
}

// namesOf returns all names of an index.
func namesOf(t testing.TB, x *Index) (all []string) {
	t.Helper()
	v, err := x.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v.all.all()
}

// scanOf returns the names that a scan finds.
func scanOf(t testing.TB, st Store, c *capturing) []string {
	t.Helper()
	set := maps.Clone(c.set)
	for ch, err := range st.Channels(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		set[ch.PV] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// TestAnIndexHasWhatAScanFinds changes the directory and the captured PVs at random, and compares the index with a scan after
// each change or some changes: with a store that reports changes, and with one that does not.
func TestAnIndexHasWhatAScanFinds(t *testing.T) {
	for _, reports := range []bool{true, false} {
		t.Run(fmt.Sprintf("reports=%t", reports), func(t *testing.T) {
			st, c := openStore(t), &capturing{set: map[string]bool{}}
			cfg := Config{Store: st, Captured: c}
			if !reports {
				cfg.Store = &quiet{st: st}
			}
			x := New(cfg)
			rng := rand.New(rand.NewPCG(5, 6))
			for step := range 2000 {
				pv := letters[rng.IntN(len(letters))] + letters[rng.IntN(len(letters))]
				switch rng.IntN(6) {
				case 0, 1:
					add(t, st, pv)
				case 2:
					if err := st.Delete(t.Context(), pv); err != nil {
						t.Fatal(err)
					}
				case 3:
					c.change(pv, true)
				case 4:
					c.change(pv, false)
				default:
					if got, want := namesOf(t, x), scanOf(t, st, c); !slices.Equal(got, want) {
						t.Fatalf("after %d steps the index has %q, a scan finds %q", step, got, want)
					}
				}
			}
		})
	}
}

// TestAWriterFindsItsChange adds and deletes PVs at many places at a time. Whoever has made a change must find it at once.
func TestAWriterFindsItsChange(t *testing.T) {
	st, c := openStore(t), &capturing{set: map[string]bool{}}
	x := New(Config{Store: st, Captured: c})
	var wg sync.WaitGroup
	finds := func(pv string, want bool, what string) {
		v, err := x.View(t.Context())
		if err != nil {
			t.Error(err)
		} else if v.all.has(pv) != want {
			t.Errorf("%s after it was %s: found %t", pv, what, !want)
		}
	}
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				pv := fmt.Sprintf("W%d:%d", w, i%7)
				add(t, st, pv)
				finds(pv, true, "added")
				add(t, st, pv) // again, as a sealer does
				c.change(pv, true)
				if err := st.Delete(t.Context(), pv); err != nil {
					t.Error(err)
				}
				finds(pv, true, "deleted, but captured")
				c.change(pv, false)
				finds(pv, false, "deleted")
			}
		})
	}
	wg.Wait()
	if got := namesOf(t, x); len(got) > 0 {
		t.Errorf("the index still has %q", got)
	}
}

// slow is a store that reports changes. An entry that was read takes a second to arrive.
type slow struct{ *pebble.Store }

func (s slow) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	defer time.Sleep(time.Second)
	return s.Store.Channel(ctx, pv)
}

// TestASearchWaitsForAChangeThatAnotherOneReads begins a search while another one reads the entry of a new PV. Both must find it.
func TestASearchWaitsForAChangeThatAnotherOneReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		x := New(Config{Store: slow{st}})
		namesOf(t, x)
		add(t, st, "NEW")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if got := namesOf(t, x); len(got) != 1 {
					t.Errorf("a search finds %q", got)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
	})
}

// TestAPVThatReturnsIsFound deletes a PV, and adds it again while a search reads that it is gone.
func TestAPVThatReturnsIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		x := New(Config{Store: slow{st}})
		add(t, st, "PV")
		namesOf(t, x)
		if err := st.Delete(t.Context(), "PV"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { namesOf(t, x) })
		synctest.Wait()
		add(t, st, "PV")
		wg.Wait()
		if got := namesOf(t, x); len(got) != 1 {
			t.Errorf("a search finds %q", got)
		}
	})
}

// TestOnlyNewNamesAreChanges makes sure that sealers, which add to the entries of all PVs, cause no new view.
func TestOnlyNewNamesAreChanges(t *testing.T) {
	st := openStore(t)
	add(t, st, "A", "B")
	x := New(Config{Store: st})
	before, err := x.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(t, st, "A", "B", "A")
	if after, err := x.View(t.Context()); err != nil || after != before {
		t.Errorf("the view changed although no name is new: %v", err)
	}
}

// large returns a store that does not report changes, with a directory that a search does not read each time.
func large(t testing.TB) (*quiet, *pebble.Store) {
	st := openStore(t)
	for i := range small + 1 {
		add(t, st, fmt.Sprintf("PV%d", i))
	}
	return &quiet{st: st, takes: time.Second}, st
}

// TestALargeDirectoryIsReadAboutOnceAMinute follows how old the names of such a directory are.
func TestALargeDirectoryIsReadAboutOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, st := large(t)
		c := &capturing{set: map[string]bool{}}
		x := New(Config{Store: q, Captured: c})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			x.Run(ctx)
		}()
		time.Sleep(2 * time.Second)
		add(t, st, "NEW")
		c.change("CAPTURED", true)
		has := func(pv string) bool { return slices.Contains(namesOf(t, x), pv) }
		if has("NEW") || !has("CAPTURED") || q.reads.Load() != 1 {
			t.Errorf("a search finds the new PV: %t, the captured one: %t, and the directory was read %d times", has("NEW"), has("CAPTURED"), q.reads.Load())
		}
		time.Sleep(readEvery + time.Second)
		if !has("NEW") || q.reads.Load() != 2 {
			t.Errorf("after %v a search finds the new PV: %t; the directory was read %d times", readEvery, has("NEW"), q.reads.Load())
		}
		q.away.Store(true)
		time.Sleep(MaxAge - readEvery)
		if !has("NEW") {
			t.Error("the names are gone while the store is away for a short time")
		}
		time.Sleep(readEvery)
		if _, err := x.View(t.Context()); err == nil || !strings.Contains(err.Error(), "the store is away") {
			t.Errorf("a search in names that are too old returns %v", err)
		}
		q.away.Store(false)
		cancel()
		<-ended
		add(t, st, "LATER") // without Run
		if !has("LATER") {
			t.Error("a search does not read names that are too old")
		}
	})
}

// TestACancelledSearchEnds cancels a search while it waits for the names, and while it compares them.
func TestACancelledSearchEnds(t *testing.T) {
	st := openStore(t)
	for i := range atOnce + 1 {
		add(t, st, fmt.Sprintf("PV%d", i))
	}
	x := New(Config{Store: st})
	ctx, cancel := context.WithCancel(t.Context())
	x.turn <- struct{}{}
	go cancel()
	if _, err := x.View(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that waits ends with %v", err)
	}
	<-x.turn
	if _, err := x.View(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that reads the directory ends with %v", err)
	}
	v, err := x.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	compared := 0
	for _, err = range v.Search(ctx, Pattern{Match: func(string) bool { compared++; cancel(); return false }}, nil) {
	}
	if !errors.Is(err, context.Canceled) || compared > atOnce {
		t.Errorf("a search that compares names ends with %v after %d names", err, compared)
	}
}

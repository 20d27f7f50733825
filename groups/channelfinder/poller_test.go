package channelfinder

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/test/testclock"
)

// finder is a fake service with a settable answer. It counts queries and changes.
type finder struct {
	mu      sync.Mutex
	names   []string
	err     error
	queries int
	changes int
}

func (f *finder) query(ctx context.Context, _, _ string) ([]string, error) {
	select { // as long as a service takes
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries++
	return f.names, f.err
}

func (f *finder) changed(string, string) {
	f.mu.Lock()
	f.changes++
	f.mu.Unlock()
}

func (f *finder) set(err error, names ...string) {
	f.mu.Lock()
	f.names, f.err = names, err
	f.mu.Unlock()
}

// counts returns the numbers of queries and changes since the last call.
func (f *finder) counts() (queries, changes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	queries, changes = f.queries, f.changes
	f.queries, f.changes = 0, 0
	return queries, changes
}

// polling runs a test with a Poller in a synctest bubble, which has its own clock.
func polling(t *testing.T, test func(t *testing.T, p *Poller, f *finder)) {
	synctest.Test(t, func(t *testing.T) {
		f := &finder{}
		p := NewPoller(f.query, f.changed)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := p.Start(ctx); err != nil {
				t.Error(err)
			}
		}()
		test(t, p, f)
		cancel()
		<-done
	})
}

func TestPollerKeepsTheLastAnswer(t *testing.T) {
	polling(t, func(t *testing.T, p *Poller, f *finder) {
		f.set(nil, "SR:A")
		if _, known, err := p.Names("u", "q"); known || err != nil {
			t.Errorf("before the first answer: %v, %v", known, err)
		}
		testclock.Advance(2 * time.Second)
		names, known, err := p.Names("u", "q")
		if !slices.Equal(names, []string{"SR:A"}) || !known || err != nil {
			t.Errorf("%q, %v, %v", names, known, err)
		}
		f.counts()

		f.set(errors.New("HTTP 500"))
		down := time.Now()
		testclock.Advance(20 * time.Minute)
		names, known, err = p.Names("u", "q")
		failure, ok := errors.AsType[*Failure](err)
		if !slices.Equal(names, []string{"SR:A"}) || !known || !ok || err.Error() != "HTTP 500" {
			t.Fatalf("while the service is down: %q, %v, %v", names, known, err)
		}
		if late := failure.Since.Sub(down); late < 0 || late > 7*time.Minute {
			t.Errorf("the failure is reported %v after it began", late)
		}
		if queries, changes := f.counts(); changes != 1 || queries < 20 || queries > 50 {
			t.Errorf("%d requests and %d changes while the service is down", queries, changes)
		}

		f.set(nil, "SR:A", "SR:B")
		testclock.Advance(time.Minute)
		names, _, err = p.Names("u", "q")
		if !slices.Equal(names, []string{"SR:A", "SR:B"}) || err != nil {
			t.Errorf("after the service is back: %q, %v", names, err)
		}
	})
}

func TestPollerReportsOnlyChanges(t *testing.T) {
	polling(t, func(t *testing.T, p *Poller, f *finder) {
		f.set(nil, "SR:A")
		p.Names("u", "q")
		testclock.Advance(29 * time.Minute)
		if queries, changes := f.counts(); changes != 1 || queries < 5 || queries > 8 {
			t.Errorf("%d requests and %d changes in 29 minutes", queries, changes)
		}
		p.Names("u", "q")
		f.set(nil, "SR:B")
		testclock.Advance(7 * time.Minute)
		if _, changes := f.counts(); changes != 1 {
			t.Errorf("%d calls of changed after one change, want 1", changes)
		}
	})
}

// TestPollerForgetsUnusedQueries checks that the poller forgets a query that is no longer
// used. The poller does not learn when a group is deleted. Before it forgets a query, it calls
// changed, so that a group that still needs the query uses it again.
func TestPollerForgetsUnusedQueries(t *testing.T) {
	polling(t, func(t *testing.T, p *Poller, f *finder) {
		f.set(nil, "SR:A")
		p.Names("u", "q")
		testclock.Advance(10 * time.Minute)
		f.counts()
		testclock.Advance(26 * time.Minute)
		if _, changes := f.counts(); changes != 1 {
			t.Errorf("%d reminders after half an hour", changes)
		}
		p.Names("u", "q")
		testclock.Advance(55 * time.Minute)
		if _, known, _ := p.Names("u", "q"); !known {
			t.Error("the poller forgot a query that is in use")
		}
		testclock.Advance(2 * time.Hour)
		f.counts()
		testclock.Advance(time.Hour)
		if queries, _ := f.counts(); queries != 0 {
			t.Errorf("%d requests for an unused query", queries)
		}
		if _, known, _ := p.Names("u", "q"); known {
			t.Error("a forgotten query has an answer")
		}
	})
}

// TestPollerQueriesServicesInParallel checks that a slow service does not delay the queries to
// others.
func TestPollerQueriesServicesInParallel(t *testing.T) {
	polling(t, func(t *testing.T, p *Poller, f *finder) {
		f.set(nil, "SR:A")
		for _, q := range []string{"1", "2", "3", "4"} {
			p.Names("u", q)
		}
		testclock.Advance(1500 * time.Millisecond)
		if queries, _ := f.counts(); queries != 4 {
			t.Errorf("%d of 4 queries were sent within the time of one answer", queries)
		}
	})
}

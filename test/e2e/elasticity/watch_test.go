package elasticity

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/test/archive"
)

// durable is the age at which a sample must be durable. Every later read must return the
// sample.
const durable = 3 * time.Second

// readers is the maximum number of concurrent requests.
const readers = 4

// tallies reads a window of all PVs.
func (s *site) tallies(ctx context.Context, from, to time.Time) (map[string]archive.Tally, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	all, mu := map[string]archive.Tally{}, sync.Mutex{}
	for _, pv := range s.pvs {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			events, err := s.Raw(pv, from, to)
			mu.Lock()
			defer mu.Unlock()
			all[pv] = archive.NewTally(events)
			return err
		})
	}
	return all, g.Wait()
}

// watch reads repeatedly during a fault.
type watch struct {
	site     *site
	from, to time.Time
	before   map[string]archive.Tally // the complete window between from and to, before the fault
	strict   bool                     // the last seconds must be complete too

	cancel context.CancelFunc
	ended  chan struct{} // closed when run has ended
	mu     sync.Mutex
	seen   observed
}

// observed holds the results of the reads. A failed read gives no information about the
// samples.
type observed struct {
	reads, failed int
	failures      []string      // errors of the first few failed reads
	slowest       time.Duration // longest time until an answer
	wrong         []string      // descriptions of wrong answers
}

func (s *site) watch(from, to time.Time, before map[string]archive.Tally, strict bool) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{site: s, from: from, to: to, before: before, strict: strict, cancel: cancel, ended: make(chan struct{})}
	go w.run(ctx)
	return w
}

// run reads two windows of each PV repeatedly: the window before the fault, and the last
// seconds.
func (w *watch) run(ctx context.Context) {
	defer close(w.ended)
	for ctx.Err() == nil {
		var g errgroup.Group
		g.SetLimit(readers)
		for _, pv := range w.site.pvs {
			g.Go(func() error {
				if ctx.Err() == nil {
					w.checkPV(pv)
				}
				return nil
			})
		}
		_ = g.Wait() // the goroutines return no errors
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // this leaves the archive time for other work
		}
	}
}

func (w *watch) checkPV(pv string) {
	begun := time.Now()
	old, err := w.site.Raw(pv, w.from, w.to)
	if w.note(begun, err) {
		got, want := archive.NewTally(old), w.before[pv]
		if got.First != want.First || got.Last != want.Last || got.Lost+got.Duplicated != 0 {
			w.reportWrong("%s from %v to %v, which was complete before the fault: %v", pv, clock(w.from), clock(w.to), got)
		}
	}
	to := time.Now().Add(-durable)
	from := to.Add(-15 * time.Second)
	if from.Before(w.from) {
		from = w.from
	}
	begun = time.Now()
	recent, err := w.site.Raw(pv, from, to)
	if !w.note(begun, err) {
		return
	}
	if got := archive.NewTally(recent); got.Duplicated != 0 || w.strict && got.Lost != 0 {
		w.reportWrong("%s from %v to %v: %v", pv, clock(from), clock(to), got)
	}
}

// note counts a read and reports whether it was answered.
func (w *watch) note(begun time.Time, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.reads++
	w.seen.slowest = max(w.seen.slowest, time.Since(begun))
	if err != nil {
		w.seen.failed++
		if len(w.seen.failures) < 5 {
			w.seen.failures = append(w.seen.failures, fmt.Sprintf("read at %s: %v", clock(time.Now()), err))
		}
	}
	return err == nil
}

func (w *watch) reportWrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.wrong = append(w.seen.wrong, fmt.Sprintf("read at %s: ", clock(time.Now()))+fmt.Sprintf(format, args...))
}

// stop ends the watch and returns its observations.
func (w *watch) stop() observed {
	w.cancel()
	<-w.ended
	return w.seen
}

func clock(t time.Time) string { return t.Format("15:04:05.000") }

package ring

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/program"
)

// users is the number of users that read over HTTP at the same time.
const users = 2

// watch reads an archive continuously, and records the longest delays in each stage of a test.
type watch struct {
	t     *testing.T
	a     *program.Archiver
	store *query.Reader // reads only the store, not the program's memory
	pvs   []string
	begin time.Time

	cancel context.CancelFunc
	ended  sync.WaitGroup
	once   sync.Once // guards stop

	mu     sync.Mutex
	stored map[string]acknowledged
	stage  *stage
}

// acknowledged holds the number of acknowledged samples of a PV, and the time at which this
// number last rose.
type acknowledged struct {
	samples uint64
	since   time.Time
}

// stage is a part of a test.
type stage struct {
	name        string
	begin       time.Time
	pause       time.Duration // longest time without an acknowledged sample of a PV
	first, last uint64        // numbers of acknowledged samples at the start and the end
	reads       int
	read        time.Duration   // longest read
	checks      []time.Duration // durations of the reads of the store
}

// typicalCheck returns the median duration of the reads of the store.
func (s *stage) typicalCheck() time.Duration {
	if len(s.checks) == 0 {
		return time.Since(s.begin)
	}
	slices.Sort(s.checks)
	return s.checks[len(s.checks)/2]
}

// String summarizes the stage.
func (s *stage) String() string {
	took := time.Since(s.begin).Seconds()
	typical := s.typicalCheck()
	return fmt.Sprintf("%-24s %5.1f s: %5.0f samples/s acknowledged, longest pause of a PV %.2f s; %d reads, longest %.2f s; "+
		"%d of the store, median %.2f s, longest %.2f s", s.name, took, float64(s.last-s.first)/took, s.pause.Seconds(), s.reads,
		s.read.Seconds(), len(s.checks), typical.Seconds(), slices.Max(append(s.checks, 0)).Seconds())
}

func startWatch(t *testing.T, a *program.Archiver, store *query.Reader, pvs []string, begin time.Time) *watch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watch{t: t, a: a, store: store, pvs: pvs, begin: begin, cancel: cancel, stored: map[string]acknowledged{}}
	w.enter("three nodes")
	w.ended.Go(func() { w.repeat(ctx, 100*time.Millisecond, w.acknowledgements) })
	w.ended.Go(func() { w.repeat(ctx, 300*time.Millisecond, func() error { return w.checkStore(ctx) }) })
	for range users {
		w.ended.Go(func() { w.repeat(ctx, 200*time.Millisecond, w.readAsUser) })
	}
	t.Cleanup(w.stop)
	return w
}

// repeat calls f until ctx ends. An error fails the test.
func (w *watch) repeat(ctx context.Context, pause time.Duration, f func() error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		if err := f(); err != nil && ctx.Err() == nil {
			w.mu.Lock()
			w.t.Errorf("%s, after %v: %v", w.stage.name, time.Since(w.stage.begin).Round(time.Millisecond), err)
			w.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// enter begins a stage. It logs the previous stage and returns it.
func (w *watch) enter(name string) *stage {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.stage
	if before != nil {
		w.t.Log(before)
	}
	var total uint64
	for _, a := range w.stored {
		total += a.samples
	}
	w.stage = &stage{name: name, begin: time.Now(), first: total, last: total}
	return before
}

// awaitChecks waits until the store was read n times in this stage.
func (w *watch) awaitChecks(n int) {
	w.t.Helper()
	program.Eventually(w.t, fmt.Sprintf("%d reads of the store", n), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.stage.checks) >= n
	})
}

// stop ends the watch and logs the last stage.
func (w *watch) stop() {
	w.once.Do(func() {
		w.cancel()
		w.ended.Wait()
		w.t.Log(w.stage)
	})
}

// acknowledgements reads how many samples of each PV the store has acknowledged.
func (w *watch) acknowledgements() error {
	channels, err := w.a.Client.Channels()
	if err != nil {
		return fmt.Errorf("reading the channels: %w", err)
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	var total uint64
	for _, pv := range w.pvs {
		before, known := w.stored[pv]
		stored := channels[pv].Stored
		if !known || stored > before.samples {
			w.stored[pv] = acknowledged{stored, now}
		}
		if known {
			w.stage.pause = max(w.stage.pause, now.Sub(before.since))
		}
		total += stored
	}
	w.stage.last = total
	return nil
}

// readAsUser reads a PV over HTTP, and checks that no sample is missing.
func (w *watch) readAsUser() error {
	pv := w.pvs[rand.N(len(w.pvs))]
	start := time.Now()
	events, err := w.a.Client.Events(pv, w.begin)
	took := time.Since(start)
	w.mu.Lock()
	w.stage.reads++
	w.stage.read = max(w.stage.read, took)
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("reading %s, after %v: %w", pv, took, err)
	}
	return whole(pv, events)
}

// whole returns an error if samples are missing.
func whole(pv string, events []archive.Event) error {
	holes, err := archive.Holes(events)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", pv, err)
	case len(holes) > 0:
		return fmt.Errorf("%s: %v", pv, holes)
	case len(events) == 0:
		return fmt.Errorf("%s has no samples", pv)
	}
	return nil
}

// checkStore reads a PV from the store only, and checks that the store returns at least as
// many samples as it had acknowledged before the read.
func (w *watch) checkStore(ctx context.Context) error {
	pv := w.pvs[rand.N(len(w.pvs))]
	w.mu.Lock()
	least := w.stored[pv].samples
	w.mu.Unlock()
	start := time.Now()
	samples, err := count(ctx, w.store, pv)
	took := time.Since(start)
	w.mu.Lock()
	w.stage.checks = append(w.stage.checks, took)
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("reading %s from the store, after %v: %w", pv, took, err)
	}
	if samples < least {
		return fmt.Errorf("%s: the store has %d samples, but has acknowledged %d", pv, samples, least)
	}
	return nil
}

// count returns the number of samples of a PV in the store.
func count(ctx context.Context, r *query.Reader, pv string) (n uint64, err error) {
	read, err := r.Read(ctx, pv, query.Earliest, query.Latest, query.Options{})
	if err != nil {
		return 0, err
	}
	for run, err := range read.All {
		if err != nil {
			return n, err
		}
		n += uint64(run.Len())
	}
	return n, nil
}

package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// world is an archive of one shard, with its engines, its reader and the model.
type world struct {
	t        *testing.T
	name     string
	rng      *rand.Rand
	out      *outside
	shard    int
	channels []*channel
	engines  []*engine // the live ones
	reader   *line
	launched int
	trace    []string
	// lateQuiet and lateAge say how long corrections of rollups wait for more late samples.
	lateQuiet, lateAge time.Duration
}

func newWorld(t *testing.T, out *outside, seed uint64, shard int) *world {
	w := &world{t: t, name: t.Name(), rng: rand.New(rand.NewPCG(seed, 0)), out: out, shard: shard}
	w.lateQuiet = []time.Duration{0, 5 * time.Minute, 2 * time.Hour}[rand.New(rand.NewPCG(seed, 1)).IntN(3)] // does not change the steps
	w.lateAge = 4 * w.lateQuiet
	w.reader = w.newLine()
	for _, name := range []string{"A", "B", "C"} {
		w.channels = append(w.channels, &channel{name: fmt.Sprintf("S%d:%s", shard, name), typ: w.anyType(), retention: w.anyRetention(), sure: set{}})
	}
	return w
}

func (w *world) newLine() *line {
	return &line{out: w.out, rng: rand.New(rand.NewPCG(w.rng.Uint64(), 0)), onBreak: func() {}}
}

// close shuts down all live engines.
func (w *world) close() {
	for _, e := range w.engines {
		e.die()
		e.running.Wait()
	}
}

func (w *world) did(format string, args ...any) {
	w.trace = append(w.trace, time.Now().UTC().Format("01-02T15:04:05 ")+fmt.Sprintf(format, args...))
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s: %s\nsteps:\n  %s", w.name, fmt.Sprintf(format, args...), strings.Join(w.trace, "\n  "))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.fatalf("%v", err)
	}
}

// expect returns the expectation for a read that queries the given engines.
func (w *world) expect(ch *channel, queried []*engine) expectation {
	x := expectation{must: set{}, may: set{}}
	for p := range ch.sure {
		x.must.add(p)
	}
	for _, e := range w.engines {
		if slices.Contains(queried, e) {
			x.must.add(e.pending[ch.name]...)
		} else {
			x.may.add(e.pending[ch.name]...)
		}
	}
	for p := range x.must {
		delete(x.may, p)
	}
	return x
}

// updateModel waits until all goroutines are idle. It then updates the model: it records the
// samples that engines report as durable, and handles crashed engines.
func (w *world) updateModel() {
	synctest.Wait()
	for _, e := range slices.Clone(w.engines) {
		switch {
		case e.dead():
			w.resolveCrash(e)
		case e.shardJournal.Unsaved() == 0:
			w.saved(e)
		}
	}
}

// saved records that all samples of an engine are durable.
func (w *world) saved(e *engine) {
	for _, ch := range w.channels {
		ch.sure.add(e.pending[ch.name]...)
		delete(e.pending, ch.name)
	}
}

// resolveCrash waits for the end of a crashed engine, and reads which of its unacknowledged
// samples the store has. These samples count as durable from then on.
func (w *world) resolveCrash(e *engine) {
	e.running.Wait()
	w.engines = slices.DeleteFunc(w.engines, func(o *engine) bool { return o == e })
	for _, ch := range w.channels {
		if len(e.pending[ch.name]) == 0 {
			continue
		}
		left := samples{runs: w.runs(ch, query.Earliest, query.Latest, query.Options{}, nil)}
		there := set{}
		there.add(left.points()...)
		for _, p := range e.pending[ch.name] {
			if _, ok := there[p]; ok {
				ch.sure.add(p)
			}
		}
	}
}

// finish seals all samples and checks the whole store.
func (w *world) finish() {
	w.did("the end")
	for _, e := range w.engines {
		e.line.set(false, false)
	}
	for _, e := range slices.Clone(w.engines) {
		w.end(e)
	}
	last := w.launch()
	for range 3 {
		time.Sleep(2 * time.Hour)
		w.must(last.shard.Checkpoint(last.ctx))
	}
	w.compareAll(nil)
	w.end(last)
	for _, ch := range w.channels {
		w.compareTypes(ch)
	}
	w.check()
	// A reopened store must give the same samples.
	w.must(w.out.reopen())
	w.compareAll(nil)
}

// check checks the archive with package check.
func (w *world) check() {
	var report check.Report
	w.must(w.out.call(func(ctx context.Context, st store.Store) (err error) {
		report, err = check.Run(ctx, st, check.Options{Shards: w.shard + 1, Now: w.out.clock})
		return err
	}))
	for _, f := range report.Findings {
		if f.Severity != check.Info {
			w.fatalf("check: %s %s, %s: %s", f.Kind, f.PV, f.Where, f.Text)
		}
	}
}

// compareTypes compares the types in the directory with the types of the samples.
func (w *world) compareTypes(ch *channel) {
	c, _, err := w.reader.Channel(context.Background(), ch.name)
	w.must(err)
	for p := range ch.sure {
		if !slices.Contains(c.Types, p.typ) {
			w.fatalf("%s: the directory does not list type %v, but samples have it", ch.name, p.typ)
		}
	}
	for _, t := range c.Types {
		if !slices.ContainsFunc(ch.sent, func(p point) bool { return p.typ == t }) {
			w.fatalf("%s: the directory lists type %v, but no sample has had it", ch.name, t)
		}
	}
}

// view is the set of engines that a reader queries. Every other engine is busy: it answers how far
// it is flushed. A view reports every PV as known, even if no engine answers.
type view struct {
	w       *world
	queried []*engine
}

func (v view) Recent(_ context.Context, q query.RecentRequest) query.Held {
	h := query.Held{Known: true, Shards: []int{v.w.shard}}
	for _, e := range v.w.engines {
		if slices.Contains(v.queried, e) {
			continue
		}
		h.Unanswered = true
		if e.id%2 == 0 { // the others do not answer at all
			h.Flushed = append(h.Flushed, query.Flushed{Writer: e.shardJournal.Writer(), Until: e.shardJournal.SavedUntil()})
		}
	}
	for _, e := range v.queried {
		h.Add(query.Held{Covers: []store.WriterID{e.shardJournal.Writer()}, Runs: e.shardJournal.Recent(q.PV, q.From, q.To)})
	}
	return h
}

func (w *world) query(queried []*engine) *query.Reader {
	return &query.Reader{Store: w.reader, Recent: view{w, queried}, Shards: w.shard + 1}
}

// runs returns the samples of a read.
func (w *world) runs(ch *channel, from, to int64, opts query.Options, queried []*engine) (all []*sample.Run) {
	all, _ = w.runsUntil(ch, from, to, opts, queried)
	return all
}

// runsUntil returns the samples of a read, and the time up to which they are complete.
func (w *world) runsUntil(ch *channel, from, to int64, opts query.Options, queried []*engine) (all []*sample.Run, until int64) {
	read, err := w.query(queried).Read(context.Background(), ch.name, from, to, opts)
	w.must(err)
	for r, err := range read.All {
		w.must(err)
		if r.Len() == 0 {
			w.fatalf("%s: the read yields a run without samples", ch.name)
		}
		all = append(all, r.Clone())
	}
	return all, read.CompleteUntil
}

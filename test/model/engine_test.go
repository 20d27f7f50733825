package model

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/relocation"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// engine is a process that captures, journals and seals the shard. It shuts down in order or
// crashes, for example when its line breaks.
type engine struct {
	id           int
	line         *line
	shardJournal *journal.ShardJournal
	shard        *seal.Shard
	cfg          seal.Config
	// seals is true if the engine's claim says that it seals. All engines make checkpoints, in
	// any order, because two engines may both seal while leadership passes from one to the
	// other.
	seals bool

	ctx     context.Context // cancelled by a crash
	stop    context.CancelFunc
	crash   context.CancelFunc
	running sync.WaitGroup
	unsaved int // number of unsaved samples at the end

	mu         sync.Mutex
	heads      map[string]*journal.Head   // by captured PV
	retentions map[string]store.Retention // retention by PV, as the engine knows it

	pending map[string][]point // samples in memory that may not be durable yet, by PV
	arrived map[point]int64    // the latest arrival of a sample, in ns since 1970
}

// Times of engines. Hours pass at once in the bubble, so a flush every 500 ms would cost too
// much. Most rows are flushed by the steps.
const (
	flushEvery = 5 * time.Minute
	silence    = 15 * time.Minute
	dropAfter  = 20 * time.Second
)

func (w *world) launch() *engine {
	w.launched++
	mem := journal.NewMemory(1 << 30)
	log := slog.New(slog.DiscardHandler)
	e := &engine{id: w.launched, line: w.newLine(), heads: map[string]*journal.Head{}, retentions: map[string]store.Retention{}, pending: map[string][]point{}, arrived: map[point]int64{}}
	e.ctx, e.crash = context.WithCancel(context.Background())
	soft, stop := context.WithCancel(e.ctx)
	e.stop = stop
	e.shardJournal = journal.NewShardJournal(w.shard, store.NewWriter(), &journal.Config{Store: e.line, Flush: flushEvery, RowBytes: 256 << 10,
		Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: log})
	e.running.Go(func() { e.unsaved = e.shardJournal.Run(soft, e.ctx) })
	<-e.shardJournal.Claimed()
	e.declare()
	e.cfg = seal.Config{Store: e.line, Every: 15 * time.Minute, Memory: mem, Slots: make(chan struct{}, 1), Silence: silence,
		Ours:      func(store.WriterID) bool { return false },
		Died:      func(context.Context, int, int64, int64) error { return nil },
		Retention: e.retention, Captured: func(int) []string { return e.captured() }, Pace: new(relocation.Pace), DropAfter: dropAfter,
		Last: func(ctx context.Context, pv string, at int64) (*sample.Run, error) {
			return query.LastInBlocks(ctx, e.line, pv, at)
		},
		LateQuiet: w.lateQuiet, LateAge: w.lateAge,
		Metrics: seal.NewMetrics(prometheus.NewRegistry()), Log: log}
	e.newTerm()
	w.engines = append(w.engines, e)
	return e
}

// declare declares in the claim that the engine seals, unless the claim says so already. It
// returns false if the store is unavailable.
func (e *engine) declare() bool {
	ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
	defer cancel()
	e.seals = e.seals || e.shardJournal.SetSealing(ctx, store.FirstTerm) == nil
	return e.seals
}

// newTerm replaces the sealer by a new one without any state.
func (e *engine) newTerm() { e.shard = seal.NewShard(e.shardJournal, &e.cfg) }

func (e *engine) retention(pv string) (store.Retention, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, captured := e.heads[pv]
	return e.retentions[pv], captured
}

func (e *engine) captured() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.heads))
}

// setRetention passes the retention of a PV to the engine.
func (e *engine) setRetention(ch *channel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.retentions[ch.name] = ch.retention
}

// head returns the head of a PV for its current type.
func (e *engine) head(ch *channel) *journal.Head {
	e.mu.Lock()
	h := e.heads[ch.name]
	_, known := e.retentions[ch.name]
	e.mu.Unlock()
	if !known {
		e.setRetention(ch)
	}
	if h != nil && h.Type() == ch.typ {
		return h
	}
	if h != nil {
		h.Retire()
	}
	h = e.shardJournal.Open(ch.name, ch.typ)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heads[ch.name] = h
	return h
}

// release ends the capture of a PV.
func (e *engine) release(pv string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.heads[pv]; h != nil {
		h.Retire()
	}
	delete(e.heads, pv)
	delete(e.retentions, pv)
}

// capture appends samples of a PV to the engine's memory.
func (e *engine) capture(ch *channel, points []point) {
	h := e.head(ch)
	for i := range points {
		s := points[i].sample()
		e.shardJournal.Append(h, points[i].typ, &s)
	}
	e.pending[ch.name] = append(e.pending[ch.name], points...)
	for _, p := range points {
		e.arrived[p] = time.Now().UnixNano()
	}
}

// die breaks the line for good and crashes the engine.
func (e *engine) die() {
	e.line.set(true, false)
	e.crash()
}

func (e *engine) dead() bool { return e.ctx.Err() != nil }

// term replaces the sealer by a new one without any state, and returns it.
func (e *engine) term() *seal.Shard {
	e.newTerm()
	return e.shard
}

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

// engine is a process that captures, journals and seals the shard. It crashes when its
// line says so, or ends in order.
type engine struct {
	id           int
	line         *line
	shardJournal *journal.ShardJournal
	shard        *seal.Shard
	cfg          seal.Config
	// seals: its claim says so. All engines make checkpoints, in any order, as two do while
	// the role passes.
	seals bool

	ctx     context.Context // ended by a crash
	stop    context.CancelFunc
	crash   context.CancelFunc
	running sync.WaitGroup
	unsaved int // at its end

	mu    sync.Mutex
	heads map[string]*journal.Head   // of the PVs that it captures
	asked map[string]store.Retention // as it was told

	pending map[string][]point // in memory, and perhaps durable
}

// Times of engines. In the bubble hours pass at once, and are not to cost a flush twice
// a second; rows are flushed when a step says so.
const (
	flushEvery = 5 * time.Minute
	silence    = 15 * time.Minute
	dropAfter  = 20 * time.Second
)

func (w *world) launch() *engine {
	w.launched++
	mem := journal.NewMemory(1 << 30)
	log := slog.New(slog.DiscardHandler)
	e := &engine{id: w.launched, line: w.newLine(), heads: map[string]*journal.Head{}, asked: map[string]store.Retention{}, pending: map[string][]point{}}
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
		Metrics: seal.NewMetrics(prometheus.NewRegistry()), Log: log}
	e.newTerm()
	w.engines = append(w.engines, e)
	return e
}

// declare says in the claim that the engine seals, unless it does already. It is false if
// the store is away.
func (e *engine) declare() bool {
	ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
	defer cancel()
	e.seals = e.seals || e.shardJournal.SetSealing(ctx, store.FirstTerm) == nil
	return e.seals
}

// newTerm makes the sealer one that knows nothing.
func (e *engine) newTerm() { e.shard = seal.NewShard(e.shardJournal, &e.cfg) }

func (e *engine) retention(pv string) (store.Retention, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, captured := e.heads[pv]
	return e.asked[pv], captured
}

func (e *engine) captured() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.heads))
}

// tell tells the engine how long a PV is to be kept.
func (e *engine) tell(ch *channel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked[ch.name] = ch.retention
}

// head returns that of a PV and its type now.
func (e *engine) head(ch *channel) *journal.Head {
	e.mu.Lock()
	h := e.heads[ch.name]
	_, told := e.asked[ch.name]
	e.mu.Unlock()
	if !told {
		e.tell(ch)
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
	delete(e.asked, pv)
}

// capture takes samples of a PV into memory.
func (e *engine) capture(ch *channel, points []point) {
	h := e.head(ch)
	for i := range points {
		s := points[i].sample()
		e.shardJournal.Append(h, points[i].typ, &s)
	}
	e.pending[ch.name] = append(e.pending[ch.name], points...)
}

// die breaks the line, and the engine with it.
func (e *engine) die() {
	e.line.set(true, false)
	e.crash()
}

func (e *engine) dead() bool { return e.ctx.Err() != nil }

// term returns a sealer that knows nothing, to be run.
func (e *engine) term() *seal.Shard {
	e.newTerm()
	return e.shard
}

// Package engine is the data plane of Varve: it captures the PVs of its
// assignment and keeps their samples in a store.
//
//	             Apply(Assignment)
//	                   ▼
//	source ──▶ capture.Manager ──▶ journal.Lane × shards ──▶ store
//	                   │                  ▲  │                 ▲
//	                   └──▶ mark.Log ─────┼──┼─────────────────┤
//	                                      │  └▶ seal.Shard ────┘
//	       query.Reader ── Recent ────────┘
//
// Nothing below it knows of Kubernetes: the operator's agent and `varve
// standalone` drive the same Engine.
package engine

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/mark"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/quiet"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// Options of an Engine. Zero values mean the defaults named.
type Options struct {
	Store  store.Store
	Source capture.Source
	// Shards is the number of shards of the archive; default 64. It must stay the
	// same for the life of an archive.
	Shards int
	// Flush is the longest time a sample waits for its journal row; default 500 ms.
	Flush time.Duration
	// Checkpoint is the time between two checkpoints of a shard; default 15 min.
	Checkpoint time.Duration
	// Memory bounds the samples that are in no block yet, in bytes; default 1 GiB.
	Memory int64
	// Grace is how long an orderly stop may take; default 20 s.
	Grace time.Duration
	// Exclusive says that the store is locked: no other engine writes to it.
	Exclusive  bool
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

func (o *Options) setDefaults() {
	setDefault(&o.Shards, 64)
	setDefault(&o.Flush, 500*time.Millisecond)
	setDefault(&o.Checkpoint, 15*time.Minute)
	setDefault(&o.Memory, 1<<30)
	setDefault(&o.Grace, 20*time.Second)
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = slog.New(quiet.New(o.Log.Handler(), complainEvery))
}

// silence is how long another writer must be silent to count as dead.
func (o *Options) silence() time.Duration {
	if o.Exclusive {
		return 0
	}
	return 3 * journal.RenewEvery
}

func setDefault[T comparable](v *T, def T) {
	if *v == *new(T) {
		*v = def
	}
}

// complainEvery is how often the log has the same warning: all shards have one
// while the store is away.
const complainEvery = 10 * time.Second

// rowBytes is the size of a journal row's body before compression.
const rowBytes = 256 << 10

// Engine captures and stores. Create it with New and keep it going with Run.
type Engine struct {
	opts    Options
	writer  store.Writer
	marks   *mark.Log
	lanes   []*journal.Lane
	sealers []*seal.Shard
	capture *capture.Manager
	journal *journal.Metrics
	memory  *journal.Memory

	applied     chan struct{} // closed by the first Apply
	applyClosed sync.Once
}

// New returns an engine that captures nothing yet. It does not touch the store.
func New(opts Options) *Engine {
	opts.setDefaults()
	e := &Engine{opts: opts, writer: newWriter(), memory: journal.NewMemory(opts.Memory), applied: make(chan struct{})}
	e.marks = mark.NewLog(opts.Store, e.writer, opts.Registerer, opts.Log)
	e.journal = journal.NewMetrics(opts.Registerer, e.memory)
	lanes := &journal.Config{
		Store: opts.Store, Writer: e.writer, Flush: opts.Flush, RowBytes: rowBytes, Memory: e.memory,
		Lost: e.marks.Add, Metrics: e.journal, Log: opts.Log,
	}
	e.capture = capture.NewManager(capture.Config{
		Source: opts.Source, Lane: func(shard int) *journal.Lane { return e.lanes[shard] }, Marks: e.marks,
		Registerer: opts.Registerer, Log: opts.Log,
	})
	sealers := &seal.Config{
		Store: opts.Store, Every: opts.Checkpoint, Memory: e.memory, Slots: make(chan struct{}, 2),
		Silence: opts.silence(), Died: e.died, Metrics: seal.NewMetrics(opts.Registerer), Log: opts.Log,
	}
	for i := range opts.Shards {
		e.lanes = append(e.lanes, journal.NewLane(i, lanes))
		e.sealers = append(e.sealers, seal.NewShard(e.lanes[i], sealers))
	}
	return e
}

// newWriter returns a version 4 UUID.
func newWriter() (w store.Writer) {
	rand.Read(w[:])
	w[6] = w[6]&0x0f | 0x40
	w[8] = w[8]&0x3f | 0x80
	return w
}

// Run journals and seals until ctx ends. Then it stops the capture, makes every
// sample durable and closes its claims. It returns the number of samples that
// could not be made durable within the grace period. Apply may be called before.
func (e *Engine) Run(ctx context.Context) (unsaved int) {
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var sealing, journalling, marking sync.WaitGroup
	soft, flush := context.WithCancel(hard)
	defer flush()
	marksSoft, endMarks := context.WithCancel(hard)
	defer endMarks()

	left := make([]int, len(e.lanes))
	marking.Go(func() { e.marks.Run(marksSoft, hard) })
	for i := range e.lanes {
		journalling.Go(func() { left[i] = e.lanes[i].Run(soft, hard) })
		sealing.Go(func() { e.seal(ctx, e.sealers[i]) })
	}
	<-ctx.Done()
	timer := time.AfterFunc(e.opts.Grace, kill)
	defer timer.Stop()
	e.capture.Close()
	sealing.Wait()
	flush()
	journalling.Wait()
	endMarks()
	marking.Wait()
	for _, n := range left {
		unsaved += n
	}
	return unsaved
}

// seal runs a sealer from the first assignment on: only then is it known which
// channels the death of another writer has to be marked for.
func (e *Engine) seal(ctx context.Context, s *seal.Shard) {
	select {
	case <-e.applied:
		s.Run(ctx)
	case <-ctx.Done():
	}
}

// died marks, for each PV of a shard, that the writer before ended without
// closing: between two times (ns since 1970) samples may be missing.
func (e *Engine) died(ctx context.Context, shard int, from, to int64) error {
	for pvs := range slices.Chunk(e.capture.InShard(shard), 500) {
		marks := make([]store.PVMark, len(pvs))
		for i, pv := range pvs {
			marks[i] = store.PVMark{PV: pv, Writer: e.writer, Mark: sample.Mark{Time: from, End: to, Kind: sample.Died}}
		}
		if err := e.opts.Store.PutMarks(ctx, marks...); err != nil {
			return err
		}
	}
	return nil
}

// Apply makes an assignment the one that is captured.
func (e *Engine) Apply(a capture.Assignment) {
	e.capture.Apply(a)
	e.applyClosed.Do(func() { close(e.applied) })
}

// Capture returns the manager, for statuses and totals.
func (e *Engine) Capture() *capture.Manager { return e.capture }

// Shards returns the number of shards.
func (e *Engine) Shards() int { return len(e.lanes) }

// Recent implements query.Recent.
func (e *Engine) Recent(pv string) query.Held {
	shard, known := e.capture.Shard(pv)
	held := query.Held{Known: known, Covers: []store.Writer{e.writer}}
	if known {
		held.Shards = []int{shard}
	}
	for _, l := range e.lanes {
		held.Runs = append(held.Runs, l.Recent(pv)...)
	}
	held.Known = held.Known || len(held.Runs) > 0
	return held
}

// Summary is what became of all samples since the start.
type Summary struct {
	capture.Totals
	// Stored samples are acknowledged by the store; Pending ones are in memory only.
	Stored, Pending uint64
	// JournalBytes are acknowledged.
	JournalBytes uint64
	// MemoryBytes are taken by samples that are in no block yet.
	MemoryBytes int64
}

// Unsaved counts the samples that the store has not acknowledged yet.
func (e *Engine) Unsaved() (n int) {
	for _, l := range e.lanes {
		n += l.Unsaved()
	}
	return n
}

// Summary counts anew. Received = Stored + Pending + the sum of Dropped, but for
// samples held back until their scan time, and for what moves while it counts.
func (e *Engine) Summary() Summary {
	s := Summary{Totals: e.capture.Totals(), MemoryBytes: e.memory.Used()}
	s.Pending = uint64(e.Unsaved())
	s.Stored, s.JournalBytes = e.journal.Samples.Load(), e.journal.Bytes.Load()
	s.Dropped[sample.Overflow] += e.journal.Dropped.Load()
	return s
}

// Package engine is the data plane of Varve: it captures the PVs of the shards
// that it holds, and keeps their samples in a store.
//
//	             Apply(Assignment)
//	                   ▼
//	source ──▶ capture.Manager ──▶ journal.ShardJournal ×  shards held ──▶ store
//	                   │                  ▲  ├▶ spool.Spool ─────────▲
//	                   └──▶ mark.Log ─────┼──┼───────────────────────┤
//	                                      │  └▶ seal.Shard ──────────┘
//	       query.Reader ── Recent ────────┘
//
// A shard is held from the Apply that first lists it until, no longer listed, its
// samples are durable and its claim is closed. Several engines may hold a shard:
// each journals it, and those that are told to seal it do.
//
// Nothing below it knows of Kubernetes: the operator's agent and `varve
// standalone` drive the same Engine.
package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/loglimit"
	"varve.dev/varve/engine/mark"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/watchdog"
)

// Options of an Engine. Zero values mean the defaults named.
type Options struct {
	Store   store.Store
	Sources capture.Sources
	// Shards is the number of shards of the archive; DefaultShards by default. It must
	// stay the same for the life of an archive.
	Shards int
	// Flush is the longest time a sample waits for its journal row; default 500 ms.
	Flush time.Duration
	// Checkpoint is the time between two checkpoints of a shard; default 15 min.
	Checkpoint time.Duration
	// Memory bounds the samples that are in no block yet, in bytes; default 1 GiB.
	Memory int64
	// Spool takes samples while the store is away; nil: they wait in memory. It is open,
	// and nobody else's; who opened it closes it.
	Spool *spool.Spool
	// DiskLimit is how many bytes the archive may take before the oldest raw samples go;
	// 0: as many as the settings of the store's servers say, if they do. Reclaim is what an
	// administrator can do to have their room become free; empty: it does by itself.
	DiskLimit int64
	Reclaim   string
	// Grace is how long an orderly stop may take; default 20 s.
	Grace time.Duration
	// Exclusive says that the store is locked: no other engine writes to it.
	Exclusive  bool
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// DefaultShards is the number of shards of an archive that says nothing else.
const DefaultShards = 64

func (o *Options) setDefaults() {
	setDefault(&o.Shards, DefaultShards)
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
	o.Log = slog.New(loglimit.New(o.Log.Handler(), complainEvery))
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
	opts               Options
	writer             store.WriterID
	marks              *mark.Log
	capture            *capture.Manager
	memory             *journal.Memory
	journal            *journal.Metrics
	shardJournalConfig *journal.Config
	sealCfg            *seal.Config
	guard              *guard.Guard
	watchdog           *watchdog.Watchdog

	applying sync.Mutex // held by Apply, and by Run while it begins and ends

	mu      sync.RWMutex     // guards what follows; taken after applying
	held    map[int]*holding // by shard: those listed
	leaving []*holding       // released, and not done with yet
	begin   func(*holding)   // keeps a holding going; nil before Run
	ended   bool
}

// New returns an engine that captures nothing yet. It does not touch the store.
func New(opts Options) *Engine {
	opts.setDefaults()
	e := &Engine{
		opts: opts, writer: store.NewWriter(), memory: journal.NewMemory(opts.Memory), held: map[int]*holding{},
	}
	e.marks = mark.NewLog(opts.Store, e.writer, opts.Registerer, opts.Log)
	e.journal = journal.NewMetrics(opts.Registerer, e.memory)
	e.shardJournalConfig = &journal.Config{
		Store: opts.Store, Flush: opts.Flush, RowBytes: rowBytes, Memory: e.memory,
		Lost: e.marks.Add, Metrics: e.journal, Log: opts.Log,
	}
	if opts.Spool != nil {
		e.shardJournalConfig.Spool = opts.Spool
	}
	e.sealCfg = &seal.Config{
		Store: opts.Store, Every: opts.Checkpoint, Memory: e.memory, Slots: make(chan struct{}, 2),
		Silence: opts.silence(), Ours: e.holds, Died: e.died, Metrics: seal.NewMetrics(opts.Registerer), Log: opts.Log,
	}
	e.capture = capture.NewManager(capture.Config{
		Sources: opts.Sources, ShardJournal: e.shardJournal, Marks: e.marks, Registerer: opts.Registerer, Log: opts.Log,
	})
	e.keepAsAsked()
	e.watchDisks()
	e.addWatchdog()
	e.register(opts.Registerer)
	return e
}

// Run journals and seals until ctx ends. Then it stops the capture, makes every
// sample durable and closes its claims. It returns the number of samples that
// could not be made durable within the grace period. Apply may be called before,
// and does nothing afterwards.
func (e *Engine) Run(ctx context.Context) (unsaved int) {
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	marksSoft, endMarks := context.WithCancel(hard)
	defer endMarks()
	var marking, holding sync.WaitGroup
	marking.Go(func() { e.marks.Run(marksSoft, hard) })
	stopSpool := e.startSpool(ctx, hard)
	holding.Go(func() { e.expire(ctx) })
	holding.Go(func() { e.guard.Run(ctx) })
	holding.Go(func() { e.watchdog.Run(ctx) })
	left := e.start(hard, &holding)
	<-ctx.Done()
	timer := time.AfterFunc(e.opts.Grace, kill)
	defer timer.Stop()
	e.stop()
	if e.opts.Spool != nil {
		marking.Go(func() { e.hurry(marksSoft, kill) })
	}
	holding.Wait()
	stopSpool()
	endMarks()
	marking.Wait()
	return int(left.Load())
}

// Capture returns the manager, for statuses and totals.
func (e *Engine) Capture() *capture.Manager { return e.capture }

// Shards returns the number of shards of the archive.
func (e *Engine) Shards() int { return e.opts.Shards }

// Writer identifies the process: the marks it writes carry it. Rows and blocks
// carry writers of their own.
func (e *Engine) Writer() store.WriterID { return e.writer }

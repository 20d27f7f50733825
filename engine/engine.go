// Package engine is the data plane of Varve: it captures the PVs of the shards that it
// holds, and stores their samples.
//
//	             Apply(Assignment)
//	                   ▼
//	source ──▶ capture.Manager ──▶ journal.ShardJournal per held shard ──▶ store
//	                   │                  ▲  ├▶ spool.Spool ─────────▲
//	                   └──▶ mark.Log ─────┼──┼───────────────────────┤
//	                                      │  └▶ seal.Shard ──────────┘
//	       query.Reader ── Recent ────────┘
//
// The clock.Clock compares the clock of the machine with those of the store, of IOCs and of other
// engines. It gives the time to all of these parts.
//
// An engine holds a shard from the Apply that first lists it until the shard is no longer
// listed, its samples are durable, and its claim is closed. Several engines may hold a shard.
// Each of these engines journals the shard. An engine also seals the shard if its assignment
// says so.
//
// No package below engine knows Kubernetes: the agent of an engine pod and `varve
// standalone` drive the same Engine.
package engine

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/loglimit"
	"varve.dev/varve/engine/mark"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/watchdog"
)

// Options configure an Engine. A zero value means the default in the comment of the field.
type Options struct {
	Store   store.Store
	Sources capture.Sources
	// Shards is the number of shards of the archive; default DefaultShards. It must never
	// change during the life of an archive.
	Shards int
	// Flush is the longest time a sample waits for its journal row; default 500 ms.
	Flush time.Duration
	// Checkpoint is the time between two checkpoints of a shard; default 15 min.
	Checkpoint time.Duration
	// Memory limits the bytes of samples that are in no block yet, and of blocks that still grow;
	// default 1 GiB.
	Memory int64
	// Spool takes samples while the store is unreachable. If it is nil, they wait in memory.
	// The caller opens it for this engine alone, and closes it afterwards.
	Spool *spool.Spool
	// DiskLimit is the number of bytes that the archive may take before the disk guard deletes
	// the oldest raw samples. 0 means the limit from the settings of the store's servers, if
	// they have a limit. Reclaim says what an administrator can do to free the disk space of
	// deleted samples; it is empty if the space becomes free automatically.
	DiskLimit int64
	Reclaim   string
	// DiskKeep is the minimum age of raw samples that are deleted, at least one day.
	// DiskWarnOnly means that none are deleted.
	DiskKeep     time.Duration
	DiskWarnOnly bool
	// Grace is how long an orderly stop may take; default 20 s.
	Grace time.Duration
	// Exclusive means that the store is locked, so that no other engine writes to it.
	Exclusive bool
	// Alone means that no other engine takes over when this one stops, so the engine marks its
	// stop.
	Alone bool
	// Clock is the clock of this machine. The engine compares it with those of the store, of IOCs
	// and of other engines. The default is a clock that does not see the pauses of a virtual machine.
	Clock      *clock.Clock
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// DefaultShards is the number of shards of an archive unless configured otherwise.
const DefaultShards = 64

func (o *Options) setDefaults() {
	setDefault(&o.Shards, DefaultShards)
	setDefault(&o.Flush, 500*time.Millisecond)
	setDefault(&o.Checkpoint, 15*time.Minute)
	setDefault(&o.Memory, 1<<30)
	setDefault(&o.Grace, 20*time.Second)
	if o.Clock == nil {
		o.Clock = clock.New(clock.Config{Log: o.Log})
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = slog.New(loglimit.New(o.Log.Handler(), warnEvery))
}

// silence returns how long a writer must be silent to be considered dead.
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

// warnEvery is how often the same warning may be logged. While the store is unreachable, all
// shards log the same warning.
const warnEvery = 10 * time.Second

// rowBytes is the size of a journal row's body before compression.
const rowBytes = 256 << 10

// Engine captures and stores samples. New creates it, and Run operates it.
type Engine struct {
	opts           Options
	clock          *clock.Clock
	peers          peers
	writer         store.WriterID
	marks          *mark.Log
	book           *names.Book
	names          *names.Writer
	damage         damage
	capture        *capture.Manager
	memory         *journal.Memory
	journalMetrics *journal.Metrics
	journalConfig  *journal.Config
	sealCfg        *seal.Config
	guard          *guard.Guard
	watchdog       *watchdog.Watchdog

	applying sync.Mutex // held by Apply, and by Run while it starts and stops
	compared sync.Once  // by the first Apply: the clock is compared with those of the store

	mu         sync.RWMutex     // guards the fields below; taken after applying
	held       map[int]*holding // listed shards
	leaving    []*holding       // released, but not flushed and closed yet
	left       map[int][]Left   // PVs that leave the held shards, or left them
	runHolding func(*holding)   // starts a goroutine that runs a holding; nil before Run
	ended      bool
}

// Capture returns the capture manager, for statuses and totals.
func (e *Engine) Capture() *capture.Manager { return e.capture }

// Shards returns the number of shards of the archive.
func (e *Engine) Shards() int { return e.opts.Shards }

// Writer returns the writer ID of the process, which its marks carry. Rows and blocks
// carry writer IDs of their own.
func (e *Engine) Writer() store.WriterID { return e.writer }

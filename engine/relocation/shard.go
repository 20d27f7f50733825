package relocation

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"math"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that relocation needs.
type Store interface {
	Claims(ctx context.Context, shard int) ([]store.Claim, error)
	PutBlocks(ctx context.Context, blocks ...store.Block) error
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
	LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error)
	DropBucket(ctx context.Context, pv string, b store.Bucket, before int64) (bytes int64, err error)
	AddChannel(ctx context.Context, c store.Channel) error
	Channel(ctx context.Context, pv string) (store.Channel, bool, error)
}

// Config configures a Shard. Shard, Writer, CheckLeader and Tiers belong to the shard. The
// other values are the same for all shards of an engine.
type Config struct {
	Store Store
	// Clock says how late it may be: nothing is left out or deleted before its time because this
	// machine's clock is wrong.
	Clock *clock.Clock
	// Shard is the shard whose blocks are relocated, and Writer is the writer that holds it
	// here.
	Shard  int
	Writer store.WriterID
	// CheckLeader returns an error if claims show that another engine seals the shard.
	CheckLeader func(claims []store.Claim) error
	// Tiers returns the tiers that the store has.
	Tiers func() []store.Tier
	// Retention returns how long a PV must be kept. It returns false for a PV that is not
	// captured here. The blocks of such a PV stay where they are.
	Retention func(pv string) (store.Retention, bool)
	// Captured returns the PVs of a shard that are captured here. If it is nil, nothing
	// migrates.
	Captured func(shard int) []string
	// Last returns the last sealed sample of a PV at or before a time, in ns since 1970, as a
	// run of one sample. It returns nil if there is none.
	Last func(ctx context.Context, pv string, at int64) (*sample.Run, error)
	// Cutoff returns the deletion cutoff, in ns since 1970. Raw samples before it are deleted
	// to free disk space. If Cutoff is nil, there is no cutoff.
	Cutoff func() int64
	// Ours reports whether a writer belongs to this process and is alive.
	Ours func(w store.WriterID) bool
	// Pace is shared by the shards of an engine. It must be set if Captured is set.
	Pace *Pace
	// DropAfter is how long a bucket stays after it was copied to another tier; 0 means an
	// hour.
	DropAfter time.Duration
	// Damaged is called with each block that cannot be read, possibly several times. Such a
	// block stays on its tier.
	Damaged func(*scan.Damaged)
	Metrics *Metrics
	Log     *slog.Logger
}

// Shard relocates the stored blocks of one shard. The caller must hold the shard's turn in
// every call except Cutoff and PlanDeletion, so that sealing, migration and deletion exclude
// each other.
type Shard struct {
	cfg Config
	migrations
	erasures     []*erasure
	eraser       store.WriterID // of the blocks that erasures write
	erasedBlocks uint32         // how many
}

// New returns a Shard that has nothing to do yet.
func New(cfg Config) *Shard {
	cfg.DropAfter = cmp.Or(cfg.DropAfter, dropAfter)
	return &Shard{cfg: cfg, eraser: store.NewWriter()}
}

// minAge is the minimum age of raw samples that may be deleted to free disk space. It holds
// even if an engine with a wrong clock wrote a later cutoff.
const minAge = 24 * time.Hour

// limitCutoff returns a deletion cutoff that spares samples younger than minAge.
func (s *Shard) limitCutoff(cutoff int64) int64 {
	return min(cutoff, s.cfg.Clock.Earliest()-int64(minAge))
}

// Cutoff returns the deletion cutoff, in ns since 1970. Nothing is written or migrated to
// buckets that end at or before it. It is math.MinInt64 if there is no cutoff.
func (s *Shard) Cutoff() int64 {
	if s.cfg.Cutoff == nil {
		return math.MinInt64
	}
	return s.limitCutoff(s.cfg.Cutoff())
}

package tiling

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sort"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that tiling needs.
type Store interface {
	scan.Store
	layout.Directory
	AddChannel(ctx context.Context, c store.Channel) error
	Journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error]
	PutRollups(ctx context.Context, rows ...store.Rollup) error
	Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error]
}

// Config configures a Shard. Shard, Cutoff and Retry belong to the shard. The other values are
// the same for all shards of an engine.
type Config struct {
	Store Store
	// Clock says how late it may be, and gives the time by which sealers order their writes.
	Clock *clock.Clock
	// Shard is the number of the shard.
	Shard int
	// Every is the time between two checkpoints of the shard.
	Every time.Duration
	// Retention returns the retention of a PV, with the levels that the PV should have. It
	// returns false for a PV that is not captured here.
	Retention func(pv string) (store.Retention, bool)
	// Cutoff returns the time, in ns since 1970, before which raw samples are deleted.
	Cutoff func() int64
	// Damaged is called with each block that cannot be read, possibly several times and from
	// several goroutines.
	Damaged func(*scan.Damaged)
	// Retry calls f until it succeeds or ctx ends. doing describes f.
	Retry   func(ctx context.Context, doing string, f func() error) error
	Metrics *Metrics
	Log     *slog.Logger
}

// Part holds the samples of one type of a PV that are sealed together.
type Part struct {
	PV string
	// Run is normalized once its blocks are acknowledged. It may have no sample.
	Run *sample.Run
	// Entry is the directory entry as the sealer knows it. The sealer adds what its blocks
	// need, the tiler adds levels, and both refresh it.
	Entry *layout.Entry
	// Bucket returns the bucket to which a sample of a time belongs.
	Bucket func(t int64) store.Bucket
}

// Shard keeps the tiles of one shard up to date. The caller holds the shard's turn in every call.
type Shard struct {
	cfg    Config
	series map[string]*series
	round  int // counts checkpoints

	// at is when the sealer last read the claims, by the clocks of the store, in ns since 1970.
	// Bins that are computed in order get this time as their stamp.
	at int64
	// metAt is the latest checkpoint in which another sealer was seen, or was seen to have
	// sealed. met means that there was one.
	metAt int
	met   bool
}

// series is the state of the rollups of a PV.
type series struct {
	pv     string
	entry  *layout.Entry
	bucket func(t int64) store.Bucket
	round  int // the latest checkpoint in which the PV was captured

	loaded    bool          // levels are read from the store
	levels    []*level      // all levels that the PV has or should have
	requested []store.Level // the levels that the PV should have
	late      recently
	// damaged are the times of blocks that could not be read.
	damaged []span
}

// New returns a Shard that knows no tiles yet.
func New(cfg Config) *Shard { return &Shard{cfg: cfg, series: map[string]*series{}} }

// BeginCheckpoint begins another checkpoint. PVs that no Load names during the checkpoint
// count as no longer captured.
func (s *Shard) BeginCheckpoint() { s.round++ }

// Forget drops the state of a PV.
func (s *Shard) Forget(pv string) { delete(s.series, pv) }

// Load makes sure that the levels of all PVs in parts are known: the requested levels,
// and the levels that a PV once had. Tiles of former levels must not lack a late sample
// either. The sealer calls Load before it adds new blocks to the directory.
func (s *Shard) Load(ctx context.Context, parts []Part) error {
	var fresh []*series
	for i := range parts {
		p := &parts[i]
		ser := s.series[p.PV]
		if ser == nil {
			ser = &series{pv: p.PV}
			s.series[p.PV] = ser
		}
		ser.entry, ser.bucket = p.Entry, p.Bucket
		if ser.requested = s.requestedLevels(ser.pv); !ser.loaded && (len(ser.requested) > 0 || len(ser.entry.Levels) > 0) {
			ser.loaded = true
			fresh = append(fresh, ser)
		}
	}
	err := s.cfg.Retry(ctx, "reading rollups", func() error {
		return inParallel(ctx, fresh, func(ctx context.Context, ser *series) error {
			ser.levels = nil
			for _, l := range ser.entry.Levels {
				if !l.Valid() {
					continue
				}
				r, err := s.findTiles(ctx, ser, l)
				if err != nil {
					return err
				}
				ser.levels = append(ser.levels, r)
			}
			return nil
		})
	})
	for i := range parts {
		ser := s.series[parts[i].PV]
		for _, l := range ser.requested {
			if !slices.ContainsFunc(ser.levels, func(r *level) bool { return r.level == l }) {
				r := newLevel(l)
				r.warm = len(ser.entry.Starts) == 0 // nothing was ever sealed
				ser.levels = append(ser.levels, r)
			}
		}
		if err == nil {
			ser.round = s.round
		}
	}
	return err
}

// requestedLevels returns the levels that a PV should have.
func (s *Shard) requestedLevels(pv string) (levels []store.Level) {
	r, captured := s.cfg.Retention(pv)
	if !captured {
		return nil
	}
	for _, l := range r.Levels {
		if l.Valid() {
			levels = append(levels, l)
		}
	}
	return levels
}

// BlocksAcknowledged adds samples to the rollups. The sealer calls it after the blocks that
// hold the samples were acknowledged, and before it raises the sealed positions of the
// samples. BlocksAcknowledged recomputes and writes the bins that tiles already claim. It adds
// samples in order to the accumulators.
func (s *Shard) BlocksAcknowledged(ctx context.Context, parts []Part) error {
	if err := s.cfg.Retry(ctx, "reading rollups", func() error { return s.compareTiles(ctx, parts) }); err != nil {
		return err
	}
	now := s.cfg.Clock.Earliest()
	for i := range parts {
		run := parts[i].Run
		ser := s.series[parts[i].PV]
		if len(ser.levels) == 0 || run.Len() == 0 {
			continue
		}
		old := sort.Search(run.Len(), func(i int) bool { return !layout.Expired(ser.bucket(run.Times[i]), now) })
		late := old
		for _, r := range ser.levels {
			late = max(late, r.feedInOrder(run, old, slices.Contains(ser.requested, r.level)))
		}
		if late == old {
			continue
		}
		times := run.Times[old:late]
		ser.late.note(s.round, times)
		err := s.cfg.Retry(ctx, "bringing rollups up to date", func() error { return s.repair(ctx, ser, times) })
		if err != nil {
			return err
		}
	}
	return nil
}

// inParallel calls f for all items, a few at a time.
func inParallel[T any](ctx context.Context, items []T, f func(context.Context, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, item := range items {
		g.Go(func() error { return f(ctx, item) })
	}
	return g.Wait()
}

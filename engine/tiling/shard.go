package tiling

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sort"
	"sync"
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

// Config configures a Shard. Shard and Cutoff belong to the shard. The other values are
// the same for all shards of an engine.
type Config struct {
	Store Store
	// Clock says how late it may be, and gives the time by which sealers order their writes.
	Clock *clock.Clock
	// Shard is the number of the shard.
	Shard int
	// Every is the time between two checkpoints of the shard.
	Every time.Duration
	// LateAge is the longest time that corrections for late samples wait: see Pace.
	LateAge time.Duration
	// Retention returns the retention of a PV, with the levels that the PV should have. It
	// returns false for a PV that is not captured here.
	Retention func(pv string) (store.Retention, bool)
	// Cutoff returns the time, in ns since 1970, before which raw samples are deleted.
	Cutoff func() int64
	// MayWrite is called directly before tiles are written, from several goroutines. After an error the
	// tiles are not written. ErrSuperseded also ends the work on all other PVs.
	MayWrite func(ctx context.Context) error
	// Damaged is called with each block that cannot be read, possibly several times and from
	// several goroutines.
	Damaged func(*scan.Damaged)
	Metrics *Metrics
	Log     *slog.Logger
}

// ErrSuperseded means that another engine seals the shard from now on.
var ErrSuperseded = errors.New("another engine leads the sealing of the shard")

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

	// late are the PVs whose tiles lack late samples. They stay when the sealer forgets a PV.
	late       map[string]*lateness
	lateMu     sync.Mutex // Correct may run for several PVs at a time
	becameLate uint64     // counts how often a PV became late
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
	// cutoff replaces the deletion cutoff while late samples are corrected.
	cutoff *int64
	// damaged are the times of blocks that could not be read.
	damaged []span
}

// New returns a Shard that knows no tiles yet.
func New(cfg Config) *Shard {
	return &Shard{cfg: cfg, series: map[string]*series{}, late: map[string]*lateness{}}
}

// BeginCheckpoint begins another checkpoint. PVs that no Load names during the checkpoint
// count as no longer captured.
func (s *Shard) BeginCheckpoint() { s.round++ }

// Forget drops the state of a PV, except its late samples.
func (s *Shard) Forget(pv string) { delete(s.series, pv) }

// Prepare tells the shard the PVs of parts. The caller then calls Load for each of them.
func (s *Shard) Prepare(parts []Part) {
	for i := range parts {
		p := &parts[i]
		ser := s.series[p.PV]
		if ser == nil {
			ser = &series{pv: p.PV}
			s.series[p.PV] = ser
		}
		ser.entry, ser.bucket = p.Entry, p.Bucket
	}
}

// Load makes sure that the levels of a PV are known: the requested levels, and the levels that the
// PV once had. Tiles of former levels must not lack a late sample either. The sealer calls Load
// before it adds new blocks to the directory. Calls for different PVs may run at the same time.
func (s *Shard) Load(ctx context.Context, pv string) error {
	ser := s.series[pv]
	if ser.requested = s.requestedLevels(pv); !ser.loaded && (len(ser.requested) > 0 || len(ser.entry.Levels) > 0) {
		if err := s.loadLevels(ctx, ser); err != nil {
			return err
		}
		ser.loaded = true
	}
	for _, l := range ser.requested {
		if !slices.ContainsFunc(ser.levels, func(r *level) bool { return r.level == l }) {
			r := newLevel(l)
			r.warm = len(ser.entry.Starts) == 0 // nothing was ever sealed
			ser.levels = append(ser.levels, r)
		}
	}
	ser.round = s.round
	return nil
}

// loadLevels reads the tiles of the levels in a PV's directory entry.
func (s *Shard) loadLevels(ctx context.Context, ser *series) error {
	was := ser.levels
	ser.levels = nil
	for _, l := range ser.entry.Levels {
		if !l.Valid() {
			continue
		}
		r, err := s.findTiles(ctx, ser, l)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(was, func(o *level) bool { return o.level == l }); i >= 0 {
			r.unsure = was[i].unsure // they are not confirmed yet
		}
		ser.levels = append(ser.levels, r)
	}
	return nil
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

// Acknowledge adds samples to the rollups. The sealer calls it after the blocks that hold the samples
// were acknowledged, and after CompareTiles. Acknowledge adds samples in order to the accumulators,
// and remembers the times of late samples, in bins that tiles already claim. It returns the PVs with
// late samples. The sealer must not raise the sealed positions of these samples, nor drop them from
// memory, before Correct has corrected the tiles.
func (s *Shard) Acknowledge(parts []Part) (late []string) {
	now := s.cfg.Clock.Earliest()
	for i := range parts {
		run := parts[i].Run
		ser := s.series[parts[i].PV]
		if len(ser.levels) == 0 || run.Len() == 0 {
			continue
		}
		old := sort.Search(run.Len(), func(i int) bool { return !layout.Expired(ser.bucket(run.Times[i]), now) })
		end := old
		for _, r := range ser.levels {
			end = max(end, r.feedInOrder(run, old, slices.Contains(ser.requested, r.level)))
		}
		if end == old {
			continue
		}
		s.noteLate(ser, spansOf(run.Times[old:end], ser.joinGap()))
		if n := len(late); n == 0 || late[n-1] != ser.pv {
			late = append(late, ser.pv)
		}
		if layout.Expired(ser.bucket(run.Times[old]), now+int64(max(expirySoon, 2*s.cfg.LateAge))) {
			s.Hurry(late[len(late)-1:])
		}
	}
	return late
}

// expirySoon is a time. The correction of bins whose samples expire within this time, or within twice
// Config.LateAge, does not wait.
const expirySoon = 6 * time.Hour

// inParallel calls f for all items, a few at a time.
func inParallel[T any](ctx context.Context, items []T, f func(context.Context, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, item := range items {
		g.Go(func() error { return f(ctx, item) })
	}
	return g.Wait()
}

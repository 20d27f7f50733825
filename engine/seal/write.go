package seal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/tiling"
)

// part holds the samples of one type of a PV that write seals. The run may be empty.
type part struct {
	pv  string
	run *sample.Run
}

// written says what write could not do.
type written struct {
	// refused are the PVs that the store refuses for long. The caller must keep their samples.
	refused map[string]bool
	// late are the PVs with samples that tiles lack. The caller must correct the tiles before it
	// raises sealed positions and releases memory.
	late []string
}

// write stores the parts as blocks, and carries the last sample of each PV forward into the
// present bucket. If report is not nil, write calls it with the number of samples that are too
// old to be kept. write returns when the store has acknowledged all rows, except those of refused
// PVs. write fails only if ctx ends, or if another engine leads.
//
// write stores rows in this order: directory, blocks, late carried-forward samples. The caller
// corrects tiles, then it raises sealed positions and releases memory. Readers, and a new leader
// after a crash, can therefore handle any state in between.
func (s *Shard) write(ctx context.Context, parts []part, report func(pv string, n int)) (out written, err error) {
	all := pvsOf(parts)
	if parts, err = s.correctRefused(ctx, slices.Clone(parts)); err != nil {
		return out, err
	}
	if parts, err = s.load(ctx, parts); err != nil {
		return out, err
	}
	s.tiles.Prepare(s.tilingParts(parts))
	if parts, err = s.eachPV(ctx, "reading rollups", parts, s.tiles.Load); err != nil {
		return out, err
	}
	now := s.clock.Earliest()
	p := s.plan(parts, now, s.blocks.Cutoff())
	// The series count a planned block as written. If the store refuses the block, the sealer
	// forgets the series.
	parts, err = s.eachPV(ctx, "adding to the directory", parts, func(ctx context.Context, pv string) error {
		for _, c := range p.missing {
			if c.PV == pv {
				if err := s.cfg.Store.AddChannel(ctx, c); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	blocks := slices.DeleteFunc(latest(p.blocks), func(b store.Block) bool { return s.series[b.PV] == nil })
	if parts, err = s.putBlocks(ctx, parts, blocks); err != nil {
		return out, err
	}
	if parts, err = s.carryLate(ctx, parts, now); err != nil {
		return out, err
	}
	if parts, err = s.eachPV(ctx, "reading rollups", parts, s.tiles.CompareTiles); err != nil {
		return out, err
	}
	out.late = s.tiles.Acknowledge(s.tilingParts(parts))
	if parts, err = s.fillValues(ctx, parts); err != nil {
		return out, err
	}
	s.countOpen(parts)
	out.refused = s.accept(all, parts)
	s.count(p, blocks, out.refused, report)
	return out, nil
}

// correctRefused corrects the tiles of the PVs for which the store refused that before, so that
// their samples are not written to blocks again and again. It returns the parts of the other PVs,
// and of those for which it succeeded.
func (s *Shard) correctRefused(ctx context.Context, parts []part) ([]part, error) {
	return s.eachPV(ctx, correcting, parts, func(ctx context.Context, pv string) error {
		if !s.refused.pvs[pv] {
			return nil
		}
		return s.tiles.Correct(ctx, pv)
	})
}

// tilingParts returns the parts in the form that package tiling needs.
func (s *Shard) tilingParts(parts []part) []tiling.Part {
	out := make([]tiling.Part, len(parts))
	for i, p := range parts {
		ser := s.series[p.pv]
		out[i] = tiling.Part{PV: p.pv, Run: p.run, Entry: &ser.entry, Bucket: ser.bucket}
	}
	return out
}

// planned holds the rows that a call of write stores.
type planned struct {
	blocks  []store.Block
	missing []store.Channel // entries that the directory must list first
	samples map[string]sampleCount
}

// sampleCount counts samples of a PV: those that are kept in blocks, and those that are too old.
type sampleCount struct{ kept, expired int }

// count counts what a call of write has stored: nothing of the refused PVs, which are sealed later. If
// report is not nil, count calls it with the number of expired samples of a PV.
func (s *Shard) count(p *planned, blocks []store.Block, refused map[string]bool, report func(pv string, n int)) {
	kept := 0
	for pv, n := range p.samples {
		if refused[pv] {
			continue
		}
		kept += n.kept
		s.cfg.Metrics.Expired.Add(float64(n.expired))
		if n.expired > 0 && report != nil {
			report(pv, n.expired)
		}
	}
	s.cfg.Metrics.wrote(slices.DeleteFunc(blocks, func(b store.Block) bool { return refused[b.PV] }), kept)
}

// plan plans the blocks of parts. It replaces the run of each part by the samples that are not
// before the deletion cutoff.
func (s *Shard) plan(parts []part, now, cutoff int64) *planned {
	out := &planned{samples: make(map[string]sampleCount, len(parts))}
	for i := range parts {
		p := &parts[i]
		ser := s.series[p.pv]
		ser.round = s.round
		ser.changeTier(s.tier(ser))
		var blocks []store.Block
		deleted := ser.dropDeleted(p)
		if p.run.Len() > 0 {
			ser.resize(p.run, now)
			run, refused := ser.refuse(p.run, cutoff)
			planned, old := ser.plan(run, now)
			n := out.samples[p.pv]
			out.samples[p.pv] = sampleCount{n.kept + run.Len() - old, n.expired + old + refused}
			blocks, p.run = planned, run
		}
		if deleted > 0 {
			n := out.samples[p.pv]
			out.samples[p.pv] = sampleCount{n.kept, n.expired + deleted}
		}
		if ser.lastType != sample.Unknown && !s.importing { // an imported sample is rarely the last one
			blocks = append(blocks, ser.carry(ser.bucket(now))...)
		}
		if c, ok := ser.entry.Missing(ser.pv, s.shardJournal.Shard, blocks); ok {
			out.missing = append(out.missing, c)
			ser.entry.Add(c)
		}
		if ser.filled != nil {
			for j := range blocks {
				ser.filled[blocks[j].Bucket] = true
			}
		}
		out.blocks = append(out.blocks, blocks...)
	}
	return out
}

// refuse returns a run without the samples in buckets before the deletion cutoff, and the
// number of samples that it left out. It keeps the last sample of a PV, regardless of its age,
// because buckets carry that sample forward. Rollups of the refused samples' time do not
// change either, because the samples from which they were computed are deleted.
func (s *series) refuse(r *sample.Run, cutoff int64) (rest *sample.Run, refused int) {
	if cutoff == math.MinInt64 || slices.Min(r.Times) >= cutoff {
		return r, 0
	}
	r.Normalize()
	n := sort.Search(r.Len(), func(i int) bool { return s.bucket(r.Times[i]).End() > cutoff })
	if n == r.Len() && (s.lastType == sample.Unknown || s.last.Time < r.Times[n-1]) {
		n--
	}
	rest = new(sample.Run)
	if n < r.Len() {
		r.Part(rest, n, r.Len())
	}
	return rest, n
}

// fillValues adds large values to carried-forward samples whose value would expire before
// them. It holds one value in memory at a time.
func (s *Shard) fillValues(ctx context.Context, parts []part) ([]part, error) {
	var mu sync.Mutex // held for one value
	return s.eachPV(ctx, "carrying a large value forward", parts, func(ctx context.Context, pv string) error {
		for ser := s.series[pv]; len(ser.valueless) > 0; ser.valueless = ser.valueless[1:] {
			if err := s.fillValue(ctx, &mu, ser, ser.valueless[0]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Shard) fillValue(ctx context.Context, mu *sync.Mutex, ser *series, v valueless) error {
	mu.Lock()
	defer mu.Unlock()
	r, err := s.lastWhole(ctx, ser.pv, v.time)
	if err != nil || r == nil || r.Times[0] != v.time {
		return err
	}
	r.Tags[0] |= sample.CarriedForward
	return s.cfg.Store.PutBlocks(ctx, layout.EncodeCarriedForward(v.key, r))
}

// tier returns the tier on which a PV must be kept, or the next longer tier that the store
// has.
func (s *Shard) tier(ser *series) store.Tier {
	r, captured := s.cfg.retention(ser.pv)
	if !captured {
		r.Raw = layout.LastTier(ser.entry.Starts)
	}
	return layout.AvailableTier(s.tiers, r.Raw)
}

// refreshTiers reads which tiers the store has. Another process adds tiers to the store when
// they are needed.
func (s *Shard) refreshTiers(ctx context.Context) error {
	if len(s.tiers) == store.NumTiers || s.tiers != nil && time.Since(s.tiersAt) < time.Minute {
		return nil
	}
	tiers, err := s.cfg.Store.Tiers(ctx)
	if err == nil {
		s.tiers, s.tiersAt = tiers, time.Now()
	}
	return err
}

// load makes sure that the series of all parts know the PV's directory entry and the PV's last
// sample. Another sealer may have sealed that sample. load returns the parts of the PVs that it
// could read.
func (s *Shard) load(ctx context.Context, parts []part) ([]part, error) {
	for _, p := range parts {
		if s.series[p.pv] == nil {
			s.series[p.pv] = s.newSeries(p.pv)
		}
	}
	if err := s.retry(ctx, "reading the tiers", func() error { return s.refreshTiers(ctx) }); err != nil {
		return nil, err
	}
	return s.eachPV(ctx, "reading the directory", parts, func(ctx context.Context, pv string) error {
		ser := s.series[pv]
		if !ser.unsure {
			return nil
		}
		err := ser.entry.Refresh(ctx, s.cfg.Store, pv, s.clock.Now().End)
		if err != nil || ser.entry.PV == "" {
			return err
		}
		s.noteEntry(&ser.entry.Channel)
		r, err := s.lastWhole(ctx, pv, time.Now().UnixNano())
		if r != nil {
			ser.changeTier(s.tier(ser))
			ser.recall(r)
		}
		return err
	})
}

// newSeries returns the series of a PV of which nothing is known yet.
func (s *Shard) newSeries(pv string) *series {
	return &series{pv: pv, writer: s.writer, n: s.n, carrying: carrying{unsure: true}}
}

// lastWhole returns the last sealed sample of a PV at or before a time. It returns nil if a
// damaged block may hold that sample, as if there were none: nothing is carried forward then.
func (s *Shard) lastWhole(ctx context.Context, pv string, at int64) (*sample.Run, error) {
	r, err := s.cfg.last(ctx, pv, at)
	if d := (*scan.Damaged)(nil); errors.As(err, &d) {
		s.quarantine(d)
		return nil, nil
	}
	return r, err
}

// retry calls f until it succeeds or ctx ends. The text doing describes f.
func (s *Shard) retry(ctx context.Context, doing string, f func() error) error {
	for backoff := (retry.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}); ; {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		s.cfg.Metrics.Retries.Inc()
		s.cfg.Log.Warn("sealing: an operation of the store failed; the sealer retries", "doing", doing, "shard", s.shardJournal.Shard, "err", err)
		if !backoff.Wait(ctx) {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
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

// latest returns the last of the blocks that have the same key. A block that grew twice in one
// batch is therefore written once.
func latest(blocks []store.Block) []store.Block {
	at := make(map[store.BlockKey]int, len(blocks))
	for i := range blocks {
		at[blocks[i].BlockKey] = i
	}
	i := -1
	return slices.DeleteFunc(blocks, func(b store.Block) bool {
		i++
		return at[b.BlockKey] != i
	})
}

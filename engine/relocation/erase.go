package relocation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// erasure removes the samples of a PV that users have deleted from its blocks:
//
//	pass over the buckets ── none has deleted samples ──▶ done, in the directory
//	   │ some have: the rest is copied to new blocks
//	   ▼
//	an hour later: all blocks that were copied are dropped ──▶ next pass
//
// Readers hide deleted samples from the start, so nothing depends on when an erasure ends. It waits while blocks of the
// PV migrate to another tier. Progress is not stored: a new sealer begins with a pass.
type erasure struct {
	pv      string
	own     store.WriterID // of the sealer's blocks: only this process writes them
	from    time.Time      // when the next step may be taken
	begun   bool           // a pass is under way: rest and mask are set
	rest    []store.Bucket
	mask    store.Mask
	open    []store.Deleted // the ranges that are done once a pass finds nothing
	copied  []copiedBucket
	failed  int  // buckets that were not dropped, one after the other
	stuck   bool // a block cannot be read, so its bucket stays
	samples int  // deleted samples that were found
	bytes   int64
}

// copiedBucket is a bucket whose blocks were copied without deleted samples.
type copiedBucket struct {
	store.Bucket
	planned int64 // before the blocks were read, by the clocks of the store
	read    map[store.BlockKey]int
	copies  map[store.BlockKey]bool
}

// Erase begins to remove samples that users have deleted from the blocks of a PV. own is the writer of the sealer's
// blocks.
func (s *Shard) Erase(pv string, own store.WriterID) {
	if slices.ContainsFunc(s.erasures, func(e *erasure) bool { return e.pv == pv }) {
		return // its next pass finds all ranges
	}
	s.erasures = append(s.erasures, &erasure{pv: pv, own: own})
}

// dueErasure returns the first erasure that need not wait, or nil.
func (s *Shard) dueErasure() *erasure {
	for _, e := range s.erasures {
		if !time.Now().Before(e.from) {
			return e
		}
	}
	return nil
}

// isMigrating reports whether blocks of a PV migrate to another tier.
func (s *Shard) isMigrating(pv string) bool {
	return s.current != nil && s.current.pv == pv || slices.Contains(s.queue, pv) ||
		slices.ContainsFunc(s.copied, func(m *migration) bool { return m.pv == pv })
}

// stepErasure takes the next step of an erasure, and returns its cost in bytes.
func (s *Shard) stepErasure(ctx context.Context, e *erasure) (cost int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("removing deleted samples of %s from blocks: %w", e.pv, err)
			e.from = time.Now().Add(s.cfg.DropAfter / 60)
		}
	}()
	switch {
	case s.isMigrating(e.pv):
		e.from = time.Now().Add(s.cfg.DropAfter / 60)
		return 0, nil
	case !e.begun && len(e.copied) > 0:
		return s.dropErased(ctx, e)
	case !e.begun:
		return readCost, s.beginPass(ctx, e)
	case len(e.rest) > 0:
		cost, err = s.eraseBucket(ctx, e, e.rest[0])
		if err == nil {
			e.rest = e.rest[1:]
		}
		return cost, err
	}
	e.begun = false
	if len(e.copied) > 0 || e.stuck {
		e.from = time.Now().Add(s.cfg.DropAfter << min(e.failed, longestWait))
		return 0, nil
	}
	return readCost, s.endErasure(ctx, e)
}

// beginPass begins a pass over the buckets that may have deleted samples, or carry one forward.
func (s *Shard) beginPass(ctx context.Context, e *erasure) error {
	c, _, err := s.cfg.Store.Channel(ctx, e.pv)
	if err != nil {
		return err
	}
	c.LeaveOutFuture(layout.MaxDeleted(s.cfg.Clock.Now().End))
	e.mask, e.open, e.stuck = c.Mask(), nil, false
	first := int64(math.MaxInt64)
	for _, d := range c.Deleted {
		if !d.Done && !c.IsDone(d) {
			e.open = append(e.open, d)
			first = min(first, d.From)
		}
	}
	if len(e.open) == 0 {
		s.removeErasure(e)
		return nil
	}
	e.begun, e.rest = true, nil
	for b := range store.InUse(c.Starts, s.cfg.Clock.Earliest(), s.cfg.Clock.Now().Now+int64(ahead)) {
		if b.End() > first {
			e.rest = append(e.rest, b)
		}
	}
	slices.SortStableFunc(e.rest, func(a, b store.Bucket) int { return cmp.Compare(a.Start(), b.Start()) })
	return nil
}

func (s *Shard) removeErasure(e *erasure) {
	s.erasures = slices.DeleteFunc(s.erasures, func(o *erasure) bool { return o == e })
}

// endErasure notes in the directory that no block has samples of the deleted ranges.
func (s *Shard) endErasure(ctx context.Context, e *erasure) error {
	done := store.Channel{PV: e.pv}
	for _, d := range e.open {
		done.Deleted = append(done.Deleted, store.Deleted{From: d.From, To: d.To, Done: true})
	}
	if err := s.cfg.Store.AddChannel(ctx, done); err != nil {
		return err
	}
	s.cfg.Log.Info("deleted samples are removed from blocks", "shard", s.cfg.Shard, "pv", e.pv, "samples", e.samples, "bytes", e.bytes)
	return nil // the next pass ends the erasure, unless there are more ranges meanwhile
}

// eraseBucket copies the blocks of a bucket without the deleted samples, if it has any. The copies have keys of
// their own, so that they do not replace a block that another sealer writes at the same time.
func (s *Shard) eraseBucket(ctx context.Context, e *erasure, b store.Bucket) (cost int, err error) {
	cost = readCost
	at := copiedBucket{b, s.cfg.Clock.StoreTime() - int64(time.Millisecond), map[store.BlockKey]int{}, map[store.BlockKey]bool{}}
	hidden, lacks, unreadable := 0, false, false
	for blk, err := range s.cfg.Store.Blocks(ctx, e.pv, b, math.MinInt64, math.MaxInt64) {
		if err != nil {
			return cost, err
		}
		cost += len(blk.Blob)
		at.read[blk.BlockKey] = blk.Count
		r, err := s.decodeForErasure(e, &blk)
		switch {
		case err != nil:
			unreadable = true
		case r != nil && blk.Count == 0 && e.mask.Keep(r) != r:
			lacks = true
		case r != nil:
			hidden += r.Len() - e.mask.Keep(r).Len()
		default:
			hidden += blk.Count
		}
	}
	if hidden == 0 && !lacks {
		return cost, nil
	}
	if unreadable {
		e.stuck = true
		return cost, nil
	}
	copied, err := s.copyKept(ctx, e, &at, lacks)
	cost += copied
	if err != nil {
		return cost, err // nothing is dropped: some samples have no copy
	}
	e.samples += hidden
	e.copied = append(e.copied, at)
	return cost, nil
}

// decodeForErasure decodes a block. It returns nil without an error if all samples of the block are deleted, which
// need not be readable.
func (s *Shard) decodeForErasure(e *erasure, blk *store.Block) (*sample.Run, error) {
	if blk.Count > 0 && e.mask.HidesAll(blk.Start, blk.End) {
		return nil, nil
	}
	r := new(sample.Run)
	err := scan.Decode(r, blk)
	if err != nil {
		s.quarantine(err)
	}
	return r, err
}

// copyKept writes the samples of a bucket that are not deleted to new blocks, each sample once. If a deleted sample was
// carried forward into the bucket, it carries the last sample before it forward instead.
func (s *Shard) copyKept(ctx context.Context, e *erasure, at *copiedBucket, lacks bool) (cost int, err error) {
	put := func(b store.Block) error {
		at.copies[b.BlockKey] = true
		cost += len(b.Blob) + writeCost
		return s.cfg.Store.PutBlocks(ctx, b)
	}
	kept := joined{
		put: func(r *sample.Run) error { return s.putJoined(e, at, r, put) },
		putCarried: func(start int64, r *sample.Run) error {
			return put(layout.EncodeCarriedForward(s.erasedKey(e.pv, at.Bucket, start), r))
		},
	}
	for blk, err := range s.cfg.Store.Blocks(ctx, e.pv, at.Bucket, math.MinInt64, math.MaxInt64) {
		if err != nil {
			return cost, err
		}
		if at.copies[blk.BlockKey] || at.read[blk.BlockKey] != blk.Count { // a copy, or newer than the plan: it stays
			continue
		}
		r, err := s.decodeForErasure(e, &blk)
		if err != nil {
			return cost, err
		}
		if r == nil {
			continue
		}
		if err := kept.addBlock(&blk, e.mask.Keep(r)); err != nil {
			return cost, err
		}
	}
	if err := kept.end(); err != nil || !lacks {
		return cost, err
	}
	last, err := s.cfg.Last(ctx, e.pv, at.Start()-1)
	if err != nil || last == nil || last.Times[0] >= at.Start() {
		return cost, err
	}
	last.Tags[0] |= sample.CarriedForward
	return cost, kept.putCarried(at.Start(), last)
}

// putJoined puts a run of samples in as many blocks as it needs.
func (s *Shard) putJoined(e *erasure, at *copiedBucket, r *sample.Run, put func(store.Block) error) error {
	for from := 0; from < r.Len(); {
		to := from + layout.Fits(r, from, r.Len())
		if err := put(layout.Encode(s.erasedKey(e.pv, at.Bucket, r.Times[from]), r, from, to)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// erasedKey returns the key of a new block. No other sealer uses its writer.
func (s *Shard) erasedKey(pv string, b store.Bucket, start int64) store.BlockKey {
	s.erasedBlocks++
	return store.BlockKey{PV: pv, Bucket: b, Start: start, Writer: s.eraser, N: s.erasedBlocks}
}

// dropErased drops the blocks that were copied an hour ago. A reader that began before the copies existed has ended
// since then. Blocks that were written after the copies stay. If another sealer has written to the bucket in the
// meantime, or if a copy is missing, nothing is dropped, and a later pass copies again: the other sealer's clock may be
// behind.
func (s *Shard) dropErased(ctx context.Context, e *erasure) (cost int, err error) {
	claims, err := s.cfg.Store.Claims(ctx, s.cfg.Shard)
	if err != nil {
		return readCost, err
	}
	if err := s.cfg.CheckLeader(claims); err != nil {
		return readCost, err
	}
	at := &e.copied[0]
	cost = readCost
	present := 0
	for blk, err := range s.cfg.Store.Blocks(ctx, e.pv, at.Bucket, math.MinInt64, math.MaxInt64) {
		if err != nil {
			return cost, err
		}
		cost += len(blk.Blob)
		if n, read := at.read[blk.BlockKey]; (!read || n != blk.Count) && !at.copies[blk.BlockKey] && blk.Writer != e.own {
			e.keep()
			return cost, nil
		}
		if at.copies[blk.BlockKey] {
			present++
		}
	}
	if present < len(at.copies) {
		e.keep()
		return cost, nil
	}
	n, err := s.cfg.Store.DropBucket(ctx, e.pv, at.Bucket, at.planned)
	if err != nil {
		return cost, err
	}
	e.bytes += n
	e.copied, e.failed = e.copied[1:], 0
	return cost, nil
}

// longestWait limits the time between the copies of a bucket that cannot be dropped: it is DropAfter doubled this many times.
const longestWait = 4

// keep notes that the next bucket is not dropped. The next pass copies it again, so the passes become rarer.
func (e *erasure) keep() {
	e.copied = e.copied[1:]
	e.failed++
}

// quarantine reports a block that cannot be read.
func (s *Shard) quarantine(err error) {
	if d, ok := err.(*scan.Damaged); ok && s.cfg.Damaged != nil { //nolint:errorlint // scan.Decode returns it as it is
		s.cfg.Damaged(d)
	}
}

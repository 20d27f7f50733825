package scan

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// masked is a store without the samples that users have deleted. The rest of a scan works as if they had never
// been stored, so no copy of a deleted sample is carried forward either.
type masked struct {
	Store
	mask store.Mask
}

// Blocks implements Store. A block of which all samples in the range are deleted is left out. A block that begins with deleted
// samples has a later start without them, so it comes after the blocks that start before its first other sample.
func (m masked) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		var later []store.Block // sorted by their new start
		for blk, err := range m.Store.Blocks(ctx, pv, b, from, to) {
			if err != nil {
				yield(blk, err)
				return
			}
			start, end := blk.Start, blk.End
			if !m.cut(&blk) || blk.End < min(from, end) || blk.Start > to {
				continue // nothing is left in the range
			}
			if blk.Start > start {
				i, _ := slices.BinarySearchFunc(later, blk.Start+1, func(l store.Block, at int64) int { return cmp.Compare(l.Start, at) })
				later = slices.Insert(later, i, blk)
				continue
			}
			for ; len(later) > 0 && later[0].Start <= start; later = later[1:] {
				if !yield(later[0], nil) {
					return
				}
			}
			if !yield(blk, nil) {
				return
			}
		}
		for _, blk := range later {
			if !yield(blk, nil) {
				return
			}
		}
	}
}

// LastBlock implements Store. If the block that the store finds has deleted samples, all blocks up to the time
// are read.
func (m masked) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (last store.Block, found bool, err error) {
	last, found, err = m.Store.LastBlock(ctx, pv, b, at)
	if err != nil || !found || !m.mask.Overlaps(min(last.Start, last.End), last.End) {
		return last, found, err
	}
	last, found = store.Block{}, false
	for blk, err := range m.Blocks(ctx, pv, b, Earliest, at) {
		if err != nil {
			return store.Block{}, false, err
		}
		if blk.Start <= at && (!found || blk.End > last.End) {
			last, found = blk, true
		}
	}
	return last, found, nil
}

// cut removes the deleted samples from a block. It returns false if no sample is left. A block that cannot be read
// stays, unless all its samples are deleted.
func (m masked) cut(blk *store.Block) bool {
	first := blk.Start
	if blk.Count == 0 { // a copy of a sample before the bucket
		first = blk.End
	}
	switch {
	case !m.mask.Overlaps(first, blk.End):
		return true
	case m.mask.HidesAll(first, blk.End):
		return false
	}
	r := new(sample.Run)
	if Decode(r, blk) != nil {
		return true
	}
	kept := m.mask.Keep(r)
	if kept == r || kept.Len() == 0 {
		return kept.Len() > 0
	}
	blk.Blob, blk.Count = block.AppendStored(nil, kept), kept.Len()
	blk.End = kept.Times[kept.Len()-1]
	blk.Start = kept.Times[0]
	blk.Min, blk.Max, blk.Sum = math.NaN(), math.NaN(), math.NaN() // a scan does not use them
	return true
}

// mask hides the deleted samples from the scan.
func (sc *Scan) mask() {
	if len(sc.Deleted) == 0 {
		return
	}
	if _, done := sc.Store.(masked); !done {
		sc.Store = masked{sc.Store, sc.Deleted}
	}
	var kept []*sample.Run
	for _, r := range sc.Unsealed {
		if r = sc.Deleted.Keep(r); r.Len() > 0 {
			kept = append(kept, r)
		}
	}
	sc.Unsealed = kept
}

// isDeleted reports whether all samples of a bucket are deleted. The bucket may carry an earlier sample forward.
func (sc *Scan) isDeleted(b store.Bucket) bool {
	return len(sc.Deleted) > 0 && sc.Deleted.HidesAll(b.Start(), b.End()-1)
}

package tiling

import (
	"cmp"
	"slices"

	"varve.dev/varve/engine/rollup"
)

// isDamaged reports whether a block with samples in a bin could not be read.
func (s *series) isDamaged(b *rollup.Bin) bool {
	return slices.ContainsFunc(s.damaged, func(d span) bool { return d.first < b.End() && b.Start <= d.last })
}

// keepDamaged returns the bins that replace the old bins of a tile in [lo, hi): the computed ones,
// except where a block is damaged, or is perhaps deleted because it is before the deletion cutoff.
// An old bin there stays if it counts more samples, because it was computed when the block could
// still be read.
func (s *series) keepDamaged(old, computed []rollup.Bin, lo, hi, cutoff int64) []rollup.Bin {
	if len(s.damaged) == 0 && cutoff <= lo {
		return computed
	}
	bins := slices.Clone(computed)
	for i := range old {
		b := &old[i]
		if b.Start < lo || b.Start >= hi || b.Start >= cutoff && !s.isDamaged(b) {
			continue
		}
		at, found := slices.BinarySearchFunc(bins, b.Start, func(c rollup.Bin, start int64) int { return cmp.Compare(c.Start, start) })
		switch {
		case !found:
			bins = slices.Insert(bins, at, *b)
		case b.Count > bins[at].Count:
			bins[at] = *b
		}
	}
	return bins
}

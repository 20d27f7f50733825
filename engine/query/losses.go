package query

import (
	"cmp"
	"iter"
	"slices"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Losses collects the samples that reads leave out because the blocks that hold them are damaged:
// their bytes have changed, or parts of them are missing. It is for one PV and not safe for
// concurrent use. The zero value is ready to use.
type Losses struct {
	blocks map[store.BlockKey]bool
	marks  []sample.Mark
	count  uint64
}

// maxLosses is the maximum number of marks. The last one then stands for all further blocks.
const maxLosses = 1000

// leaveOut notes a damaged block. It returns the error if the block holds samples that a later
// version of the program can read, because these samples are not lost.
func (l *Losses) leaveOut(d *scan.Damaged) error {
	m, lost := d.Lost()
	if !lost {
		if d.Block.Count > 0 {
			return d
		}
		return nil // a copy of a sample
	}
	if l.blocks[d.Block.BlockKey] {
		return nil
	}
	if l.blocks == nil {
		l.blocks = map[store.BlockKey]bool{}
	}
	l.count += m.Count
	if n := len(l.marks); n == maxLosses {
		last := &l.marks[n-1]
		last.Time, last.End, last.Count = min(last.Time, m.Time), max(last.End, m.End), last.Count+m.Count
		return nil
	}
	l.blocks[d.Block.BlockKey] = true
	l.marks = append(l.marks, m)
	return nil
}

// Count returns the number of samples that were left out.
func (l *Losses) Count() uint64 { return l.count }

// Marks returns the times of the samples that were left out. The caller must not change them.
func (l *Losses) Marks() []sample.Mark { return l.marks }

// Merge yields marks of the PV, sorted by time, and between them the marks of the samples that were
// left out. It yields a loss only once if a sealer has stored its mark, too.
func (l *Losses) Merge(pv string, stored iter.Seq2[store.PVMark, error]) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) {
		left := slices.SortedFunc(slices.Values(l.marks), func(a, b sample.Mark) int { return cmp.Compare(a.Time, b.Time) })
		next := func(until int64) bool {
			for len(left) > 0 && left[0].Time < until {
				m := left[0]
				if left = left[1:]; !yield(store.PVMark{PV: pv, Mark: m}, nil) {
					return false
				}
			}
			return true
		}
		for m, err := range stored {
			if err == nil {
				left = slices.DeleteFunc(left, func(l sample.Mark) bool {
					return l.Time == m.Time && l.Kind == m.Kind && l.Reason == m.Reason
				})
				if !next(m.Time) {
					return
				}
			}
			if !yield(m, err) {
				return
			}
		}
		next(Latest + 1)
	}
}

package check

import (
	"fmt"
	"math"
	"sort"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Bounds of times in ns since 1970.
const (
	minTime = math.MinInt64
	maxTime = math.MaxInt64
)

// extent is the range of times of a block.
type extent struct {
	start, end int64
	bucket     store.Bucket
}

// block checks a block. It keeps the data that is compared with other blocks.
func (l *pass) block(blk *store.Block) {
	l.seen.Blocks++
	where := blockName(blk)
	r := new(sample.Run)
	if err := scan.Decode(r, blk); err != nil {
		l.damaged(blk, where, err)
		return
	}
	l.noteUnlisted(blk.Bucket, r.Type)
	if kind, text := examine(blk, r); text != "" {
		l.found(kind, where, "%s", text)
		return
	}
	if blk.Count == 0 {
		l.carriedForward = append(l.carriedForward, carriedForward{bucket: blk.Bucket, where: where, run: r})
		return
	}
	l.seen.Samples += blk.Count
	l.extents = append(l.extents, extent{r.Times[0], blk.End, blk.Bucket})
}

// damaged reports a block that does not decode, and drops it if Options.Drop is set.
func (l *pass) damaged(blk *store.Block, where string, err error) {
	if l.opts.Drop == nil || !l.last {
		l.found(DamagedBlock, where, "%v", err)
		return
	}
	if failed := l.opts.Drop(l.ctx, *blk); failed != nil {
		l.found(DamagedBlock, where, "%v; the block could not be dropped: %v", err, failed)
		return
	}
	l.repaired(DamagedBlock, where, "%v; the block was dropped, with %d samples from %s to %s", err, blk.Count, stamp(blk.Start), stamp(blk.End))
}

// Block decodes a block, and returns what is wrong with its header or its samples.
func Block(blk *store.Block) error {
	r := new(sample.Run)
	if err := scan.Decode(r, blk); err != nil {
		return err
	}
	if kind, text := examine(blk, r); text != "" {
		return fmt.Errorf("%s: %s", kind, text)
	}
	return nil
}

// examine compares the header of a block with its samples, and checks the samples. The
// text is empty if it finds no problem.
func examine(blk *store.Block, r *sample.Run) (Kind, string) {
	if text := order(r); text != "" {
		return WrongOrder, text
	}
	n := r.Len()
	if r.Tags[0]&sample.CarriedForward != 0 {
		return examineCarriedForward(blk, r)
	}
	first, last := r.Times[0], r.Times[n-1]
	switch low, high, sum := aggregates(r); {
	case blk.Type != r.Type:
		return WrongHeader, fmt.Sprintf("the header has type %v, the blob %v", blk.Type, r.Type)
	case blk.Count != n:
		return WrongHeader, fmt.Sprintf("the header counts %d samples, the blob has %d", blk.Count, n)
	case blk.Start != first || blk.End != last:
		return WrongHeader, fmt.Sprintf("the header is from %s to %s, the samples are from %s to %s",
			stamp(blk.Start), stamp(blk.End), stamp(first), stamp(last))
	case first < blk.Bucket.Start() || last >= blk.Bucket.End():
		return WrongBucket, fmt.Sprintf("its samples, from %s to %s, do not fit the bucket", stamp(first), stamp(last))
	case !same(blk.Min, low) || !same(blk.Max, high) || !near(blk.Sum, sum, float64(n)*math.Max(math.Abs(low), math.Abs(high))):
		return WrongHeader, fmt.Sprintf("the header has the range %g to %g and the sum %g; the samples have %g to %g and %g",
			blk.Min, blk.Max, blk.Sum, low, high, sum)
	}
	return "", ""
}

// examineCarriedForward is like examine, for a block that begins with a carried-forward
// sample. Such a block must hold no other sample, and its header must count none.
func examineCarriedForward(blk *store.Block, r *sample.Run) (Kind, string) {
	switch {
	case blk.Type != r.Type:
		return WrongHeader, fmt.Sprintf("the header has type %v, the blob %v", blk.Type, r.Type)
	case r.Len() != 1 || blk.Count != 0:
		return WrongHeader, fmt.Sprintf("a carried-forward sample in a block with a header count of %d and %d samples", blk.Count, r.Len())
	case blk.Start != blk.Bucket.Start() || blk.End != r.Times[0]:
		return WrongHeader, fmt.Sprintf("a carried-forward sample of %s in a block from %s to %s",
			stamp(r.Times[0]), stamp(blk.Start), stamp(blk.End))
	case r.Times[0] >= blk.Bucket.Start():
		return WrongCarriedForward, fmt.Sprintf("its time is %s, which is not before the bucket", stamp(r.Times[0]))
	case !math.IsNaN(blk.Min) || !math.IsNaN(blk.Max) || !math.IsNaN(blk.Sum):
		return WrongHeader, "a carried-forward sample is in the aggregates"
	}
	return "", ""
}

// order returns what is wrong with the order of samples, or "".
func order(r *sample.Run) string {
	begin := 0 // index of the first sample with the current time
	for i := 1; i < r.Len(); i++ {
		switch {
		case r.Times[i] < r.Times[i-1]:
			return fmt.Sprintf("sample %d of %s follows a sample of %s", i, stamp(r.Times[i]), stamp(r.Times[i-1]))
		case r.Times[i] > r.Times[i-1]:
			begin = i
		}
		if r.Tags[i]&sample.CarriedForward != 0 {
			return fmt.Sprintf("sample %d is carried forward, but is not alone in its block", i)
		}
		for j := begin; j < i; j++ {
			if a, b := r.At(j), r.At(i); a.Same(&b) {
				return fmt.Sprintf("sample %d of %s is repeated", i, stamp(a.Time))
			}
		}
	}
	return ""
}

// aggregates returns the minimum, the maximum and the sum of the values that are numbers,
// or NaN if there are none.
func aggregates(r *sample.Run) (low, high, sum float64) {
	low, high, sum = math.NaN(), math.NaN(), math.NaN()
	for i := 0; r.Type.Numeric() && i < r.Len(); i++ {
		switch v := r.Float(i); {
		case math.IsNaN(v):
		case math.IsNaN(low):
			low, high, sum = v, v, v
		default:
			low, high, sum = min(low, v), max(high, v), sum+v
		}
	}
	return low, high, sum
}

// same reports whether two numbers are equal. NaN equals NaN.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// near reports whether two sums are equal except for rounding. The absolute values of the
// terms add up to at most scale.
func near(a, b, scale float64) bool { return same(a, b) || math.Abs(a-b) <= 1e-9*scale }

// overlaps reports the number of blocks that begin before the end of an earlier one.
func (l *pass) overlaps() {
	sort.Slice(l.extents, func(i, j int) bool { return l.extents[i].start < l.extents[j].start })
	n, end, first := 0, int64(minTime), int64(0)
	for i, e := range l.extents {
		if i > 0 && e.start <= end {
			if n++; n == 1 {
				first = e.start
			}
		}
		end = max(end, e.end)
	}
	if n > 0 {
		l.found(Overlap, "blocks from "+stamp(first)+" on", "%d of %d blocks overlap an earlier one", n, len(l.extents))
	}
}

// blockName names a block in findings.
func blockName(b *store.Block) string {
	return fmt.Sprintf("%s, block %d of writer %v from %s", bucketName(b.Bucket), b.N, b.Writer, stamp(b.Start))
}

package relocation

import (
	"math"
	"slices"
	"sort"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// joined joins the blocks of a bucket where they overlap in time, so that a sample of several blocks is put once:
//
//	blocks, by start ──▶ runs, one per type ── before the start of the next block ──▶ put
//
// Otherwise, each erasure of a bucket whose older copies were not dropped would double its blocks.
type joined struct {
	// put stores the samples of a run, which is normalized.
	put func(*sample.Run) error
	// putCarried stores a sample that is carried forward. start is the start of its block.
	putCarried func(start int64, r *sample.Run) error
	runs       []*sample.Run
	// carried has the samples that are carried forward into the bucket, each once.
	carried []*sample.Run
}

// addBlock adds the samples of the next block that are kept, which may be none.
func (j *joined) addBlock(b *store.Block, kept *sample.Run) error {
	switch {
	case kept.Len() == 0:
		return nil
	case b.Count > 0:
		return j.add(kept)
	case j.isNewCarried(kept):
		return j.putCarried(b.Start, kept)
	}
	return nil
}

// add adds the samples of the next block. Blocks are sorted by start.
func (j *joined) add(r *sample.Run) error {
	if err := j.putBefore(r.Times[0]); err != nil {
		return err
	}
	i := slices.IndexFunc(j.runs, func(o *sample.Run) bool { return o.Type == r.Type })
	if i < 0 {
		j.runs = append(j.runs, r)
		return nil
	}
	j.runs[i].AppendRange(r, 0, r.Len())
	j.runs[i].Normalize()
	return nil
}

// isNewCarried reports whether a carried-forward sample was not seen before.
func (j *joined) isNewCarried(r *sample.Run) bool {
	s := r.At(0)
	if slices.ContainsFunc(j.carried, func(o *sample.Run) bool {
		c := o.At(0)
		return o.Type == r.Type && c.Same(&s)
	}) {
		return false
	}
	j.carried = append(j.carried, r)
	return true
}

// end puts all samples that are left.
func (j *joined) end() error { return j.putBefore(math.MaxInt64) }

// putBefore puts the samples from before a time.
func (j *joined) putBefore(t int64) error {
	var rest []*sample.Run
	for _, r := range j.runs {
		n := sort.Search(r.Len(), func(i int) bool { return r.Times[i] >= t })
		first := r
		if n < r.Len() {
			first = new(sample.Run)
			r.Part(first, 0, n)
			later := &sample.Run{Type: r.Type}
			later.AppendRange(r, n, r.Len())
			rest = append(rest, later)
		}
		if n > 0 {
			if err := j.put(first); err != nil {
				return err
			}
		}
	}
	j.runs = rest
	return nil
}

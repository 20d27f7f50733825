package check

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// carriedForward is a carried-forward sample, the only one of its run.
type carriedForward struct {
	bucket store.Bucket
	where  string
	run    *sample.Run
}

func (c *carriedForward) time() int64 { return c.run.Times[0] }

// checkCarriedForward compares the latest carried-forward sample of each bucket with the last
// sample stored before the bucket. It goes through both by time. Extents are sorted by start.
// An extent that begins before the bucket either ends before the bucket or reaches into it.
func (l *pass) checkCarriedForward() {
	var verified *carriedForward // the latest correct one
	var ended int64 = minTime
	var reaching []extent
	next := 0
	for _, c := range latest(l.carriedForward) {
		start := c.bucket.Start()
		for ; next < len(l.extents) && l.extents[next].start < start; next++ {
			reaching = append(reaching, l.extents[next])
		}
		reaching = slices.DeleteFunc(reaching, func(e extent) bool {
			if e.end < start {
				ended = max(ended, e.end)
			}
			return e.end < start
		})
		last := ended
		for _, e := range reaching {
			last = max(last, l.lastBefore(e, start))
		}
		switch {
		case c.time() < last:
			l.found(WrongCarriedForward, c.where, "it copies the sample of %s, but the last sample before the bucket is of %s",
				stamp(c.time()), stamp(last))
		case verified != nil && equal(verified.run, c.run):
		case l.stored(&c):
			verified = &c
		case c.time() == last:
			l.found(WrongCarriedForward, c.where, "the stored sample of the same time, %s, is different", stamp(last))
		case l.whole(c.time()) && !l.unsealed(&c):
			l.found(WrongCarriedForward, c.where, "no sample of its time, %s, is stored", stamp(c.time()))
		}
	}
}

// latest returns the latest carried-forward sample of each bucket, sorted by the start of
// the bucket.
func latest(all []carriedForward) []carriedForward {
	of := map[store.Bucket]carriedForward{}
	for _, c := range all {
		if o, ok := of[c.bucket]; !ok || c.time() >= o.time() {
			of[c.bucket] = c
		}
	}
	out := make([]carriedForward, 0, len(of))
	for _, c := range of {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b carriedForward) int {
		return cmp.Or(cmp.Compare(a.bucket.Start(), b.bucket.Start()), cmp.Compare(a.bucket, b.bucket))
	})
	return out
}

// equal reports whether two carried-forward samples are the same.
func equal(a, b *sample.Run) bool {
	x, y := a.At(0), b.At(0)
	return a.Type == b.Type && x.Same(&y)
}

// at returns the runs of the blocks in a bucket that overlap a time.
func (l *pass) at(b store.Bucket, t int64) []*sample.Run {
	var runs []*sample.Run
	for blk, err := range l.store.Blocks(l.ctx, l.pv, b, t, t) {
		if err != nil {
			l.giveUp(Unreadable, bucketName(b), err)
			return nil
		}
		l.spend(len(blk.Blob))
		r := new(sample.Run)
		if scan.Decode(r, &blk) == nil { // the block itself is reported elsewhere
			runs = append(runs, r)
		}
	}
	return runs
}

// lastBefore returns the time of the last sample before t, in the blocks of the extent's
// bucket that reach that time.
func (l *pass) lastBefore(e extent, t int64) int64 {
	last := e.start
	for _, r := range l.at(e.bucket, t-1) {
		if i := sort.Search(r.Len(), func(i int) bool { return r.Times[i] >= t }); i > 0 && r.Tags[0]&sample.CarriedForward == 0 {
			last = max(last, r.Times[i-1])
		}
	}
	return last
}

// stored reports whether the original of a carried-forward sample is in a block.
func (l *pass) stored(c *carriedForward) bool {
	t := c.time()
	seen := map[store.Bucket]bool{}
	for _, e := range l.extents[:sort.Search(len(l.extents), func(i int) bool { return l.extents[i].start > t })] {
		if e.end < t || seen[e.bucket] {
			continue
		}
		seen[e.bucket] = true
		if slices.ContainsFunc(l.at(e.bucket, t), func(r *sample.Run) bool { return holds(r, c.run) }) {
			return true
		}
	}
	return false
}

// holds reports whether a run has the original of a carried-forward sample.
func holds(r, c *sample.Run) bool {
	if r.Type != c.Type {
		return false
	}
	want := c.At(0)
	for i := sort.Search(r.Len(), func(i int) bool { return r.Times[i] >= want.Time }); i < r.Len() && r.Times[i] == want.Time; i++ {
		s := r.At(i)
		if s.Tag&sample.CarriedForward != 0 {
			continue
		}
		if want.Tag&sample.Elsewhere != 0 || s.Same(&want) {
			return true
		}
	}
	return false
}

// whole reports whether all buckets that could have held a sample of a time still exist. A
// bucket exists if it holds blocks, and it could have held the sample if the directory allows
// it.
func (l *pass) whole(t int64) bool {
	n := 0
	for _, s := range l.dir.Starts {
		b := s.Size().Of(t).In(s.Tier())
		if !allowed(l.dir.Starts, b) {
			continue
		}
		if _, held := l.held[b]; !held {
			return false
		}
		n++
	}
	return n > 0
}

// unsealed reports whether the original of a carried-forward sample is still in the journal,
// because only some of its blocks are written.
func (l *pass) unsealed(c *carriedForward) bool {
	home := pvname.Shard(l.pv, l.opts.Shards)
	shards := append(slices.Clone(l.dir.Shards), home, home+l.opts.Shards)
	slices.Sort(shards)
	for _, shard := range slices.Compact(shards) {
		claims, err := l.store.Claims(l.ctx, shard)
		if err != nil {
			l.giveUp(Unreadable, fmt.Sprintf("claims of shard %d", shard), err)
			return true
		}
		for _, claim := range claims {
			for row := range l.rows(shard, claim.Writer, claim.Sealed, claim.Last) {
				runs, err := journal.Find(row, l.pv)
				if err != nil {
					continue // the row is reported with its shard
				}
				for _, r := range runs {
					r.Normalize()
					if holds(r, c.run) {
						return true
					}
				}
			}
		}
	}
	return false
}

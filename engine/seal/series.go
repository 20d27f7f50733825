package seal

import (
	"slices"
	"sort"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Limits of a block: it is full at whichever it reaches first. A larger value has a block of its
// own. A block that is half full at the end of a checkpoint does not grow any more, because each
// further checkpoint would rewrite it until it is full.
const (
	fullSamples = 4096
	fullBytes   = 64 << 10
	doneSamples = fullSamples / 2
	doneBytes   = fullBytes / 2
)

// series is what a sealer remembers of a PV: the block that still grows, and
// the sample with which the next bucket begins.
type series struct {
	pv     string
	writer store.WriterID
	n      uint32 // number of the latest block
	round  int    // the sealer's round in which the series was last written

	entry layout.Entry // the directory entry, as acknowledged
	tier  store.Tier
	sized bool // size is chosen
	size  store.BucketSize
	rate  float64 // encoded bytes per second, smoothed

	open     *store.Block // nil: the next sample opens one
	last     sample.Sample
	lastType sample.Type // Unknown: last is not set
	carrying
	valueless []valueless
}

// changeTier puts the series on a tier. It closes a block that is open on another tier. The next
// block on the new tier follows a carried-forward sample.
func (s *series) changeTier(r store.Tier) {
	if s.tier != r {
		s.tier, s.open = r, nil
		s.carrying.restart()
		s.size = min(s.size, r.Longest())
	}
}

// bucket returns the bucket to which a sample of a time belongs.
func (s *series) bucket(t int64) store.Bucket { return s.size.Of(t).In(s.tier) }

// plan normalizes a run, returns the blocks that store its samples, and counts them as
// written. It leaves out samples in expired buckets. It returns their number, but does not count
// the PV's last one, which is about to be carried forward.
func (s *series) plan(r *sample.Run, now int64) (blocks []store.Block, old int) {
	r.Normalize()
	s.noteLate(r, now)
	for from := 0; from < r.Len(); {
		b := s.bucket(r.Times[from])
		to := from + sort.Search(r.Len()-from, func(i int) bool { return r.Times[from+i] >= b.End() })
		if layout.Expired(b, now) {
			old += to - from
		} else {
			blocks = append(blocks, s.carry(b)...)
			blocks = append(blocks, s.planBucket(b, r, from, to)...)
		}
		s.remember(r, to-1)
		from = to
	}
	if old > 0 && s.last.Time == r.Times[r.Len()-1] && layout.Expired(s.bucket(s.last.Time), now) {
		old--
	}
	return blocks, old
}

// remember keeps a sample as the PV's last one, unless it is older than that. It does not keep a
// large value.
func (s *series) remember(r *sample.Run, i int) {
	if s.lastType != sample.Unknown && r.Times[i] < s.last.Time {
		return
	}
	s.last, s.lastType = toCarry(r, i), r.Type
}

// planBucket stores samples from (inclusive) to to (exclusive), which belong to
// one bucket.
func (s *series) planBucket(b store.Bucket, r *sample.Run, from, to int) []store.Block {
	o := s.open
	if o != nil && o.Bucket > b { // all samples are late
		return s.closed(b, r, from, to)
	}
	if o == nil || o.Bucket != b || o.Type != r.Type {
		s.open = nil
		return s.grow(b, r, from, to)
	}
	late := from + sort.Search(to-from, func(i int) bool { return r.Times[from+i] >= o.End })
	blocks := s.closed(b, r, from, late)
	if late == to {
		return blocks
	}
	return append(blocks, s.grow(b, r, late, to)...)
}

// closed stores late samples in blocks of their own.
func (s *series) closed(b store.Bucket, r *sample.Run, from, to int) (blocks []store.Block) {
	for from < to {
		next := from + fits(r, from, to)
		blocks = append(blocks, layout.Encode(s.newKey(b, r.Times[from]), r, from, next))
		from = next
	}
	return blocks
}

// grow appends samples to the open block, and opens others when it is done.
func (s *series) grow(b store.Bucket, r *sample.Run, from, to int) (blocks []store.Block) {
	var key store.BlockKey
	if o := s.open; o != nil {
		all := &sample.Run{}
		if err := block.Decode(all, o.Blob); err != nil {
			panic("BUG: own block: " + err.Error())
		}
		all.AppendRange(r, from, to)
		all.Normalize()
		key, r, from, to = o.BlockKey, all, 0, all.Len()
	} else {
		key = s.newKey(b, r.Times[from])
	}
	for from < to {
		next := from + fits(r, from, to)
		blk := layout.Encode(key, r, from, next)
		blocks = append(blocks, blk)
		s.open = &blk
		if done(r, from, next) {
			s.open = nil
		}
		if from = next; from < to {
			key = s.newKey(b, r.Times[from])
		}
	}
	return blocks
}

func (s *series) newKey(b store.Bucket, start int64) store.BlockKey {
	s.n++
	return store.BlockKey{PV: s.pv, Bucket: b, Start: start, Writer: s.writer, N: s.n}
}

// fits returns how many samples, at least 1, fill a block.
func fits(r *sample.Run, from, to int) int {
	n := min(to-from, fullSamples)
	if r.Type.Fixed() {
		return n
	}
	for i, size := 0, 0; i < n; i++ {
		if size += len(r.Value(from + i)); size > fullBytes && i > 0 {
			return i
		}
	}
	return n
}

// done reports whether a block does not grow any more.
func done(r *sample.Run, from, to int) bool {
	if to-from >= doneSamples {
		return true
	}
	size := 0
	for i := from; i < to && !r.Type.Fixed(); i++ {
		size += len(r.Value(i))
	}
	return size >= doneBytes
}

// resize chooses the bucket size for the samples of a run, from the rate at which the PV fills
// buckets. A change of size closes the open block.
func (s *series) resize(r *sample.Run, now int64) {
	span := max(time.Duration(slices.Max(r.Times)-slices.Min(r.Times)), time.Minute)
	rate := float64(r.Size()) / 2 / span.Seconds() // blocks take half of memory, about
	longest := s.tier.Longest()
	if !s.sized {
		s.sized, s.rate, s.size = true, rate, layout.ChooseSize(rate, longest)
		if len(s.entry.Starts) > 0 {
			s.size = layout.ReviseSize(s.entry.ShortestSize(), rate, true, longest)
		}
		return
	}
	s.rate += (rate - s.rate) / 4
	was, ended := s.size, s.open == nil || s.open.Bucket.End() <= now
	if s.size = layout.ReviseSize(s.size, s.rate, ended, longest); s.size != was {
		s.open = nil
	}
}

// recall takes a sample from the store, which another sealer has sealed, as the PV's last one,
// unless the series knows a later one. A series without a size takes the shortest in use.
func (s *series) recall(r *sample.Run) {
	s.remember(r, r.Len()-1)
	if !s.sized {
		s.size = min(s.entry.ShortestSize(), s.tier.Longest())
	}
}

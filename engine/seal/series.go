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

// A block that is half full at the end of a checkpoint no longer grows, because otherwise each further checkpoint would
// rewrite it until it is full.
const (
	doneSamples = layout.FullSamples / 2
	doneBytes   = layout.FullBytes / 2
)

// series holds what a sealer remembers of a PV: the block that still grows, and the sample
// with which the next bucket begins.
type series struct {
	pv     string
	writer store.WriterID
	n      uint32 // number of the latest block
	round  int    // the sealer's round in which the series was last written

	entry layout.Entry // the directory entry as this sealer knows it
	tier  store.Tier
	sized bool // size is chosen
	size  store.BucketSize
	rate  float64 // encoded bytes per second, smoothed

	open     *store.Block // nil: the next sample opens one
	counted  int64        // bytes of open that are counted in Memory
	last     sample.Sample
	lastType sample.Type // Unknown: last is not set
	carrying
	valueless []valueless
}

// changeTier moves the series to a tier. It closes a block that is open on another tier. A
// carried-forward sample precedes the next block on the new tier.
func (s *series) changeTier(r store.Tier) {
	if s.tier != r {
		s.tier, s.open = r, nil
		s.carrying.restart()
		s.size = min(s.size, r.Longest())
	}
}

// bucket returns the bucket to which a sample with the given time belongs.
func (s *series) bucket(t int64) store.Bucket { return s.size.Of(t).In(s.tier) }

// plan normalizes a run, returns the blocks that store its samples, and counts them as
// written. It leaves out samples in expired buckets. old is their number, without the PV's
// last sample, because the caller carries that one forward.
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

// remember keeps a sample as the PV's last one, unless the series has a later one. It does not
// keep a large value.
func (s *series) remember(r *sample.Run, i int) {
	if s.lastType != sample.Unknown && r.Times[i] < s.last.Time {
		return
	}
	s.last, s.lastType = toCarry(r, i), r.Type
}

// planBucket returns the blocks that store samples from (inclusive) to to (exclusive). All
// these samples belong to one bucket.
func (s *series) planBucket(b store.Bucket, r *sample.Run, from, to int) []store.Block {
	o := s.open
	if o != nil && o.Bucket > b { // all samples are late
		return s.encodeLate(b, r, from, to)
	}
	if o == nil || o.Bucket != b || o.Type != r.Type {
		s.open = nil
		return s.grow(b, r, from, to)
	}
	late := from + sort.Search(to-from, func(i int) bool { return r.Times[from+i] >= o.End })
	blocks := s.encodeLate(b, r, from, late)
	if late == to {
		return blocks
	}
	return append(blocks, s.grow(b, r, late, to)...)
}

// encodeLate returns blocks for late samples. No samples are added to these blocks later.
func (s *series) encodeLate(b store.Bucket, r *sample.Run, from, to int) (blocks []store.Block) {
	for from < to {
		next := from + layout.Fits(r, from, to)
		blocks = append(blocks, layout.Encode(s.newKey(b, r.Times[from]), r, from, next))
		from = next
	}
	return blocks
}

// grow adds samples to the open block. When this block is done, grow opens others.
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
		next := from + layout.Fits(r, from, to)
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

// done reports whether a block no longer grows.
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

// resize chooses the bucket size from the rate at which the samples of a run fill buckets. A
// change of the size closes the open block.
func (s *series) resize(r *sample.Run, now int64) {
	span := max(time.Duration(slices.Max(r.Times)-slices.Min(r.Times)), time.Minute)
	rate := float64(r.Size()) / 2 / span.Seconds() // blocks take about half the bytes of memory
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

// recall keeps a sample that another sealer has sealed as the PV's last one, unless the series
// has a later one. If the series has no size yet, recall sets the shortest size in use.
func (s *series) recall(r *sample.Run) {
	s.remember(r, r.Len()-1)
	if !s.sized {
		s.size = min(s.entry.ShortestSize(), s.tier.Longest())
	}
}

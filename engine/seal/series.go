package seal

import (
	"math"
	"slices"
	"sort"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Limits of a block: it is full at whichever comes first. A value that is larger
// has a block of its own. A block that a checkpoint leaves half full grows no more: it
// would be written again at each until it is full, and read as one of two.
const (
	fullSamples = 4096
	fullBytes   = 64 << 10
	doneSamples = fullSamples / 2
	doneBytes   = fullBytes / 2
)

// series is what a sealer remembers of a PV: the block that still grows, and
// what the next bucket begins with.
type series struct {
	pv     string
	writer store.WriterID
	n      uint32 // of the latest block
	round  int    // of the sealer when it was last written

	rolling bool          // rolls is read from the store
	rolls   []*rolled     // by level
	asked   []store.Level // the PV is to have
	late    recently

	known store.Channel // what the directory holds, acknowledged
	tier  store.Tier
	sized bool // size is chosen
	size  store.BucketSize
	rate  float64 // encoded bytes per second, smoothed

	open     *store.Block // nil: the next sample opens one
	last     sample.Sample
	lastType sample.Type // Unknown: last is not set
	carrying
	bare []bare
}

// moveTo puts the series on a tier. The block that was open on another one is closed,
// and what is written next begins with a carried-forward sample.
func (s *series) moveTo(r store.Tier) {
	if s.tier != r {
		s.tier, s.open = r, nil
		s.carrying.restart()
		s.size = min(s.size, r.Longest())
	}
}

// bucket returns the one that a sample of a time goes to.
func (s *series) bucket(t int64) store.Bucket { return s.size.Of(t).In(s.tier) }

// plan returns the blocks that store the samples of a run, and takes them as
// written. The run is normalized on the way. Samples in buckets that have expired are
// left out. They are counted, but for the PV's last one, which is about to be carried forward.
func (s *series) plan(r *sample.Run, now int64) (blocks []store.Block, old int) {
	r.Normalize()
	s.noteLate(r, now)
	for from := 0; from < r.Len(); {
		b := s.bucket(r.Times[from])
		to := from + sort.Search(r.Len()-from, func(i int) bool { return r.Times[from+i] >= b.End() })
		if expired(b, now) {
			old += to - from
		} else {
			blocks = append(blocks, s.carry(b)...)
			blocks = append(blocks, s.planBucket(b, r, from, to)...)
		}
		s.remember(r, to-1)
		from = to
	}
	if old > 0 && s.last.Time == r.Times[r.Len()-1] && expired(s.bucket(s.last.Time), now) {
		old--
	}
	return blocks, old
}

// remember keeps a sample as the PV's last one, unless it is older; of a large one
// only where it stands.
func (s *series) remember(r *sample.Run, i int) {
	if s.lastType != sample.Unknown && r.Times[i] < s.last.Time {
		return
	}
	s.last, s.lastType = toCarry(r, i), r.Type
}

// planBucket stores samples from (inclusive) to to (exclusive), which stand in
// one bucket.
func (s *series) planBucket(b store.Bucket, r *sample.Run, from, to int) []store.Block {
	o := s.open
	if o != nil && o.Bucket > b { // all late
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
		blocks = append(blocks, encode(s.newKey(b, r.Times[from]), r, from, next))
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
		blk := encode(key, r, from, next)
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

// done reports whether a block grows no more.
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

// encode makes a block of samples from (inclusive) to to (exclusive).
func encode(key store.BlockKey, r *sample.Run, from, to int) store.Block {
	part := r
	if from > 0 || to < r.Len() {
		part = new(sample.Run)
		r.Part(part, from, to)
	}
	b := store.Block{
		BlockKey: key, End: r.Times[to-1], Count: to - from, Type: r.Type, Blob: block.Append(nil, part),
	}
	b.Min, b.Max, b.Sum = aggregates(part)
	return b
}

// aggregates returns the least, greatest and sum of the values that are
// numbers; NaN if there is none.
func aggregates(r *sample.Run) (low, high, sum float64) {
	if !r.Type.Numeric() {
		return math.NaN(), math.NaN(), math.NaN()
	}
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for i := range r.Len() {
		v := r.Float(i)
		if math.IsNaN(v) {
			continue
		}
		n++
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	if n == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return low, high, sum
}

// resize chooses the size of the buckets for the samples of a run, from the
// rate at which the PV fills them. A change of size closes the open block.
func (s *series) resize(r *sample.Run, now int64) {
	span := max(time.Duration(slices.Max(r.Times)-slices.Min(r.Times)), time.Minute)
	rate := float64(r.Size()) / 2 / span.Seconds() // blocks take half of memory, about
	longest := s.tier.Longest()
	if !s.sized {
		s.sized, s.rate, s.size = true, rate, chooseSize(rate, longest)
		if len(s.known.Starts) > 0 {
			s.size = reviseSize(s.smallest(), rate, true, longest)
		}
		return
	}
	s.rate += (rate - s.rate) / 4
	was, ended := s.size, s.open == nil || s.open.Bucket.End() <= now
	if s.size = reviseSize(s.size, s.rate, ended, longest); s.size != was {
		s.open = nil
	}
}

// smallest returns the shortest size that the directory lists.
func (s *series) smallest() store.BucketSize {
	size := store.Year
	for _, b := range s.known.Starts {
		size = min(size, b.Size())
	}
	return size
}

// recall takes a sample from the store as the PV's last one, unless the series knows a
// later one: another sealer has sealed it. A series that has seen none has the size in
// use.
func (s *series) recall(r *sample.Run) {
	s.remember(r, r.Len()-1)
	if !s.sized {
		s.size = min(s.smallest(), s.tier.Longest())
	}
}

// missing returns what the directory must hold before blocks are written, and
// does not: an entry to add, or false.
func (s *series) missing(shard int, blocks []store.Block) (store.Channel, bool) {
	c := store.Channel{PV: s.pv}
	if len(blocks) > 0 && !slices.Contains(s.known.Shards, shard) {
		c.Shards = []int{shard}
	}
	for i := range blocks {
		if b := blocks[i].Bucket; !begun(s.known.Starts, b) && !begun(c.Starts, b) {
			c.Starts = append(c.Starts, b)
		}
		if t := blocks[i].Type; !slices.Contains(s.known.Types, t) && !slices.Contains(c.Types, t) {
			c.Types = append(c.Types, t)
		}
	}
	return c, len(c.Shards)+len(c.Starts)+len(c.Types) > 0
}

// begun reports whether blocks may stand in a bucket, after the starts listed.
func begun(starts []store.Bucket, b store.Bucket) bool {
	return slices.ContainsFunc(starts, func(s store.Bucket) bool { return s.Span() == b.Span() && s <= b })
}

// added notes that the directory holds an entry.
func (s *series) added(c store.Channel) {
	s.known.Shards = append(s.known.Shards, c.Shards...)
	s.known.Starts = append(s.known.Starts, c.Starts...)
	s.known.Types = append(s.known.Types, c.Types...)
}

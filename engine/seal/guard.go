package seal

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// youngest is how old raw samples are, at least, before they are given up for want of
// room, whatever cutoff an engine whose clock is wrong may have written.
const youngest = 24 * time.Hour

// cutoff returns the time before which raw samples are given up: buckets that end at or
// before it are not written to, nor moved.
func (s *Shard) cutoff() int64 {
	if s.cfg.Cutoff == nil {
		return math.MinInt64
	}
	return min(s.cfg.Cutoff(), time.Now().Add(-youngest).UnixNano())
}

// refuse returns a run without the samples that stand in buckets before the cutoff, and
// how many those are. The last sample of a PV stays, however old, to be carried forward. So
// rollups of that time do not change either: what they were computed from is gone.
func (s *series) refuse(r *sample.Run, cutoff int64) (rest *sample.Run, refused int) {
	if cutoff == math.MinInt64 || slices.Min(r.Times) >= cutoff {
		return r, 0
	}
	r.Normalize()
	n := sort.Search(r.Len(), func(i int) bool { return s.bucket(r.Times[i]).End() > cutoff })
	if n == r.Len() && (s.lastType == sample.Unknown || s.last.Time < r.Times[n-1]) {
		n--
	}
	rest = new(sample.Run)
	if n < r.Len() {
		r.Part(rest, n, r.Len())
	}
	return rest, n
}

// DropBefore gives up the blocks of a PV, whose directory entry is c, in the buckets that
// end after one time and at or before another, the cutoff. It returns how many buckets
// held some, and the bytes that these took, also when it fails.
//
// What stays is the latest bucket of the PV, and the one that has a large value which a
// later bucket carries without it. Once there is a later one they can go; so the bucket in
// which the first one's carried-forward sample stood is looked at again. What stays for good is a
// bucket with nothing but a copy, of a PV that was not captured for some time after it.
func (s *Shard) DropBefore(ctx context.Context, c store.Channel, after, cutoff int64) (buckets int, bytes int64, err error) {
	cutoff = min(cutoff, time.Now().Add(-youngest).UnixNano())
	d := drop{Shard: s, pv: c.PV, cutoff: cutoff, now: time.Now().UnixNano()}
	d.divide(c.Starts, after)
	if len(d.due) == 0 {
		return 0, 0, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	if err = d.look(ctx); err == nil {
		err = d.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("giving up blocks of %s: %w", c.PV, err)
	}
	return d.buckets, d.bytes, err
}

// drop is what is given up of a PV.
type drop struct {
	*Shard
	pv          string
	cutoff, now int64

	before, due, later []store.Bucket // by time: looked at in former times, now, and not to be given up
	filled             []filled
	needed             []int64 // times of samples that must stay

	buckets int
	bytes   int64
}

// filled is a bucket that has blocks, and the time of its last sample.
type filled struct {
	store.Bucket
	last int64
}

func (d *drop) divide(starts []store.Bucket, after int64) {
	for b := range store.InUse(starts, d.now, d.now+int64(reach)) {
		switch end := b.End(); {
		case end > d.cutoff:
			d.later = append(d.later, b)
		case end > after:
			d.due = append(d.due, b)
		default:
			d.before = append(d.before, b)
		}
	}
	for _, list := range [][]store.Bucket{d.before, d.due, d.later} {
		slices.SortStableFunc(list, func(a, b store.Bucket) int { return cmp.Compare(a.Start(), b.Start()) })
	}
}

// look finds the buckets that hold blocks, and what must stay.
func (d *drop) look(ctx context.Context) error {
	for _, b := range d.due {
		if err := d.fill(ctx, b); err != nil {
			return err
		}
	}
	if len(d.filled) == 0 {
		return nil
	}
	at, _, found, err := d.carriedForward(ctx, d.filled[0].Bucket)
	if err != nil {
		return err
	}
	for _, b := range d.before {
		if found && b.Start() <= at && at < b.End() {
			if err := d.fill(ctx, b); err != nil {
				return err
			}
		}
	}
	return d.need(ctx)
}

// fill notes a bucket if it has blocks.
func (d *drop) fill(ctx context.Context, b store.Bucket) error {
	blk, found, err := d.cfg.Store.LastBlock(ctx, d.pv, b, math.MaxInt64)
	if found {
		d.filled = append(d.filled, filled{b, blk.End})
	}
	return err
}

// need finds which samples must stay: those that later buckets carry without their value,
// of which the first one that begins after the cutoff tells all; and the last one, if no
// later bucket has it.
func (d *drop) need(ctx context.Context) error {
	last := int64(math.MinInt64)
	for _, b := range d.later {
		blk, found, err := d.cfg.Store.LastBlock(ctx, d.pv, b, math.MaxInt64)
		if err == nil && found {
			last = max(last, blk.End)
			err = d.refer(ctx, b)
		}
		if err != nil {
			return err
		}
		if found && b.Start() >= d.cutoff {
			break
		}
	}
	latest := slices.MaxFunc(d.filled, func(a, b filled) int { return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.Start(), b.Start())) })
	if latest.last <= last {
		return nil
	}
	d.filled = slices.DeleteFunc(d.filled, func(f filled) bool { return f == latest })
	return d.refer(ctx, latest.Bucket)
}

// refer notes the sample that a bucket carries without its value.
func (d *drop) refer(ctx context.Context, b store.Bucket) error {
	at, bare, found, err := d.carriedForward(ctx, b)
	if found && bare {
		d.needed = append(d.needed, at)
	}
	return err
}

// carriedForward returns the time of the sample with which a bucket begins as a copy, and
// whether its value is left out.
func (d *drop) carriedForward(ctx context.Context, b store.Bucket) (at int64, bare, found bool, err error) {
	for blk, err := range d.cfg.Store.Blocks(ctx, d.pv, b, scan.Earliest, b.Start()) {
		if err != nil {
			return 0, false, false, err
		}
		r := new(sample.Run)
		if blk.Count > 0 || block.Decode(r, blk.Blob) != nil || r.Len() == 0 {
			continue
		}
		if t := r.Times[0]; !found || t > at {
			at, found, bare = t, true, r.Tags[0]&sample.Elsewhere != 0
		}
	}
	return at, bare, found, nil
}

// run deletes the buckets that hold nothing that must stay. What is written to one since
// the look stays, too.
func (d *drop) run(ctx context.Context) error {
	for _, f := range d.filled {
		if slices.ContainsFunc(d.needed, func(t int64) bool { return f.Start() <= t && t < f.End() }) {
			continue
		}
		n, err := d.cfg.Store.DropBucket(ctx, d.pv, f.Bucket, d.now)
		if err != nil {
			return err
		}
		d.buckets++
		d.bytes += n
	}
	return nil
}

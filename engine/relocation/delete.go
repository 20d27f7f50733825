package relocation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// ahead is how far into the future a deletion searches for buckets, because clocks differ.
const ahead = 24 * time.Hour

// Deletion deletes blocks of a PV before the deletion cutoff, to free disk space.
type Deletion struct {
	st            Store
	pv            string
	cutoff        int64
	earliest, now int64 // when the deletion was planned: at the earliest, and as far as is known
	planned       int64 // the same by the clocks of the store

	// before, due and later hold buckets, by time. Earlier deletions checked the buckets in
	// before. This deletion checks the buckets in due. The buckets in later end after the
	// cutoff.
	before, due, later []store.Bucket
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

// PlanDeletion plans the deletion of blocks of a PV whose directory entry is c. It plans for
// the buckets that end after the time after, and at or before the cutoff. It returns nil if
// there are no such buckets. It does no I/O, and the caller need not hold the shard's turn.
//
// The latest bucket of the PV stays. A bucket with a large value also stays while a later
// bucket carries the sample forward without its value. Both can be deleted once a later bucket
// takes their place. The deletion therefore also checks the earlier bucket whose sample the
// first due bucket carries forward. A bucket stays for good if it has nothing but a copy, and
// the PV was not captured for some time after it.
func (s *Shard) PlanDeletion(c store.Channel, after, cutoff int64) *Deletion {
	d := &Deletion{st: s.cfg.Store, pv: c.PV, cutoff: s.limitCutoff(cutoff), earliest: s.cfg.Clock.Earliest(), now: s.cfg.Clock.Now().Now, planned: s.cfg.Clock.StoreTime()}
	d.divide(c.Starts, after)
	if len(d.due) == 0 {
		return nil
	}
	return d
}

// Run deletes the blocks. It returns the number of deleted buckets and their size in bytes,
// even if it fails. The caller holds the shard's turn.
func (d *Deletion) Run(ctx context.Context) (buckets int, bytes int64, err error) {
	if err = d.inspect(ctx); err == nil {
		err = d.drop(ctx)
	}
	if err != nil {
		err = fmt.Errorf("deleting old blocks of %s: %w", d.pv, err)
	}
	return d.buckets, d.bytes, err
}

func (d *Deletion) divide(starts []store.Bucket, after int64) {
	for b := range store.InUse(starts, d.earliest, d.now+int64(ahead)) {
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

// inspect finds the buckets that have blocks, and the samples that must stay.
func (d *Deletion) inspect(ctx context.Context) error {
	for _, b := range d.due {
		if err := d.noteFilled(ctx, b); err != nil {
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
			if err := d.noteFilled(ctx, b); err != nil {
				return err
			}
		}
	}
	return d.findNeeded(ctx)
}

// noteFilled notes a bucket if it has blocks.
func (d *Deletion) noteFilled(ctx context.Context, b store.Bucket) error {
	blk, found, err := d.st.LastBlock(ctx, d.pv, b, math.MaxInt64)
	if found {
		d.filled = append(d.filled, filled{b, blk.End})
	}
	return err
}

// findNeeded finds the samples that must stay: those that later buckets carry forward without
// their value, and the last sample, if no later bucket has it. The first later bucket with
// blocks that begins at or after the cutoff stands for all that follow.
func (d *Deletion) findNeeded(ctx context.Context) error {
	last := int64(math.MinInt64)
	for _, b := range d.later {
		blk, found, err := d.st.LastBlock(ctx, d.pv, b, math.MaxInt64)
		if err == nil && found {
			last = max(last, blk.End)
			err = d.noteReference(ctx, b)
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
	return d.noteReference(ctx, latest.Bucket)
}

// noteReference notes the sample that a bucket carries forward without its value.
func (d *Deletion) noteReference(ctx context.Context, b store.Bucket) error {
	at, valueless, found, err := d.carriedForward(ctx, b)
	if found && valueless {
		d.needed = append(d.needed, at)
	}
	return err
}

// carriedForward returns the time of the carried-forward sample with which a bucket begins,
// and whether the sample lacks its value.
func (d *Deletion) carriedForward(ctx context.Context, b store.Bucket) (at int64, valueless, found bool, err error) {
	for blk, err := range d.st.Blocks(ctx, d.pv, b, scan.Earliest, b.Start()) {
		if err != nil {
			return 0, false, false, err
		}
		r := new(sample.Run)
		if blk.Count > 0 || scan.Decode(r, &blk) != nil || r.Len() == 0 {
			continue
		}
		if t := r.Times[0]; !found || t > at {
			at, found, valueless = t, true, r.Tags[0]&sample.Elsewhere != 0
		}
	}
	return at, valueless, found, nil
}

// drop deletes the buckets in which no sample must stay. Blocks that were written after the
// deletion was planned also stay.
func (d *Deletion) drop(ctx context.Context) error {
	for _, f := range d.filled {
		if slices.ContainsFunc(d.needed, func(t int64) bool { return f.Start() <= t && t < f.End() }) {
			continue
		}
		n, err := d.st.DropBucket(ctx, d.pv, f.Bucket, d.planned)
		if err != nil {
			return err
		}
		d.buckets++
		d.bytes += n
	}
	return nil
}

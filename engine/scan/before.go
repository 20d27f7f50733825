package scan

import (
	"context"
	"slices"
	"sort"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// reach is the maximum number of buckets of each size that a scan reads to find the last
// sample before its range. Normally the first bucket has that sample or a carried-forward copy
// of it. The scan needs the other buckets for PVs that no engine captured for some time.
var reach = [...]int{store.Hour: 7 * 24, store.Day: 366, store.Month: 120, store.Year: 20}

// lookBack finds the latest sample at or before the start of the range, or the latest
// carried-forward copy of one. It raises floor to the earliest time that the last sample
// before the range can then have in blocks. It begins with long buckets, because what it finds
// there often saves reading short ones.
func (sc *Scan) lookBack(ctx context.Context) error {
	for i := range slices.Backward(sc.sizes) {
		s := &sc.sizes[i]
		n, deleted := 0, 0
		for b := range s.backFrom(sc.From) {
			if b.End() <= sc.floor {
				break
			}
			if sc.isDeleted(b) { // the last sample before the range may be before many deleted buckets
				if deleted++; deleted > reach[s.size] {
					continue
				}
			} else if n++; n > reach[s.size] {
				break
			}
			found, err := sc.lookInto(ctx, b)
			if err != nil {
				return err
			}
			if found {
				s.since = max(sc.floor, b.Start())
				break
			}
		}
	}
	return nil
}

// lookAhead finds samples that exist only as carried-forward copies, in buckets that begin
// after the start of the range. The bucket of such a sample has expired, or the sample was
// already too old for its tier when it arrived. The sample is the last one before the range,
// or is in the range. For each size and tier, the first bucket with blocks has the copy.
func (sc *Scan) lookAhead(ctx context.Context) error {
	nothing := !sc.Inside && sc.seen == Earliest && sc.carriedForward == nil
	for i := range sc.sizes {
		s := &sc.sizes[i]
		if !nothing && s.segments[0].first.Start() <= sc.From {
			continue // buckets before the range still exist
		}
		ahead, n := *s, 0
		ahead.since = sc.From
		for b := range ahead.upTo(max(sc.To, sc.Now)) {
			if b.Start() <= sc.From {
				continue
			}
			found, err := sc.beginsWith(ctx, b)
			if err != nil {
				return err
			}
			if n++; found || n > reach[s.size] {
				break
			}
		}
	}
	if sc.carriedForward == nil || sc.carriedForward.Tags[0]&sample.Elsewhere == 0 {
		return nil
	}
	at := sc.carriedForward.Times[0]
	sc.carriedForward = nil
	if sc.seen > at {
		return nil // a later sample exists
	}
	r, err := sc.follow(ctx, at)
	sc.carriedForward = r
	return err
}

// beginsWith keeps the carried-forward samples at the beginning of a bucket that begins
// after the start of the range. It reports whether the bucket has any block.
func (sc *Scan) beginsWith(ctx context.Context, b store.Bucket) (found bool, err error) {
	for blk, err := range sc.Store.Blocks(ctx, sc.PV, b, Earliest, b.End()-1) {
		if err != nil {
			return false, err
		}
		found = true
		if blk.Start > b.Start() {
			break
		}
		r := new(sample.Run)
		if ok, err := sc.decode(r, &blk); err != nil {
			return false, err
		} else if !ok {
			continue
		}
		switch {
		case r.Tags[0]&sample.CarriedForward == 0: // not a copy: the merge reads it later
		case r.Times[0] < sc.From:
			sc.carry(r, 0)
		case r.Tags[0]&sample.Elsewhere == 0: // otherwise the value is in the range, or deleted
			r.Tags[0] &^= sample.CarriedForward
			sc.Unsealed = append(sc.Unsealed, r)
		}
	}
	return found, nil
}

// follow finds the sample to which a carried-forward sample without a value refers: the last
// sample of its time. It returns nil if that sample is deleted.
func (sc *Scan) follow(ctx context.Context, at int64) (found *sample.Run, err error) {
	for i := range sc.sizes {
		b := sc.sizes[i].of(at)
		if !sc.sizes[i].inUse(b) {
			continue
		}
		for blk, err := range sc.Store.Blocks(ctx, sc.PV, b, at, at) {
			if err != nil {
				return nil, err
			}
			r := new(sample.Run)
			if _, err := sc.decode(r, &blk); err != nil {
				return nil, err
			}
			for i := range r.Len() {
				if r.Times[i] == at && r.Tags[i]&(sample.CarriedForward|sample.Elsewhere) == 0 {
					found = new(sample.Run)
					r.Part(found, i, i+1)
				}
			}
		}
	}
	return found, nil
}

// lookInto reads the last sample of a bucket at or before the start of the range.
func (sc *Scan) lookInto(ctx context.Context, b store.Bucket) (found bool, err error) {
	blk, found, err := sc.Store.LastBlock(ctx, sc.PV, b, sc.From)
	if err != nil || !found {
		return false, err
	}
	r := takeRun(sc.Reuse)
	i, err := sc.lastIn(r, &blk)
	if err != nil {
		return false, err
	}
	if r.Len() == 0 { // left out
		sc.seen = max(sc.seen, sc.lost) // no earlier sample is taken for the last one
		sc.floor = max(sc.floor, sc.seen)
		return blk.Count > 0, nil
	}
	if i < 0 {
		return false, nil
	}
	if r.Tags[i]&sample.CarriedForward == 0 {
		sc.seen = max(sc.seen, r.Times[i])
		sc.floor = max(sc.floor, sc.seen)
		sc.lastBlock = decoded{blk.BlockKey, blk.Blob, r}
		return true, nil
	}
	whole, err := sc.lookAtCarriedForward(ctx, b, r.Times[i])
	if err == nil && whole {
		sc.floor = max(sc.floor, b.Start()) // no block has a sample between the carried-forward one and this bucket
	}
	return whole, err
}

// lookAtCarriedForward keeps the latest of the carried-forward samples in a bucket. One of
// them has the time t. Several writers may have carried a sample forward. whole is false if one of
// the copies was left out, because that one may have been the latest.
func (sc *Scan) lookAtCarriedForward(ctx context.Context, b store.Bucket, t int64) (whole bool, err error) {
	whole = true
	for blk, err := range sc.Store.Blocks(ctx, sc.PV, b, t, sc.From) {
		if err != nil {
			return false, err
		}
		r := new(sample.Run)
		i, err := sc.lastIn(r, &blk)
		switch {
		case err != nil:
			return false, err
		case r.Len() == 0:
			whole = false
		case i >= 0 && r.Tags[i]&sample.CarriedForward != 0:
			sc.carry(r, i)
		}
	}
	return whole, nil
}

// lastIn decodes a block into r. It returns the index of the last sample at or before the start
// of the range, or -1 if there is none.
func (sc *Scan) lastIn(r *sample.Run, blk *store.Block) (int, error) {
	if _, err := sc.decode(r, blk); err != nil {
		return -1, err
	}
	return sort.Search(r.Len(), func(i int) bool { return r.Times[i] > sc.From }) - 1, nil
}

// carry keeps a carried-forward sample if it is the latest so far. Of two such samples with
// the same time, it keeps the one with a value.
func (sc *Scan) carry(r *sample.Run, i int) {
	if c := sc.carriedForward; c != nil && (c.Times[0] > r.Times[i] || c.Times[0] == r.Times[i] && c.Tags[0]&sample.Elsewhere == 0) {
		return
	}
	sc.carriedForward = &sample.Run{Type: r.Type}
	sc.carriedForward.AppendRange(r, i, i+1)
}

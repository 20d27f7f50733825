package query

import (
	"context"
	"slices"
	"sort"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// reach is how many buckets of each size are looked at for the last sample
// before a range. Normally the first one has it, at worst as a carried copy; the
// others are for PVs that nobody captured for some time.
var reach = [...]int{store.Hour: 7 * 24, store.Day: 366, store.Month: 120, store.Year: 20}

// lookBack raises floor to where the last sample at or before the range can be,
// and finds the latest carried copy. Long buckets come first: what they tell
// spares the walk through short ones.
func (p *plan) lookBack(ctx context.Context) error {
	for i := range slices.Backward(p.sizes) {
		s := &p.sizes[i]
		n := 0
		for b := range s.backFrom(p.from) {
			if n++; n > reach[s.size] || b.End() <= p.floor {
				break
			}
			found, err := p.lookInto(ctx, b)
			if err != nil {
				return err
			}
			if found {
				s.since = max(p.floor, b.Start())
				break
			}
		}
	}
	return nil
}

// lookAhead finds what carried samples tell that no other does: those of buckets that
// begin after the range. The bucket that the sample itself stood in may have expired,
// or the sample was older than its tier keeps when it came. It is the last one before
// the range, or one in it. Of each size and tier the first bucket that holds something
// has it.
func (p *plan) lookAhead(ctx context.Context) error {
	nothing := !p.inside && p.seen == Earliest && p.carried == nil
	for i := range p.sizes {
		s := &p.sizes[i]
		if !nothing && s.stretches[0].first.Start() <= p.from {
			continue // what stood before the range is there
		}
		ahead, n := *s, 0
		ahead.since = p.from
		for b := range ahead.upTo(max(p.to, p.now)) {
			if b.Start() <= p.from {
				continue
			}
			found, err := p.beginsWith(ctx, b)
			if err != nil {
				return err
			}
			if n++; found || n > reach[s.size] {
				break
			}
		}
	}
	if p.carried == nil || p.carried.Tags[0]&sample.Elsewhere == 0 {
		return nil
	}
	at := p.carried.Times[0]
	p.carried = nil
	if p.seen > at {
		return nil // it is not the last one
	}
	r, err := p.follow(ctx, at)
	p.carried = r
	return err
}

// beginsWith takes up the carried samples with which a bucket begins that is after the
// start of the range. It reports whether the bucket has any block.
func (p *plan) beginsWith(ctx context.Context, b store.Bucket) (found bool, err error) {
	for blk, err := range p.store.Blocks(ctx, p.pv, b, Earliest, b.End()-1) {
		if err != nil {
			return false, err
		}
		found = true
		if blk.Start > b.Start() {
			break
		}
		r := new(sample.Run)
		if err := block.Decode(r, blk.Blob); err != nil {
			return false, errorIn(&blk, err)
		}
		switch {
		case r.Tags[0]&sample.Carried == 0: // it is read in its turn
		case r.Times[0] < p.from:
			p.carry(r, 0)
		case r.Tags[0]&sample.Elsewhere == 0: // else it stands in the range, or is gone
			r.Tags[0] &^= sample.Carried
			p.fresh = append(p.fresh, r)
		}
	}
	return found, nil
}

// follow finds the sample of a time that a carried one without a value stands for: the
// last one of that time. It returns nil if that is gone.
func (p *plan) follow(ctx context.Context, at int64) (found *sample.Run, err error) {
	for i := range p.sizes {
		b := p.sizes[i].of(at)
		if !p.sizes[i].inUse(b) {
			continue
		}
		for blk, err := range p.store.Blocks(ctx, p.pv, b, at, at) {
			if err != nil {
				return nil, err
			}
			r := new(sample.Run)
			if err := block.Decode(r, blk.Blob); err != nil {
				return nil, errorIn(&blk, err)
			}
			for i := range r.Len() {
				if r.Times[i] == at && r.Tags[i]&(sample.Carried|sample.Elsewhere) == 0 {
					found = new(sample.Run)
					r.Part(found, i, i+1)
				}
			}
		}
	}
	return found, nil
}

// lookInto asks a bucket for its last sample at or before the range.
func (p *plan) lookInto(ctx context.Context, b store.Bucket) (found bool, err error) {
	blk, found, err := p.store.LastBlock(ctx, p.pv, b, p.from)
	if err != nil || !found {
		return false, err
	}
	r, i, err := p.lastIn(&blk)
	if err != nil || i < 0 {
		return false, err
	}
	if r.Tags[i]&sample.Carried == 0 {
		p.seen = max(p.seen, r.Times[i])
		p.floor = max(p.floor, p.seen)
		return true, nil
	}
	p.floor = max(p.floor, b.Start()) // no block has a sample between the carried one and this bucket
	return true, p.lookAtCarried(ctx, b, r.Times[i])
}

// lookAtCarried keeps the latest of the carried samples in a bucket, one of
// which is of time t: several writers may have carried one.
func (p *plan) lookAtCarried(ctx context.Context, b store.Bucket, t int64) error {
	for blk, err := range p.store.Blocks(ctx, p.pv, b, t, p.from) {
		if err != nil {
			return err
		}
		r, i, err := p.lastIn(&blk)
		if err != nil {
			return err
		}
		if i >= 0 && r.Tags[i]&sample.Carried != 0 {
			p.carry(r, i)
		}
	}
	return nil
}

// lastIn decodes a block and returns where its last sample at or before the
// range stands; -1 if it has none.
func (p *plan) lastIn(blk *store.Block) (*sample.Run, int, error) {
	r := new(sample.Run)
	if err := block.Decode(r, blk.Blob); err != nil {
		return nil, -1, errorIn(blk, err)
	}
	return r, sort.Search(r.Len(), func(i int) bool { return r.Times[i] > p.from }) - 1, nil
}

// carry keeps a carried sample if it is the latest; of one time that with a value.
func (p *plan) carry(r *sample.Run, i int) {
	if c := p.carried; c != nil && (c.Times[0] > r.Times[i] || c.Times[0] == r.Times[i] && c.Tags[0]&sample.Elsewhere == 0) {
		return
	}
	p.carried = &sample.Run{Type: r.Type}
	p.carried.AppendRange(r, i, i+1)
}

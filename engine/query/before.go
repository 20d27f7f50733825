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
	if p.carried != nil && p.carried.Tags[0]&sample.Elsewhere != 0 {
		return p.follow(ctx, p.carried)
	}
	return nil
}

// follow finds the sample that a carried one without a value stands for: the last
// one at its time.
func (p *plan) follow(ctx context.Context, carried *sample.Run) error {
	p.carried = nil
	at := carried.Times[0]
	if p.seen > at {
		return nil // it is not the last one
	}
	for i := range p.sizes {
		for blk, err := range p.store.Blocks(ctx, p.pv, p.sizes[i].size.Of(at), at, at) {
			if err != nil {
				return err
			}
			r := new(sample.Run)
			if err := block.Decode(r, blk.Blob); err != nil {
				return errorIn(&blk, err)
			}
			for i := range r.Len() {
				if r.Times[i] == at && r.Tags[i]&sample.Carried == 0 {
					p.carried = new(sample.Run)
					r.Part(p.carried, i, i+1)
				}
			}
		}
	}
	return nil
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

// carry keeps a carried sample if it is the latest.
func (p *plan) carry(r *sample.Run, i int) {
	if p.carried != nil && p.carried.Times[0] >= r.Times[i] {
		return
	}
	p.carried = &sample.Run{Type: r.Type}
	p.carried.AppendRange(r, i, i+1)
}

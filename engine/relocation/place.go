package relocation

import (
	"sort"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// destination is where blocks migrate to.
type destination struct {
	size store.BucketSize
	tier store.Tier
	now  int64 // buckets that have expired at this time, in ns since 1970, are left out
	// cutoff is the deletion cutoff. Buckets that end at or before it are left out, too.
	cutoff int64
}

// sizeFor returns the size of the buckets on a tier to which a bucket with the given number of
// bytes migrates. all is false if the bucket has more bytes than that. Short buckets of a slow
// PV become long ones, because a reader makes a request for each bucket.
func sizeFor(from store.Bucket, bytes int, all bool, tier store.Tier) store.BucketSize {
	if !all {
		return min(from.Size(), tier.Longest())
	}
	return layout.ChooseSize(float64(bytes)/from.Size().Span().Seconds(), tier.Longest())
}

func (d *destination) bucket(t int64) store.Bucket { return d.size.Of(t).In(d.tier) }

func (d *destination) keeps(t int64) bool { return !d.isGone(d.bucket(t)) }

// isGone reports whether the store no longer keeps anything in a bucket.
func (d *destination) isGone(b store.Bucket) bool {
	return layout.Expired(b, d.now) || b.End() <= d.cutoff
}

// place returns the copies of a block with samples that are not carried forward. The copy is
// the same block in another bucket. If the block does not fit into one bucket, the copies are
// its parts. The key of a copy differs from the key of the block in the bucket, and the key of
// a part may also differ in the start. The keys therefore do not depend on when a block is
// copied, or by which engine, and they collide with no other keys.
func (d *destination) place(b *store.Block) ([]store.Block, error) {
	if first := d.bucket(b.Start); first == d.bucket(b.End) && b.Damage == nil {
		if d.isGone(first) {
			return nil, nil
		}
		whole := *b
		whole.Bucket = first
		return []store.Block{whole}, nil
	}
	r := new(sample.Run)
	if err := scan.Decode(r, b); err != nil {
		return nil, err
	}
	var out []store.Block
	for from := 0; from < r.Len(); {
		to := d.bucket(r.Times[from])
		n := sort.Search(r.Len()-from, func(i int) bool { return r.Times[from+i] >= to.End() })
		if !d.isGone(to) {
			key := b.BlockKey
			key.Bucket, key.Start = to, r.Times[from]
			out = append(out, layout.Encode(key, r, from, from+n))
		}
		from += n
	}
	return out, nil
}

// placeCarriedForward returns the copies of a carried-forward sample. The sample stays carried
// forward if a bucket on the new tier begins together with its old bucket. If only is set, the
// sample is later than all samples that were visited before, and is stored nowhere else,
// because its own bucket has expired. It then becomes an ordinary sample if the new tier keeps
// its time, and otherwise the carried-forward sample of the new bucket.
func (d *destination) placeCarriedForward(b *store.Block, r *sample.Run, only bool) []store.Block {
	in := d.bucket(b.Bucket.Start())
	alone := only && r.Tags[0]&sample.Elsewhere == 0
	var out []store.Block
	if alone && d.keeps(r.Times[0]) {
		free := r.Clone()
		free.Tags[0] &^= sample.CarriedForward
		key := b.BlockKey
		key.Bucket, key.Start = d.bucket(r.Times[0]), r.Times[0]
		out = append(out, layout.Encode(key, free, 0, 1))
		alone = false
	}
	if !d.isGone(in) && r.Times[0] < in.Start() && (alone || in.Start() == b.Bucket.Start()) {
		key := b.BlockKey
		key.Bucket, key.Start = in, in.Start()
		out = append(out, layout.EncodeCarriedForward(key, r))
	}
	return out
}

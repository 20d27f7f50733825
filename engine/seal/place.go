package seal

import (
	"sort"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// destination is where blocks are moved to.
type destination struct {
	size store.BucketSize
	tier store.Tier
	now  int64 // what has expired there at this time, in ns since 1970, is left behind
	// What stands in buckets that end at or before cutoff is given up, and left behind, too.
	cutoff int64
}

// sizeFor returns the size of the buckets on a tier that a bucket of some bytes moves
// to; all is false if it has more than that. Short buckets of a PV that is slow become
// long ones: a reader asks for each.
func sizeFor(from store.Bucket, bytes int, all bool, r store.Tier) store.BucketSize {
	if !all {
		return min(from.Size(), r.Longest())
	}
	return chooseSize(float64(bytes)/from.Size().Span().Seconds(), r.Longest())
}

func (d *destination) bucket(t int64) store.Bucket { return d.size.Of(t).In(d.tier) }

func (d *destination) keeps(t int64) bool { return !d.gone(d.bucket(t)) }

// gone reports whether nothing stands in a bucket any more.
func (d *destination) gone(b store.Bucket) bool { return expired(b, d.now) || b.End() <= d.cutoff }

// place returns the copies of a block that has samples which are not carried forward: the
// same block in another bucket, or its parts where it does not fit into one. Their keys
// differ from that of the block in the bucket, and of a part also in the start. So they
// are the same whenever, and by whomever, a block is moved there; and they take the
// keys of no others.
func (d *destination) place(b *store.Block) ([]store.Block, error) {
	if first := d.bucket(b.Start); first == d.bucket(b.End) {
		if d.gone(first) {
			return nil, nil
		}
		whole := *b
		whole.Bucket = first
		return []store.Block{whole}, nil
	}
	r := new(sample.Run)
	if err := block.Decode(r, b.Blob); err != nil {
		return nil, err
	}
	var out []store.Block
	for from := 0; from < r.Len(); {
		to := d.bucket(r.Times[from])
		n := sort.Search(r.Len()-from, func(i int) bool { return r.Times[from+i] >= to.End() })
		if !d.gone(to) {
			key := b.BlockKey
			key.Bucket, key.Start = to, r.Times[from]
			out = append(out, encode(key, r, from, from+n))
		}
		from += n
	}
	return out, nil
}

// placeCarriedForward returns the copies of a carried-forward sample: as one, where a bucket begins
// with the one that it was carried forward into. A sample that is later than all that was
// moved before stands nowhere else, as its own bucket has expired: it becomes a sample
// like others, if it is to be kept, and else the carried-forward one of the bucket.
func (d *destination) placeCarriedForward(b *store.Block, r *sample.Run, only bool) []store.Block {
	in := d.bucket(b.Bucket.Start())
	alone := only && r.Tags[0]&sample.Elsewhere == 0
	var out []store.Block
	if alone && d.keeps(r.Times[0]) {
		free := r.Clone()
		free.Tags[0] &^= sample.CarriedForward
		key := b.BlockKey
		key.Bucket, key.Start = d.bucket(r.Times[0]), r.Times[0]
		out = append(out, encode(key, free, 0, 1))
		alone = false
	}
	if !d.gone(in) && r.Times[0] < in.Start() && (alone || in.Start() == b.Bucket.Start()) {
		key := b.BlockKey
		key.Bucket, key.Start = in, in.Start()
		out = append(out, carriedForwardBlock(key, r))
	}
	return out
}

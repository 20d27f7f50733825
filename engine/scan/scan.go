package scan

import (
	"context"
	"iter"
	"slices"
	"sort"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that a scan reads.
type Store interface {
	Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error]
	LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error)
}

// Earliest and Latest bound the times of a scan, in ns since 1970: the years 1900 to 2200.
// Times beyond are read as these.
const (
	Earliest = -2208988800e9
	Latest   = 7258118400e9
)

// Scan is one read of a PV's samples. The caller sets the exported fields, calls Prepare, and
// then reads with Feed or Run, or reads parts of the range.
type Scan struct {
	Store Store
	PV    string
	// From and To are the first and the last time of the range, in ns since 1970.
	From, To int64
	// Inside leaves out the last sample before the range.
	Inside bool
	// Now is the time by which buckets expire, in ns since 1970.
	Now int64
	// Unsealed are the samples that may be in no block. Prepare normalizes these runs.
	Unsealed []*sample.Run

	sizes []sized
	// carriedForward is the latest copy of a sample before From, or nil.
	carriedForward *sample.Run
	// seen is the time of the latest sample at or before From that the scan has seen, and
	// floor the earliest time at which the last one can stand in blocks. Both are Earliest
	// as long as nothing is known.
	seen, floor int64
}

// Prepare finds out which buckets can hold samples, from those that the directory lists, and
// takes account of the unsealed samples.
func (sc *Scan) Prepare(starts []store.Bucket) {
	sc.sizes = bySize(starts, sc.From, sc.Now)
	sc.bound()
}

// Part returns a prepared scan of a part of the range of a prepared one.
func (sc *Scan) Part(from, to int64) *Scan {
	part := &Scan{Store: sc.Store, PV: sc.PV, From: from, To: to, Now: sc.Now, Unsealed: slices.Clone(sc.Unsealed)}
	part.sizes = slices.Clone(sc.sizes)
	for i := range part.sizes {
		part.sizes[i].since = from
	}
	part.bound()
	return part
}

// bound sorts the unsealed samples, and derives from them the earliest time that the last sample
// before the range can have.
func (sc *Scan) bound() {
	sc.seen = Earliest
	for _, r := range sc.Unsealed {
		r.Normalize()
		before := sort.Search(r.Len(), func(i int) bool { return r.Times[i] > sc.From })
		if before > 0 {
			sc.seen = max(sc.seen, r.Times[before-1])
		}
	}
	sc.floor = sc.seen
}

// Run feeds the samples in the range. Unless Inside is set, it also feeds samples before the
// range, the last one among them; if the only trace of that one is a carried-forward copy, Run passes
// the copy to hold first. Run passes nil to hold if there is no copy.
func (sc *Scan) Run(ctx context.Context, hold func(carriedForward *sample.Run), feed Feed) error {
	m := merger{from: sc.From, to: sc.To, emit: feed}
	if !sc.Inside {
		if err := sc.lookBack(ctx); err != nil {
			return err
		}
	}
	if err := sc.lookAhead(ctx); err != nil {
		return err
	}
	if !sc.Inside {
		hold(sc.carriedForward)
		m.from = sc.seen
	}
	return m.run(sc.sources(ctx))
}

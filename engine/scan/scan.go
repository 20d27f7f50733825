package scan

import (
	"context"
	"iter"
	"math"
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
// Times outside of these bounds are read as the bounds.
const (
	Earliest = -2208988800e9
	Latest   = 7258118400e9
)

// Scan is one read of a PV's samples. The caller sets the exported fields and calls Prepare.
// It then reads with Feed or Run, or reads parts of the range with Part.
type Scan struct {
	Store Store
	PV    string
	// From and To are the first and the last time of the range, in ns since 1970.
	From, To int64
	// Inside is true if the scan leaves out the last sample before the range.
	Inside bool
	// Now is the present time in ns since 1970. Buckets that have expired at this time are
	// left out.
	Now int64
	// Unsealed are the samples that may be in no block. Prepare normalizes these runs.
	Unsealed []*sample.Run
	// Deleted are the ranges whose samples users have deleted: the scan leaves them out.
	Deleted store.Mask
	// Damaged is called with each damaged block. If it returns nil, the scan leaves the block out,
	// and otherwise it ends with the error. If Damaged is nil, a damaged block ends the scan.
	Damaged func(*Damaged) error
	// Reuse is true if nobody uses samples of the scan once it has ended. Later scans then use its
	// memory.
	Reuse bool

	sizes []sized
	// lastBlock is the block in which lookBack found the last sample before the range, until the merge
	// takes it.
	lastBlock decoded
	// carriedForward is the latest copy of a sample before From, or nil.
	carriedForward *sample.Run
	// seen is the time of the latest sample at or before From that the scan has found so far.
	// floor is the earliest time that the last sample before the range can have in blocks.
	// Both are Earliest until the scan finds something.
	seen, floor int64
	// lost is the latest time at or before From at which a block that was left out has a sample,
	// or may have one.
	lost int64
}

// Prepare determines the buckets that can have samples from the buckets that the directory
// lists. It also takes account of the unsealed samples.
func (sc *Scan) Prepare(starts []store.Bucket) {
	sc.mask()
	sc.sizes = bySize(starts, sc.From, sc.Now)
	sc.bound()
}

// Part returns a prepared scan of a part of the range. sc must be prepared too.
func (sc *Scan) Part(from, to int64) *Scan {
	part := &Scan{Store: sc.Store, PV: sc.PV, From: from, To: to, Now: sc.Now, Damaged: sc.Damaged, Deleted: sc.Deleted, Unsealed: slices.Clone(sc.Unsealed)}
	part.sizes = slices.Clone(sc.sizes)
	for i := range part.sizes {
		part.sizes[i].since = from
	}
	part.bound()
	return part
}

// LostUntil returns the latest time at or before From at which a block that the scan has left out
// has a sample, or may have one. A sample from before that time is not the last one before the
// range. The result is final once a sample at or after From was fed, or the scan has ended.
func (sc *Scan) LostUntil() int64 { return sc.lost }

// bound sorts the unsealed samples. From them it derives the earliest time that the last
// sample before the range can have.
func (sc *Scan) bound() {
	sc.seen, sc.lost = Earliest, math.MinInt64
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
// range, including the last one. Before all samples, it passes the latest carried-forward copy
// of a sample before the range to hold, or nil if it has found no copy.
func (sc *Scan) Run(ctx context.Context, hold func(carriedForward *sample.Run), feed Feed) error {
	m := merger{from: sc.From, to: sc.To, emit: feed, leaveOut: sc.leaveOut, reuse: sc.Reuse}
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
	m.lastBlock, sc.lastBlock = sc.lastBlock, decoded{}
	return m.run(sc.sources(ctx))
}

package query

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// ErrUnknownPV is returned for a PV that was never captured.
var ErrUnknownPV = errors.New("unknown PV")

// ErrNoAnswer is wrapped by errors that say that an engine did not answer for
// what only it knows.
var ErrNoAnswer = errors.New("an engine did not answer")

// Held is what engines hold of a PV in memory.
type Held struct {
	// Known says that the PV is being captured, also if it has no sample yet.
	Known bool
	// Shards are those the PV is captured in now, which the directory may not
	// know yet.
	Shards []int
	// Runs are in order of arrival. They are copies, but the memory of values that are
	// bytes may be the engine's own, and must not be written to.
	Runs []*sample.Run
	// Covers are the writers whose unsealed rows, in the journals of this PV's
	// shards, hold no sample of the PV that is not in Runs.
	Covers []store.WriterID
	// Missing says that samples that wait in an engine, and are not in the journal, are
	// not in Runs, as it could not be asked, or they are too many; nil: that is not so.
	// They came at MissingFrom, in ns since 1970, or later.
	Missing     error
	MissingFrom int64
}

// Add joins what another engine holds of the same PV.
func (h *Held) Add(o Held) {
	h.Known = h.Known || o.Known
	h.Shards = append(h.Shards, o.Shards...)
	h.Runs = append(h.Runs, o.Runs...)
	h.Covers = append(h.Covers, o.Covers...)
	if o.Missing != nil && (h.Missing == nil || o.MissingFrom < h.MissingFrom) {
		h.Missing, h.MissingFrom = o.Missing, o.MissingFrom
	}
}

// RecentRequest is what engines are asked of a PV.
type RecentRequest struct {
	PV string
	// Shards are those that the PV is known to be in, or to have been in lately. Those
	// that an engine captures it in now need not be named.
	Shards []int
	// From and To are the times, in ns since 1970, of the samples that are needed, and
	// of those before From the last one. The answer may have more.
	From, To int64
}

// Recent answers with what engines hold of a PV, as of a moment after it was
// called. An engine that can not be asked is left out: its writers are not
// covered, and their journal is read. But it must be known who captures the PV
// then, in which shard.
type Recent interface {
	Recent(ctx context.Context, q RecentRequest) Held
}

// Reader reads an archive. Its fields are set before use.
type Reader struct {
	Store store.Store
	// Recent may be nil: then everything is read from the store.
	Recent Recent
	// Captured yields the PVs being captured, which the directory may not know
	// yet. It may be nil.
	Captured func() iter.Seq[string]
	// Shards is the number of shards of the archive.
	Shards int
	// Now returns the time in ns since 1970, by which buckets expire; nil means
	// time.Now.
	Now func() int64
}

// Options of a read.
type Options struct {
	// Inside leaves out the last sample before the range.
	Inside bool
}

// Earliest and Latest bound the times that can be asked for, in ns since 1970:
// the years 1900 to 2200. Times beyond are read as these.
const (
	Earliest = scan.Earliest
	Latest   = scan.Latest
)

// Read yields the samples of a PV with times in [from, to], in ns since 1970, by
// time, each once. If none is exactly at from, the last one before it comes
// first, unless the options say otherwise. Samples of equal time are in order of
// arrival, as far as it is known.
//
// A yielded run has one type, a bounded length and at least one sample. It is
// valid until the next one is asked for. The sequence ends after its first error,
// and can be used once. A PV that was never captured gives ErrUnknownPV at once.
func (r *Reader) Read(ctx context.Context, pv string, from, to int64, opts Options) (iter.Seq2[*sample.Run, error], error) {
	p := newPlan(r.Store, pvname.Canonical(pv), time.Now().UnixNano())
	p.From, p.To, p.Inside = max(from, Earliest), min(to, Latest), opts.Inside
	if r.Now != nil {
		p.Now = r.Now()
	}
	if err := p.look(ctx, r.Recent, r.Shards); err != nil {
		return nil, err
	}
	return func(yield func(*sample.Run, error) bool) { p.run(ctx, yield) }, nil
}

// plan is one read. Its Unsealed are samples that are in no block, or may not be: normal runs.
type plan struct {
	scan.Scan
	store  store.Store
	starts []store.Bucket // of the directory
	large  []*sample.Run  // of Unsealed, while it is being gathered
}

// newPlan returns a plan to read a PV by the expiries of a time.
func newPlan(st store.Store, pv string, now int64) *plan {
	return &plan{Scan: scan.Scan{Store: st, PV: pv, Now: now}, store: st}
}

// look reads everything but the blocks, in the order that the package comment
// argues for.
func (p *plan) look(ctx context.Context, recent Recent, shards int) error {
	var held Held
	if recent != nil {
		held = recent.Recent(ctx, RecentRequest{PV: p.PV, From: p.From, To: p.To})
	}
	if held.Missing != nil && p.To >= held.MissingFrom {
		return held.Missing
	}
	home := pvname.Shard(p.PV, shards)
	ch, found, claims, err := p.begin(ctx, home)
	if err != nil {
		return err
	}
	if !found && !held.Known {
		return ErrUnknownPV
	}
	in := append(slices.Concat(ch.Shards, held.Shards), home)
	slices.Sort(in)
	for _, shard := range slices.Compact(in) {
		of := claims
		if shard != home {
			if of, err = p.store.Claims(ctx, shard); err != nil {
				return err
			}
		}
		if err := p.journal(ctx, shard, of, held.Covers); err != nil {
			return err
		}
	}
	for _, r := range held.Runs {
		p.gather(r)
	}
	if ch, _, err = p.store.Channel(ctx, p.PV); err != nil {
		return err
	}
	p.starts = ch.Starts
	p.Unsealed, p.large = append(p.Unsealed, p.large...), nil
	p.Prepare(ch.Starts)
	return nil
}

// begin reads the directory, and at the same time the claims of the shard that needs no
// directory to be known.
func (p *plan) begin(ctx context.Context, home int) (ch store.Channel, found bool, claims []store.Claim, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		claims, err = p.store.Claims(ctx, home)
		return err
	})
	g.Go(func() (err error) {
		ch, found, err = p.store.Channel(ctx, p.PV)
		return err
	})
	err = g.Wait()
	return ch, found, claims, err
}

// run reads the blocks and yields the merged samples.
func (p *plan) run(ctx context.Context, yield func(*sample.Run, error) bool) {
	w := &window{from: p.From, to: p.To, inside: p.Inside, yield: yield}
	if err := p.Run(ctx, w.hold, w.add); err != nil {
		yield(nil, err)
		return
	}
	w.close()
}

package query

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// ErrUnknownPV is returned for a PV that was never captured.
var ErrUnknownPV = errors.New("unknown PV")

// ErrNoAnswer is wrapped by an error if an engine did not answer and no other engine has the
// data.
var ErrNoAnswer = errors.New("an engine did not answer")

// Held is the samples of a PV that engines hold in memory.
type Held struct {
	// Known is true if an engine captures the PV, even if the engine has no sample yet.
	Known bool
	// Shards are the shards in which the PV is captured now. The directory may not know
	// them yet.
	Shards []int
	// Runs has the samples in order of arrival. The runs are copies, but the memory of byte
	// values may belong to the engine, so the reader must not write to it.
	Runs []*sample.Run
	// Covers lists the covered writers. All unsealed samples that these writers have of the PV
	// are in Runs, so that the reader need not read their rows in the journals of the PV's
	// shards.
	Covers []store.WriterID
	// Flushed lists writers that are not covered, and how far their engines have flushed them.
	Flushed []Flushed
	// Connected is a time in ns since 1970, or 0. An engine whose samples are all in Runs, or in
	// acknowledged rows, has been connected to the PV since that time. It is the latest time that this
	// may have been if the engine's clock may be wrong.
	Connected int64
	// Unanswered is true if an engine that may hold samples of the PV did not answer, or
	// answered without them. The reader then uses claims to find out how far the journal is
	// complete, also in shards that are not in Shards.
	Unanswered bool
	// Confirmed is 0, or a time in ns since 1970: up to then, the PV was only in Shards, in its home shard, and
	// in the shards that the directory lists. No known engine captures it, so it may have moved since.
	Confirmed int64
	// Missing is the reason why Runs lacks samples that are not in the journal: their engine
	// did not answer, or there are too many of them. It is nil if Runs lacks no such samples.
	Missing error
	// MissingFrom is the earliest time, in ns since 1970, that a missing sample can have.
	MissingFrom int64
}

// Flushed is how far the samples of a writer are flushed.
type Flushed struct {
	Writer store.WriterID
	// Until is a time in ns since 1970: the earliest that it may be if the engine's clock may be wrong.
	// All samples that the writer got
	// before it are in acknowledged rows, or in Held.Runs. It is Latest if no sample is missing.
	Until int64
}

// Add adds the samples that another engine holds of the same PV.
func (h *Held) Add(o Held) {
	h.Known = h.Known || o.Known
	h.Shards = append(h.Shards, o.Shards...)
	h.Runs = append(h.Runs, o.Runs...)
	h.Covers = append(h.Covers, o.Covers...)
	h.Flushed = append(h.Flushed, o.Flushed...)
	h.Unanswered = h.Unanswered || o.Unanswered
	if o.Connected != 0 && (h.Connected == 0 || o.Connected < h.Connected) {
		h.Connected = o.Connected
	}
	if o.Missing != nil && (h.Missing == nil || o.MissingFrom < h.MissingFrom) {
		h.Missing, h.MissingFrom = o.Missing, o.MissingFrom
	}
}

// RecentRequest requests the samples of a PV that engines hold in memory.
type RecentRequest struct {
	PV string
	// Shards are the shards in which the PV is captured, or was captured recently. They need
	// not include the shards in which an engine captures the PV now.
	Shards []int
	// From and To bound the times of the requested samples, in ns since 1970. The request
	// includes the last sample before From. The answer may have more samples than requested.
	From, To int64
}

// Recent returns the samples of a PV that engines hold in memory at a moment after the call.
// It leaves out engines that do not answer, and sets Held.Unanswered. The result does not cover
// the writers of these engines, and the reader reads their journal rows instead. Even then the
// result must list the shards in which the PV is captured.
type Recent interface {
	Recent(ctx context.Context, q RecentRequest) Held
}

// Reader reads an archive. The caller sets its fields before use.
type Reader struct {
	Store store.Store
	// Recent may be nil. In this case the reader reads all samples from the store.
	Recent Recent
	// Captured yields the PVs being captured. The directory may not know them yet. It
	// may be nil.
	Captured func() iter.Seq[string]
	// Index finds names. It has the directory of the store and the PVs of Captured. It may be nil. In this case, each search
	// for names reads the whole directory.
	Index *nameindex.Index
	// Visible reports whether the sender of a request may know a PV, given its canonical name. It
	// may be nil, which means every PV. Store and Recent must hide the same PVs: see Sees.
	Visible func(ctx context.Context, pv string) bool
	// Through is another archive, which has the samples from before this archive captured them. It
	// may be nil.
	Through *Through
	// Shards is the number of shards of the archive.
	Shards int

	// named is set by Named.
	named *named

	// Now returns the current time in ns since 1970, by the clocks of the store. It decides whether a
	// bucket has expired, and whether a writer is behind. If it is nil, the reader uses time.Now.
	Now func() int64
}

// Options are the options of a read.
type Options struct {
	// Inside leaves out the last sample before the range.
	Inside bool
	// Lost collects the samples in damaged blocks, which the read leaves out. If it is nil, a
	// damaged block ends the read with an error.
	Lost *Losses

	// reuse is Scan.Reuse: nobody uses a yielded run once the read has ended.
	reuse bool
}

// Earliest and Latest bound the times of a read, in ns since 1970. They are the starts of the
// years 1900 and 2200 in UTC. A read replaces a time beyond them by the bound.
const (
	Earliest = scan.Earliest
	Latest   = scan.Latest
)

// Samples is the result of a read.
type Samples struct {
	// CompleteUntil is a time in ns since 1970. All samples that engines received before it are
	// in the result, as far as they are in the range. It is Latest if no sample is missing.
	CompleteUntil int64
	// All yields each sample once, sorted by time. Samples of equal time are in order of
	// arrival, as far as that order is known. A yielded run has one type, a bounded length and
	// at least one sample. It is valid until the next one is requested. The sequence ends after
	// its first error. It can be used only once.
	All iter.Seq2[*sample.Run, error]

	deleted store.Mask // what users have deleted
}

// Read returns the samples of a PV with times in [from, to], in ns since 1970. If there is no
// sample at from, the first one is the last sample before from, unless the options leave it out, or
// a damaged block may have held it.
// For a PV that was never captured, Read returns ErrUnknownPV.
func (r *Reader) Read(ctx context.Context, pv string, from, to int64, opts Options) (*Samples, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return r.named.read(ctx, list, from, to, opts)
	}
	if r.Through != nil {
		return r.readThrough(ctx, pv, from, to, opts)
	}
	return r.readOwn(ctx, pv, from, to, opts)
}

// readOwn is Read without the other archive.
func (r *Reader) readOwn(ctx context.Context, pv string, from, to int64, opts Options) (*Samples, error) {
	p := newPlan(r.Store, pvname.Canonical(pv), r.now())
	p.From, p.To, p.Inside = max(from, Earliest), min(to, Latest), opts.Inside
	p.since, p.Reuse = p.From, opts.reuse
	p.leaveOut(opts.Lost)
	if err := p.collectUnsealed(ctx, r.Recent, r.Shards); err != nil {
		return nil, err
	}
	return &Samples{p.completeUntil, func(yield func(*sample.Run, error) bool) { p.run(ctx, yield) }, p.Deleted}, nil
}

// plan is one read. Its field Unsealed has normalized runs of samples that may not be in a
// block.
type plan struct {
	scan.Scan
	store  store.Store
	starts []store.Bucket // from the directory
	large  []*sample.Run  // part of Unsealed while it is being gathered
	// since is the time from which on unsealed samples are gathered, with the last one before.
	since         int64
	deleted       store.Channel // the directory entry with the ranges that users have deleted
	completeUntil int64         // see Samples
}

// leaveOut makes the read leave out damaged blocks and note their samples, unless to is nil.
func (p *plan) leaveOut(to *Losses) {
	if to != nil {
		p.Damaged = to.leaveOut
	}
}

// newPlan returns a plan to read a PV. Buckets expire by the time now.
func newPlan(st store.Store, pv string, now int64) *plan {
	return &plan{Scan: scan.Scan{Store: st, PV: pv, Now: now}, store: st, completeUntil: Latest}
}

// collectUnsealed reads everything except the blocks. If the last sample before the range is deleted, an earlier
// one takes its place, so collectUnsealed reads again from an earlier time on.
func (p *plan) collectUnsealed(ctx context.Context, recent Recent, shards int) error {
	for {
		p.Unsealed = nil
		if err := p.collect(ctx, recent, shards); err != nil {
			return err
		}
		if !p.hidesBefore() {
			p.Prepare(p.starts)
			return nil
		}
		p.since = max(p.Deleted[0].From, Earliest) - 1
	}
}

// hidesBefore reports whether an unsealed sample at or before the time since is deleted.
func (p *plan) hidesBefore() bool {
	return len(p.Deleted) > 0 && max(p.Deleted[0].From, Earliest) <= p.since && slices.ContainsFunc(p.Unsealed, func(r *sample.Run) bool {
		return slices.ContainsFunc(r.Times, func(t int64) bool { return t <= p.since && p.Deleted.Hides(t) })
	})
}

// maxAhead is how far ahead of the present a deleted range may end: clocks may differ.
const maxAhead = int64(24 * time.Hour)

// collect reads everything except the blocks once, in the order that the package comment explains.
func (p *plan) collect(ctx context.Context, recent Recent, shards int) error {
	held := Held{Unanswered: true}
	if recent != nil {
		held = recent.Recent(ctx, RecentRequest{PV: p.PV, From: p.since, To: p.To})
	}
	if held.Missing != nil && p.To >= held.MissingFrom {
		return held.Missing
	}
	home := pvname.Shard(p.PV, shards)
	ch, found, claims, err := p.readDirectory(ctx, home)
	if err != nil {
		return err
	}
	if !found && !held.Known {
		if marked, err := isMarked(ctx, p.store, p.PV); err != nil || !marked {
			return cmp.Or(err, ErrUnknownPV)
		}
	}
	p.completeUntil = min(p.completeUntil, held.confirmedUntil())
	for _, shard := range held.in(ch.Shards, home, shards) {
		of := claims
		if shard != home {
			if of, err = p.store.Claims(ctx, shard); err != nil {
				return err
			}
		}
		p.completeUntil = min(p.completeUntil, held.completeUntil(shard, of, p.Now))
		if err := p.readJournal(ctx, shard, of, held.Covers); err != nil {
			return err
		}
	}
	for _, r := range held.Runs {
		p.gather(r)
	}
	if ch, _, err = p.store.Channel(ctx, p.PV); err != nil {
		return err
	}
	ch.LeaveOutFuture(p.Now + maxAhead)
	p.starts, p.deleted, p.Deleted = ch.Starts, ch, ch.Mask()
	p.Unsealed, p.large = append(p.Unsealed, p.large...), nil
	return nil
}

// in returns the shards that may have unsealed samples of the PV, sorted. listed are those in the directory.
func (h *Held) in(listed []int, home, shards int) []int {
	all := append(slices.Concat(listed, h.Shards), home)
	if !h.Known { // two engines may have captured it, and the directory knows that only once samples are sealed
		all = append(all, home+shards)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// readDirectory reads the PV's directory entry. At the same time it reads the claims of
// the PV's home shard, which the name of the PV determines.
func (p *plan) readDirectory(ctx context.Context, home int) (ch store.Channel, found bool, claims []store.Claim, err error) {
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
	w := &window{from: p.From, to: p.To, inside: p.Inside, lostUntil: p.LostUntil, yield: yield}
	if err := p.Run(ctx, w.hold, w.add); err != nil {
		yield(nil, err)
		return
	}
	w.close()
}

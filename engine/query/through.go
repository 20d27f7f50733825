package query

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"iter"
	"math"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Through is another archive that a reader reads through to: an older one, which has the samples from
// before this archive began to capture a PV. The caller sets its fields before use. Readers may share it.
//
//	          seam: first connection of this archive
//	────────────────────┼────────────────────▶ time
//	other archive       │
//	this archive, as    │ this archive
//	far as it has any   │
//
// Before the seam, a read has the samples of both archives, because imported samples, and the first value of
// a subscription, are older than the seam. It yields a sample once if both archives have it. After the seam,
// the other archive is not asked, even if samples of this one have expired.
//
// The seam is the first mark of this archive that the PV is connected. Marks of imports do not count, and
// marks are never deleted while the PV exists, so the seam does not move. A PV without such a mark has no seam:
// the other archive is asked for the whole range.
type Through struct {
	// Outside returns what the other archive knows of a PV, given its canonical name.
	Outside func(ctx context.Context, pv string) (Outside, error)
	// Samples yields the samples with times in [from, to], in ns since 1970, by time, and first the last
	// sample before from. If there is a sample at from, the one before it may be left out. Samples yields each
	// sample once. A run has one type and at least one sample, and is valid until the next one is requested. The
	// sequence is empty if the other archive does not know the PV, and ends after its first error.
	Samples func(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error]
	// Names returns the canonical names of all PVs of the other archive. The list may be up to a day old, and lack newer
	// PVs. The caller does not change it.
	Names func(ctx context.Context) ([]string, error)

	mu    sync.Mutex
	seams map[string]knownSeam
}

// knownSeam is a seam that was read from the store, and until when it counts. If the PV is deleted and
// captured again, it gets another seam.
type knownSeam struct{ at, until int64 }

// seamFor is how long a seam that was read counts.
const seamFor = int64(10 * time.Minute)

// Outside is what another archive knows of a PV.
type Outside struct {
	Known bool
	// Type is the latest type of its samples, or Unknown.
	Type sample.Type
	// Metadata may be nil.
	Metadata *sample.Metadata
}

// outside returns what the other archive knows of a PV that the sender of the request may know.
func (r *Reader) outside(ctx context.Context, pv string) (Outside, error) {
	if r.Through == nil {
		return Outside{}, nil
	}
	o, err := r.Through.Outside(ctx, r.outsideName(ctx, pv))
	return o, r.upstreamError(err)
}

// noPV returns a suffix. A name with this suffix is the name of no PV. The suffix differs between processes, so nobody can
// request such a name.
var noPV = sync.OnceValue(func() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return "-" + hex.EncodeToString(b)
})

// outsideName returns the name by which the other archive is asked for a PV. For a PV that the sender of the request may not
// know, this is a name that no PV has. So a read of a hidden PV takes the same steps as that of an unknown PV, and fails in
// the same way.
func (r *Reader) outsideName(ctx context.Context, pv string) string {
	pv = pvname.Canonical(pv)
	if r.Sees(ctx, pv) {
		return pv
	}
	end := noPV()
	return strings.ToValidUTF8(pv[:min(len(pv), pvname.MaxLen-len(end))], "") + end
}

// addOutside adds the matching names of the other archive that the sender of the request may know.
func (r *Reader) addOutside(ctx context.Context, found *namesFound, match func(pv string) bool) error {
	all, err := r.Through.Names(ctx)
	if err != nil {
		return r.upstreamError(err)
	}
	for _, pv := range all {
		if ctx.Err() != nil { // match may be slow
			return ctx.Err()
		}
		if r.Sees(ctx, pv) && match(pv) { // a match may have effects
			found.add(pv)
		}
	}
	return nil
}

// Seams of PVs that have none. With ownOnly, the other archive is never asked. With noSeam, it is asked for
// all times, because this archive has never been connected to the PV.
const (
	ownOnly = math.MinInt64
	noSeam  = Latest + 1
)

// seam returns the time before which the other archive is asked for samples, too, or ownOnly or noSeam. failed
// is the error of a read of this archive. If the other archive knows a PV that this one does not know, seam
// returns no error.
func (r *Reader) seam(ctx context.Context, pv string, failed error) (int64, error) {
	unknown := errors.Is(failed, ErrUnknownPV)
	switch {
	case r.Through == nil, failed != nil && !unknown, failed == nil && !r.Sees(ctx, pv):
		return ownOnly, failed
	case failed == nil:
		return r.Through.seam(ctx, r.Store, pvname.Canonical(pv), r.now())
	}
	o, err := r.outside(ctx, pv)
	if err == nil && !o.Known {
		err = ErrUnknownPV
	}
	return noSeam, err
}

// Seam returns the time, in ns since 1970, before which reads of a PV also have the samples of the other archive. It
// returns Earliest if there is no other archive, and Latest or later if this archive was never connected to the PV.
func (r *Reader) Seam(ctx context.Context, pv string) (int64, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		return r.named.throughSeam(ctx, list, err)
	}
	if r.Through == nil || !r.Sees(ctx, pv) {
		return Earliest, nil
	}
	return r.Through.seam(ctx, r.Store, pvname.Canonical(pv), r.now())
}

// maxSeams bounds the seams that are held in memory.
const maxSeams = 1 << 16

// seam returns the seam of a PV of this archive.
func (t *Through) seam(ctx context.Context, st store.Store, pv string, now int64) (int64, error) {
	t.mu.Lock()
	known, found := t.seams[pv]
	t.mu.Unlock()
	if found && now < known.until {
		return known.at, nil
	}
	at, err := firstConnected(ctx, st, pv)
	if err != nil || at == noSeam { // the mark may be on its way to the store
		return at, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seams == nil {
		t.seams = map[string]knownSeam{}
	}
	for old := range t.seams {
		if len(t.seams) < maxSeams {
			break
		}
		delete(t.seams, old) // any one
	}
	t.seams[pv] = knownSeam{at, now + seamFor}
	return at, nil
}

// firstConnected returns the time at which this archive was first connected to a PV, or noSeam.
func firstConnected(ctx context.Context, st store.Store, pv string) (int64, error) {
	for m, err := range st.Marks(ctx, pv, Earliest, Latest) {
		if err != nil {
			return noSeam, err
		}
		if m.Kind == sample.Connected && m.Writer != store.Imported {
			return m.Time, nil
		}
	}
	return noSeam, nil
}

// afterSeam is how long after the seam the other archive is asked for the last sample before a range. The
// time of the first sample here may be somewhat later than the seam, because another clock made it.
const afterSeam = int64(time.Minute)

// needsOutside reports whether a read from a time needs the other archive.
func needsOutside(seam, from int64, opts Options) bool {
	return from < seam || !opts.Inside && from-seam < afterSeam
}

// readThrough reads the samples of both archives.
func (r *Reader) readThrough(ctx context.Context, pv string, from, to int64, opts Options) (*Samples, error) {
	own, failed := r.readOwn(ctx, pv, from, to, opts)
	seam, err := r.seam(ctx, pv, failed)
	if err != nil {
		return nil, err
	}
	if own == nil {
		own = &Samples{CompleteUntil: Latest, All: func(func(*sample.Run, error) bool) {}}
	}
	from, to = max(from, Earliest), min(to, Latest)
	if seam == ownOnly || from > to || !needsOutside(seam, from, opts) && (opts.Inside || !own.deleted.Overlaps(seam, from)) {
		return own, nil // if samples since the seam are deleted, the last one before the range may be outside
	}
	last := min(to, seam-1)
	outside := func(yield func(*sample.Run, error) bool) {
		for run, err := range r.outsideKept(ctx, pv, min(from, last), last, own.deleted) {
			if !yield(run, r.upstreamError(err)) {
				return
			}
		}
	}
	return &Samples{own.CompleteUntil, func(yield func(*sample.Run, error) bool) {
		unite(own.All, outside, from, opts.Inside, yield)
	}, own.deleted}, nil
}

// countThrough counts the samples of both archives.
func (r *Reader) countThrough(ctx context.Context, pv string, from, to int64, lost *Losses) (c Count, err error) {
	_, failed := r.readOwn(ctx, pv, Latest, Latest, Options{Inside: true})
	seam, err := r.seam(ctx, pv, failed)
	if err != nil {
		return c, err
	}
	if seam <= from {
		return r.countOwn(ctx, pv, from, to, lost)
	}
	if seam > to {
		return c, nil // stored bins have nothing of the range
	}
	if c, err = r.countOwn(ctx, pv, seam, to, lost); err != nil || !c.Stored {
		return c, err
	}
	return c, c.addEdge(ctx, r, pv, from, seam-1, lost)
}

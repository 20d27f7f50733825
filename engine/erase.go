package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// Deletion is an order to delete the samples of PVs in a range of time.
type Deletion struct {
	// PVs are canonical names.
	PVs []string
	// From and To are the first and the last time of the range, in ns since 1970. To is in the past: samples that
	// come later are kept.
	From, To int64
	// Group and Reason say who deletes the samples, and why. A mark of each PV has them.
	Group, Reason string
	// Shard is the shard whose sealer removes the samples from blocks and rollups. If it is nil, this is the shard in
	// which the engine captures the PV, or the home shard of a PV that the engine does not capture.
	Shard *int
}

// Errors of Erase.
var (
	// ErrNotPast means that the range of a deletion has not ended.
	ErrNotPast = errors.New("the range to delete has not ended yet")
	// ErrNotFinalized means that the archive must be finalized first, because the former release would show the
	// deleted samples.
	ErrNotFinalized = fmt.Errorf("samples can be deleted only in an archive of format level %d or higher; finalize it with varve store finalize", store.DeletedRanges)
	// ErrTooManyRanges means that a PV has too many deleted ranges.
	ErrTooManyRanges = fmt.Errorf("the PV already has %d deleted ranges, the maximum", maxDeleted)
)

// maxDeleted is the maximum number of entries of deleted ranges of a PV: all reads of the PV compare with them.
const maxDeleted = 1000

// Erased is how far a deletion is.
type Erased struct {
	// Hidden is the number of PVs whose samples no reader sees any longer, and Removed of those whose samples are
	// also removed from blocks and rollups. Unknown is the number of PVs that the archive does not know.
	Hidden, Removed, Unknown int
	// FirstUnknown is the first of the PVs that the archive does not know, or "".
	FirstUnknown string
	// New is the number of PVs whose samples this call has hidden.
	New int
}

// HidesAll reports whether no reader sees samples of the n PVs of the deletion any longer. This may be so although Erase failed,
// because the removal from blocks and rollups comes later.
func (e *Erased) HidesAll(n int) bool { return e.Hidden == n }

// Erase deletes the samples of PVs in a range of time. When it returns, no reader sees these samples any longer, and they
// do not come back: neither from memory, the journal or a spool, nor by an import. Their erasure from blocks goes on in
// the background and takes more than an hour. The caller may repeat Erase, and must repeat it after an error and after a
// restart, until all known PVs are Removed.
//
// The PVs may be captured. Samples of the range that arrive later are dropped as Expired.
func (e *Engine) Erase(ctx context.Context, d Deletion) (out Erased, err error) {
	if now := e.clock.Earliest(); d.To >= now || d.From > d.To {
		return out, fmt.Errorf("deleting samples up to %s: %w", time.Unix(0, d.To).UTC().Format(time.RFC3339), ErrNotPast)
	}
	if level, err := e.opts.Store.FormatLevel(ctx); err != nil {
		return out, fmt.Errorf("deleting samples: %w", err)
	} else if level < store.DeletedRanges {
		return out, fmt.Errorf("deleting samples: the archive has format level %d: %w", level, ErrNotFinalized)
	}
	byShard := map[int][]string{}
	for _, pv := range d.PVs {
		c, known, err := e.hide(ctx, pv, &d)
		switch {
		case err != nil:
			return out, fmt.Errorf("deleting samples of %s: %w", pv, err)
		case !known:
			if out.Unknown++; out.Unknown == 1 {
				out.FirstUnknown = pv
			}
			continue
		}
		out.Hidden++
		if !slices.ContainsFunc(c.Deleted, d.is) {
			out.New++
		}
		shard := e.shardToErase(pv, d.Shard)
		if c.IsDone(store.Deleted{From: d.From, To: d.To}) {
			out.Removed++
			if h := e.holdingOf(shard); h != nil {
				h.erasures.end(pv, &d)
			}
			continue
		}
		if e.isSettled(pv, &d) {
			byShard[shard] = append(byShard[shard], pv)
		}
	}
	for shard, pvs := range byShard {
		if err := e.eraseIn(ctx, shard, pvs, &d); err != nil {
			return out, fmt.Errorf("deleting samples from shard %d: %w", shard, err)
		}
	}
	return out, nil
}

// settleTime is how long bins of a PV may wait before they are written to tiles, without the time between checkpoints.
const settleTime = time.Hour

// isSettled reports whether the removal of samples of a PV may begin. The sealer that captured the PV until recently, in
// another shard or another engine, may not know the range yet. Its last blocks and tiles must come before the removal.
func (e *Engine) isSettled(pv string, d *Deletion) bool {
	_, captured := e.capture.Shard(pv)
	return captured || e.clock.Earliest()-d.To >= int64(settleTime+2*e.opts.Checkpoint)
}

// shardToErase returns the shard whose sealer removes samples of a PV. ordered may be nil.
func (e *Engine) shardToErase(pv string, ordered *int) int {
	if ordered != nil {
		return *ordered
	}
	if shard, captured := e.capture.Shard(pv); captured {
		return shard
	}
	return pvname.Shard(pv, e.opts.Shards)
}

// hide makes readers and sealers leave out the samples of a PV in the range of a deletion, and marks that. It returns
// the directory entry before that. known is false if the archive does not know the PV.
func (e *Engine) hide(ctx context.Context, pv string, d *Deletion) (c store.Channel, known bool, err error) {
	c, found, err := e.opts.Store.Channel(ctx, pv)
	if err != nil {
		return c, false, err
	}
	if _, captured := e.capture.Shard(pv); !found && !captured {
		for _, err := range e.opts.Store.LatestMarks(ctx, pv, e.clock.Now().Now) {
			if err != nil {
				return c, false, err
			}
			found = true
			break
		}
		if !found {
			return c, false, nil
		}
	}
	if slices.ContainsFunc(c.Deleted, d.is) {
		return c, true, nil
	}
	if len(c.Deleted) >= maxDeleted {
		return c, true, ErrTooManyRanges
	}
	m := d.mark(e.clock.Now().Now)
	if err := e.opts.Store.PutMarks(ctx, store.PVMark{PV: pv, Writer: deleter(d), Mark: m}); err != nil {
		return c, true, err
	}
	return c, true, e.opts.Store.AddChannel(ctx, store.Channel{PV: pv, Deleted: []store.Deleted{{From: d.From, To: d.To}}})
}

// mark returns the mark of a deletion that is carried out now. A range without a beginning is marked at its end, because
// nobody reads marks from before 1900.
func (d *Deletion) mark(now int64) sample.Mark {
	m := sample.Mark{Time: d.From, End: d.To, Kind: sample.SamplesDeleted}
	what := "deleted at "
	if d.From < scan.Earliest {
		m.Time, m.End, what = d.To, 0, "all earlier samples deleted at "
	}
	m.Text = fmt.Sprintf("%s: %s (%s%s)", d.Group, d.Reason, what, time.Unix(0, now).UTC().Format(time.RFC3339))
	return m
}

// is reports whether a range in the directory is that of the deletion.
func (d *Deletion) is(was store.Deleted) bool { return was.From == d.From && was.To == d.To }

// deleter returns the writer of the marks of a deletion. It depends on the range only, so a deletion that is repeated
// makes no second mark.
func deleter(d *Deletion) (w store.WriterID) {
	var key [16]byte
	binary.BigEndian.PutUint64(key[:], uint64(d.From))
	binary.BigEndian.PutUint64(key[8:], uint64(d.To))
	sum := sha256.Sum256(key[:])
	copy(w[:], sum[:])
	return w
}

// eraseIn removes the deleted samples of PVs from the memory, the rollups and the blocks of a shard.
func (e *Engine) eraseIn(ctx context.Context, shard int, pvs []string, d *Deletion) error {
	h := e.holdingOf(shard)
	if h == nil {
		return ErrNotSealing
	}
	sealer, pvs := h.erasures.notBegun(h, pvs, d)
	if sealer == nil {
		return ErrNotSealing
	}
	if len(pvs) == 0 {
		return nil
	}
	if err := sealer.Erase(ctx, pvs); err != nil {
		if seal.IsOver(err) || h.sealerNow() != sealer { // another engine leads
			return fmt.Errorf("%w: %w", ErrNotSealing, err)
		}
		return err
	}
	h.erasures.begin(sealer, pvs, d)
	return nil
}

func (e *Engine) holdingOf(shard int) *holding {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.held[shard]
}

// erasures are the deletions that the sealer of a holding has begun. A sealer need not begin twice. A new sealer begins
// again, because it does not know how far the last one was.
type erasures struct {
	mu    sync.Mutex
	by    *seal.Shard
	begun map[erasure]bool
}

type erasure struct {
	pv       string
	from, to int64
}

// notBegun returns the sealer of a holding, and the PVs whose deletion it has not begun. The sealer is nil while the holding
// does not seal.
func (s *erasures) notBegun(h *holding, pvs []string, d *Deletion) (sealer *seal.Shard, rest []string) {
	sealer = h.sealerNow()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by != sealer {
		s.by, s.begun = sealer, nil
	}
	return sealer, slices.DeleteFunc(pvs, func(pv string) bool { return s.begun[erasure{pv, d.From, d.To}] })
}

// begin notes that a sealer has begun a deletion.
func (s *erasures) begin(sealer *seal.Shard, pvs []string, d *Deletion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by != sealer {
		return
	}
	if s.begun == nil {
		s.begun = map[erasure]bool{}
	}
	for _, pv := range pvs {
		s.begun[erasure{pv, d.From, d.To}] = true
	}
}

// end forgets a deletion that is done.
func (s *erasures) end(pv string, d *Deletion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.begun, erasure{pv, d.From, d.To})
}

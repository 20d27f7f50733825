package journal

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Head holds the samples of one PV and one type that are not in a block yet, in
// order of arrival:
//
//	run: ├─ acked: durable in the journal ─┤─ flushed: in the row under way ─┤─ new ─┤
//	                                       └─ or in the spool: they leave ───┘
//
// A PV whose type changes gets another head, and the old head is removed once it is
// empty. The lock of the shard journal is taken before the lock of a head.
type Head struct {
	mu             sync.Mutex
	dirty          bool // in the dirty list of the shard journal, or being flushed
	retired        bool // no more samples will be appended
	last           bool // retired because the capture ended: no other head of the PV follows
	run            sample.Run
	first          uint64    // samples that left the run at its beginning
	acked, flushed int       // samples from the start of run; acked ≤ flushed
	due            int       // new samples that the pass under way still has to write
	segments       []segment // of the acked samples, in order
	size           int       // bytes last counted in Memory

	PV      string
	typ     sample.Type
	journal *ShardJournal
	stored  atomic.Uint64 // samples ever acknowledged
	lost    atomic.Uint64 // samples dropped for lack of memory
}

// segment is the samples of a head that are in the rows of one partition. last is the position
// of the latest of these rows.
type segment struct {
	last store.Position
	n    int
}

const segmentBytes = 16

// Values of at least largeValue bytes count as memory at once instead of at the next flush. A
// head holds less than maxBytes of values, because releasing samples copies the values that
// stay.
const (
	largeValue = 64 << 10
	maxBytes   = 512 << 20
)

// add appends a sample to the run.
func (h *Head) add(s *sample.Sample) {
	h.mu.Lock()
	h.run.Append(s)
	first := !h.dirty
	h.dirty = true
	h.mu.Unlock()
	if first {
		h.journal.markDirty(h)
	}
}

// addLarge appends a sample with a large value. If memory has no room for it, the head drops
// the oldest samples that are in no row yet until there is room. If that is not enough, it
// drops the new sample. Only this bounds the memory of large values that arrive before Run
// calls shed. The results are those of shed.
func (h *Head) addLarge(s *sample.Sample) (n int, from, to int64) {
	h.mu.Lock()
	n, from, to, first := h.makeRoomAndAddLocked(s)
	h.mu.Unlock()
	if first { // without h.mu: the lock of the shard journal is taken first
		h.journal.markDirty(h)
	}
	return n, from, to
}

// makeRoomAndAddLocked does the work of addLarge. It also reports whether this is the
// head's first new sample, so that the caller must mark the head dirty.
func (h *Head) makeRoomAndAddLocked(s *sample.Sample) (n int, from, to int64, first bool) {
	fits := func() bool {
		return h.journal.mem.fits(len(s.Bytes)) && len(h.run.Bytes)+len(s.Bytes) < maxBytes
	}
	if waiting := h.run.Len() - h.flushed; !fits() && waiting > 0 {
		free := 0
		for n < waiting && (free < len(s.Bytes) || n < waiting/4) { // many at once, because the rest is copied
			free += len(h.run.Value(h.flushed + n))
			n++
		}
		from, to = h.dropNewLocked(n)
	}
	if !fits() {
		if n == 0 {
			from, to = s.Time, s.Time
		}
		h.lost.Add(1)
		return n + 1, min(from, s.Time), max(to, s.Time), false
	}
	h.run.Append(s)
	h.accountLocked()
	first = !h.dirty
	h.dirty = true
	return n, from, to, first
}

// Type returns the type of the head's samples.
func (h *Head) Type() sample.Type { return h.typ }

// Stored returns how many samples were acknowledged by the store.
func (h *Head) Stored() uint64 { return h.stored.Load() }

// Lost returns how many samples were dropped for lack of memory.
func (h *Head) Lost() uint64 { return h.lost.Load() }

// Retire declares that no more samples will be appended.
func (h *Head) Retire() {
	h.journal.deliverArrivals()
	h.mu.Lock()
	h.retired = true
	h.mu.Unlock()
}

// End retires the last head of a PV whose capture ends. Its samples are urgent: until they are in
// blocks, the directory may not know the PV, and no search finds it.
func (h *Head) End() {
	h.Retire()
	h.mu.Lock()
	h.last = true
	urgent := h.urgentLocked()
	h.mu.Unlock()
	if urgent {
		h.journal.urgent.Store(true)
	}
}

// Acked returns how many samples are durable in the journal but not yet in a block.
func (h *Head) Acked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acked
}

// Durable returns how many samples of the head have ever become durable in the journal, without
// those that left it by the spool.
func (h *Head) Durable() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first + uint64(h.acked)
}

// Unsealed sets dst to the first samples that are durable in the journal but not yet in a
// block. It sets dst to all of them, or to as many as take up to most bytes of memory, but at
// least one. It returns how many samples, of those that Durable counts, are in dst or left the
// head before: the argument of Sealed. The head still owns the memory of the values, and the
// caller must not write to it.
func (h *Head) Unsealed(dst *sample.Run, most int) (through uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.acked
	if h.run.Size() > most {
		n = h.countWithinLocked(n, most)
	}
	h.run.Part(dst, 0, n)
	return h.first + uint64(n)
}

// countWithinLocked returns how many of the first n samples take up to most bytes, but
// at least 1 if n > 0.
func (h *Head) countWithinLocked(n, most int) int {
	const beside = 16 // bytes that a sample takes besides its value, unless its type is Fixed
	if h.run.Type.Fixed() {
		return min(n, max(1, most/(beside+4)))
	}
	for i := range n {
		if end := int(h.run.Ends[i]) + (i+1)*beside; end > most {
			return max(1, i)
		}
	}
	return n
}

// Sealed drops the samples of Unsealed, because they are now in acknowledged blocks. Some of them
// may have been released meanwhile.
func (h *Head) Sealed(through uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if through > h.first {
		h.dropLocked(int(through - h.first))
	}
}

// SealedBefore returns a position that is before all rows with samples of the head that are durable
// and not sealed.
func (h *Head) SealedBefore() store.Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.segments) == 0 {
		return math.MaxUint64
	}
	return store.At(h.segments[0].last.N(), 0)
}

// release drops all samples that are durable in the journal.
func (h *Head) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.acked > 0 {
		h.dropLocked(h.acked)
	}
}

// dropLocked drops the first n samples, which are acked.
func (h *Head) dropLocked(n int) {
	h.run.DropFirst(n)
	h.first += uint64(n)
	h.acked -= n
	h.flushed -= n
	whole := 0
	for whole < len(h.segments) && n >= h.segments[whole].n {
		n -= h.segments[whole].n
		whole++
	}
	h.segments = slices.Delete(h.segments, 0, whole)
	if n > 0 {
		h.segments[0].n -= n
	}
	h.accountLocked()
}

// giveUp drops the samples of every partition whose latest row is at or before a position.
func (h *Head) giveUp(to store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, s := range h.segments {
		if s.last > to {
			break
		}
		n += s.n
	}
	if n > 0 {
		h.dropLocked(n)
	}
}

// forget drops all samples. The caller guarantees that no more samples are appended.
func (h *Head) forget() {
	h.mu.Lock()
	h.run, h.segments = sample.Run{Type: h.run.Type}, nil
	h.acked, h.flushed, h.due = 0, 0, 0
	h.accountLocked()
	h.mu.Unlock()
}

// Done reports whether the head is retired and empty, so that it no longer changes.
func (h *Head) Done() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.retired && h.run.Len() == 0
}

// releaseIfDone reports whether the head is done. If it is, it also frees its memory.
func (h *Head) releaseIfDone() bool {
	done := h.Done()
	if done {
		h.forget()
	}
	return done
}

// unsaved counts the samples that are in no acknowledged row.
func (h *Head) unsaved() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.run.Len() - h.acked
}

// snapshot returns a copy of the samples with times in [from, to], and those with the last time
// at or before from. The head still owns the memory of the values, and the caller must not
// write to it.
func (h *Head) snapshot(from, to int64) *sample.Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.run.Within(from, to); r != &h.run {
		return r
	}
	return h.run.Share()
}

// large reports whether the next new sample has a large value.
func (h *Head) large() bool {
	if h.typ.Fixed() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.flushed < h.run.Len() && len(h.run.Value(h.flushed)) >= largeValue
}

// flush adds new samples to a row until its body has limit bytes. part is scratch. A pass
// takes at most one row from each head, so that no PV delays the others. more is true if this
// pass must take further samples from the head. later is true if the remaining samples wait
// for the next pass.
func (h *Head) flush(e *rowEncoder, limit int, part *sample.Run) (more, later bool) {
	h.mu.Lock()
	h.accountLocked()
	n := 0
	if waiting := h.run.Len() - h.flushed; waiting > 0 {
		if h.due == 0 {
			h.due = h.countFittingLocked(waiting, limit)
		}
		n = h.countFittingLocked(h.due, limit-len(e.body))
		h.run.Part(part, h.flushed, h.flushed+n)
		h.flushed += n
		h.due -= n
		more = h.due > 0
		later = !more && n < waiting
	}
	h.dirty = more || later
	h.mu.Unlock()
	if later {
		h.journal.markDirty(h)
	}
	if n > 0 {
		e.add(h.PV, part) // without the lock, because encoding large values takes time
	}
	return more, later
}

// countFittingLocked returns how many of the next waiting new samples take up to room bytes in
// the worst encoding, but at least 1.
func (h *Head) countFittingLocked(waiting, room int) int {
	waiting = min(waiting, block.MaxSamples)
	if h.run.Type.Fixed() {
		const worst = 20 // bytes per sample
		if waiting*worst <= room {
			return waiting
		}
		return max(1, room/worst)
	}
	n := 0
	for n < waiting && (n == 0 || room > 0) {
		room -= len(h.run.Value(h.flushed+n)) + 16
		n++
	}
	return n
}

// ack records that all samples in the row under way are durable at a position.
func (h *Head) ack(at store.Position) {
	h.mu.Lock()
	n := h.flushed - h.acked
	if last := len(h.segments) - 1; n == 0 {
		// An earlier run of the head in the same row has been counted.
	} else if last >= 0 && h.segments[last].last.N() == at.N() {
		h.segments[last] = segment{last: at, n: h.segments[last].n + n}
	} else {
		h.segments = append(h.segments, segment{last: at, n: n})
	}
	h.stored.Add(uint64(n))
	h.acked = h.flushed
	if h.urgentLocked() {
		h.journal.urgent.Store(true)
	}
	h.mu.Unlock()
}

// spooled drops all samples in the rows under way, because they are now in the spool.
func (h *Head) spooled() {
	h.mu.Lock()
	h.run.Cut(h.acked, h.flushed)
	h.flushed = h.acked
	h.accountLocked()
	h.mu.Unlock()
}

// revert makes the samples of the row under way new again, because that row was abandoned.
func (h *Head) revert() {
	h.mu.Lock()
	first := !h.dirty && h.flushed > h.acked
	h.flushed, h.due = h.acked, 0
	h.dirty = h.dirty || first
	h.mu.Unlock()
	if first {
		h.journal.markDirty(h)
	}
}

// heavy is how many bytes of durable values make a head urgent, because a reader must hold all
// unsealed values in memory.
const heavy = 32 << 20

// Urgent reports whether the sealer must seal the durable samples of the head before the next
// checkpoint.
func (h *Head) Urgent() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.urgentLocked()
}

func (h *Head) urgentLocked() bool {
	return h.acked > 0 && (h.last || !h.typ.Fixed() && h.run.Ends[h.acked-1] > heavy)
}

// shed drops a fraction of the samples that are in no row yet, the oldest first. It
// returns their number, and the earliest and the latest of their times. It adds the part of a sample
// that it could not drop to rest, and drops one more sample when rest is a whole one. So many
// heads with few samples each drop the fraction together.
func (h *Head) shed(fraction float64, rest *float64) (n int, from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*rest += fraction * float64(h.run.Len()-h.flushed)
	if n = min(int(*rest), h.run.Len()-h.flushed); n == 0 {
		return 0, 0, 0
	}
	*rest -= float64(n)
	from, to = h.dropNewLocked(n)
	return n, from, to
}

// dropNewLocked drops the first n samples that are in no row yet, and returns the earliest and
// the latest of their times.
func (h *Head) dropNewLocked(n int) (from, to int64) {
	dropped := h.run.Times[h.flushed : h.flushed+n]
	from, to = slices.Min(dropped), slices.Max(dropped) // an IOC's clock may be set back
	rest := sample.Run{Type: h.run.Type}
	rest.AppendRange(&h.run, 0, h.flushed)
	rest.AppendRange(&h.run, h.flushed+n, h.run.Len())
	h.run = rest
	h.due = min(h.due, h.run.Len()-h.flushed)
	h.lost.Add(uint64(n))
	h.accountLocked()
	return from, to
}

// updateMemory counts the present size of the head in Memory.
func (h *Head) updateMemory() {
	h.mu.Lock()
	h.accountLocked()
	h.mu.Unlock()
}

// accountLocked adds the change of the head's size to Memory.
func (h *Head) accountLocked() {
	now := h.run.Size() + segmentBytes*cap(h.segments)
	h.journal.mem.add(int64(now - h.size))
	h.size = now
}

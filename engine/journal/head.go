package journal

import (
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Head holds the samples of a PV and a type that are not in a block yet, in
// order of arrival:
//
//	run: ├─ acked: durable in the journal ─┤─ flushed: in the row under way ─┤─ new ─┤
//	                                       └─ or in the spool: they leave ───┘
//
// A PV whose type changes gets another head; the old one empties and goes. The lock
// of its shardJournal is taken before that of a head.
type Head struct {
	mu             sync.Mutex
	dirty          bool // in shardJournal.dirty, or being flushed
	retired        bool // no sample will be appended any more
	run            sample.Run
	acked, flushed int       // samples from the start of run; acked ≤ flushed
	due            int       // new samples that the pass under way takes
	stretches      []stretch // of the acked samples, in order
	size           int       // bytes last told to the shardJournal

	PV           string
	typ          sample.Type
	shardJournal *ShardJournal
	stored       atomic.Uint64 // samples ever acknowledged
	lost         atomic.Uint64 // samples dropped for want of memory
}

// stretch is samples of a head that stand in the rows of one partition, the
// latest of which is at last.
type stretch struct {
	last store.Position
	n    int
}

const stretchBytes = 16

// Values from largeValue bytes on count as memory at once, and not only at the next
// flush. A head holds less than maxBytes of values: it is copied when some are given
// up.
const (
	largeValue = 64 << 10
	maxBytes   = 512 << 20
)

// add puts a sample into the run.
func (h *Head) add(s *sample.Sample) {
	h.mu.Lock()
	h.run.Append(s)
	first := !h.dirty
	h.dirty = true
	h.mu.Unlock()
	if first {
		h.shardJournal.markDirty(h)
	}
}

// addLarge is add for a large value: if memory has no room for it, the head gives
// up samples that are in no row yet, the oldest first, until there is, or else the
// new one. Nothing else bounds what arrives before Run comes to shed. It returns
// what shed does.
func (h *Head) addLarge(s *sample.Sample) (n int, from, to int64) {
	h.mu.Lock()
	n, from, to, first := h.makeRoomAndAdd(s)
	h.mu.Unlock()
	if first { // without the lock, which is taken after the shardJournal's
		h.shardJournal.markDirty(h)
	}
	return n, from, to
}

// makeRoomAndAdd is addLarge, but that it reports whether the shardJournal has to be told of
// the head's first new sample. It needs the lock.
func (h *Head) makeRoomAndAdd(s *sample.Sample) (n int, from, to int64, first bool) {
	fits := func() bool {
		return h.shardJournal.mem.fits(len(s.Bytes)) && len(h.run.Bytes)+len(s.Bytes) < maxBytes
	}
	if waiting := h.run.Len() - h.flushed; !fits() && waiting > 0 {
		free := 0
		for n < waiting && (free < len(s.Bytes) || n < waiting/4) { // not one by one: what stays is copied
			free += len(h.run.Value(h.flushed + n))
			n++
		}
		from, to = h.dropNew(n)
	}
	if !fits() {
		if n == 0 {
			from = s.Time
		}
		h.lost.Add(1)
		return n + 1, from, s.Time, false
	}
	h.run.Append(s)
	h.resize()
	first = !h.dirty
	h.dirty = true
	return n, from, to, first
}

// Type returns the type of the head's samples.
func (h *Head) Type() sample.Type { return h.typ }

// Stored returns how many samples were acknowledged by the store.
func (h *Head) Stored() uint64 { return h.stored.Load() }

// Lost returns how many samples were dropped for want of memory.
func (h *Head) Lost() uint64 { return h.lost.Load() }

// Retire says that no sample will be appended any more.
func (h *Head) Retire() {
	h.shardJournal.settle()
	h.mu.Lock()
	h.retired = true
	h.mu.Unlock()
}

// Acked returns how many samples are durable in the journal but in no block yet.
func (h *Head) Acked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acked
}

// Unsealed sets dst to the first samples that are durable in the journal but in no
// block yet, and returns how many they are: all, or those that take up to most
// bytes of memory, at least one. The memory of their values is the head's own, and
// must not be written to.
func (h *Head) Unsealed(dst *sample.Run, most int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.acked
	if h.run.Size() > most {
		n = h.within(n, most)
	}
	h.run.Part(dst, 0, n)
	return n
}

// within returns how many of the first n samples take up to most bytes; at least 1
// of some. It needs the lock.
func (h *Head) within(n, most int) int {
	const beside = 16 // bytes of a sample beside a value that is not Fixed
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

// Sealed gives up the first n samples of Unsealed, which stand in acknowledged
// blocks now.
func (h *Head) Sealed(n int) {
	h.mu.Lock()
	h.drop(n)
	h.mu.Unlock()
}

// drop gives up the first n samples, which are acked. It needs the lock.
func (h *Head) drop(n int) {
	h.run.DropFirst(n)
	h.acked -= n
	h.flushed -= n
	whole := 0
	for whole < len(h.stretches) && n >= h.stretches[whole].n {
		n -= h.stretches[whole].n
		whole++
	}
	h.stretches = slices.Delete(h.stretches, 0, whole)
	if n > 0 {
		h.stretches[0].n -= n
	}
	h.resize()
}

// giveUp drops the samples whose rows, and those of their partition, stand at or
// before a position.
func (h *Head) giveUp(to store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, s := range h.stretches {
		if s.last > to {
			break
		}
		n += s.n
	}
	if n > 0 {
		h.drop(n)
	}
}

// forget drops everything: the head must take no sample any more.
func (h *Head) forget() {
	h.mu.Lock()
	h.run, h.stretches = sample.Run{Type: h.run.Type}, nil
	h.acked, h.flushed, h.due = 0, 0, 0
	h.resize()
	h.mu.Unlock()
}

// Done reports whether the head is retired and empty: nothing of it will change.
func (h *Head) Done() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.retired && h.run.Len() == 0
}

// over reports whether the head is done, and then lets go of its memory.
func (h *Head) over() bool {
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

// snapshot returns a copy of all samples, or nil if there is none. The memory of
// their values is the head's own, and must not be written to.
func (h *Head) snapshot() *sample.Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run.Len() == 0 {
		return nil
	}
	return h.run.Share()
}

// large reports whether the next sample that is new has a large value.
func (h *Head) large() bool {
	if h.typ.Fixed() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.flushed < h.run.Len() && len(h.run.Value(h.flushed)) >= largeValue
}

// flush adds new samples to a row until its body has limit bytes; part is scratch.
// Of a head no more than a row is due in a pass, so that no PV keeps others waiting
// for longer. It reports whether more of that is due, and else whether the head has
// more for the next pass.
func (h *Head) flush(e *rowEncoder, limit int, part *sample.Run) (more, later bool) {
	h.mu.Lock()
	h.resize()
	n := 0
	if waiting := h.run.Len() - h.flushed; waiting > 0 {
		if h.due == 0 {
			h.due = h.fit(waiting, limit)
		}
		n = h.fit(h.due, limit-len(e.body))
		h.run.Part(part, h.flushed, h.flushed+n)
		h.flushed += n
		h.due -= n
		more = h.due > 0
		later = !more && n < waiting
	}
	h.dirty = more || later
	h.mu.Unlock()
	if later {
		h.shardJournal.markDirty(h)
	}
	if n > 0 {
		e.add(h.PV, part) // without the lock: of large values it takes time
	}
	return more, later
}

// fit returns how many of some new samples take up to room bytes, encoded at worst;
// at least 1. It needs the lock.
func (h *Head) fit(waiting, room int) int {
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

// ack says that everything in the row under way is durable, at a position.
func (h *Head) ack(at store.Position) {
	h.mu.Lock()
	n := h.flushed - h.acked
	if last := len(h.stretches) - 1; n == 0 {
		// the row holds several runs of the head
	} else if last >= 0 && h.stretches[last].last.N() == at.N() {
		h.stretches[last] = stretch{last: at, n: h.stretches[last].n + n}
	} else {
		h.stretches = append(h.stretches, stretch{last: at, n: n})
	}
	h.stored.Add(uint64(n))
	h.acked = h.flushed
	if h.acked > 0 && !h.typ.Fixed() && h.run.Ends[h.acked-1] > heavy {
		h.shardJournal.heavy.Store(true)
	}
	h.mu.Unlock()
}

// spooled says that everything in the rows under way is in the spool: it leaves
// memory.
func (h *Head) spooled() {
	h.mu.Lock()
	h.run.Cut(h.acked, h.flushed)
	h.flushed = h.acked
	h.resize()
	h.mu.Unlock()
}

// revert says that there is no row under way any more: what was in it is new again.
func (h *Head) revert() {
	h.mu.Lock()
	first := !h.dirty && h.flushed > h.acked
	h.flushed, h.due = h.acked, 0
	h.dirty = h.dirty || first
	h.mu.Unlock()
	if first {
		h.shardJournal.markDirty(h)
	}
}

// heavy is how many bytes of durable values make a head heavy: they are sealed
// without waiting for a checkpoint, as who reads the PV holds all that is not.
const heavy = 32 << 20

// Heavy reports whether the head is heavy.
func (h *Head) Heavy() bool {
	if h.typ.Fixed() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acked > 0 && h.run.Ends[h.acked-1] > heavy
}

// shed drops a fraction of the samples that are in no row yet, the oldest
// first, and returns how many they were and the times of the first and the last.
func (h *Head) shed(fraction float64) (n int, from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = int(fraction * float64(h.run.Len()-h.flushed))
	if n == 0 {
		return 0, 0, 0
	}
	from, to = h.dropNew(n)
	return n, from, to
}

// dropNew drops the first n samples that are in no row yet, and returns the times of
// the first and the last. It needs the lock.
func (h *Head) dropNew(n int) (from, to int64) {
	from, to = h.run.Times[h.flushed], h.run.Times[h.flushed+n-1]
	rest := sample.Run{Type: h.run.Type}
	rest.AppendRange(&h.run, 0, h.flushed)
	rest.AppendRange(&h.run, h.flushed+n, h.run.Len())
	h.run = rest
	h.due = min(h.due, h.run.Len()-h.flushed)
	h.lost.Add(uint64(n))
	h.resize()
	return from, to
}

// measure brings the account of memory up to date.
func (h *Head) measure() {
	h.mu.Lock()
	h.resize()
	h.mu.Unlock()
}

// resize tells the shardJournal how the memory taken has changed. It needs the lock.
func (h *Head) resize() {
	now := h.run.Size() + stretchBytes*cap(h.stretches)
	h.shardJournal.mem.add(int64(now - h.size))
	h.size = now
}

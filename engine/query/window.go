package query

import (
	"sort"

	"varve.dev/varve/engine/sample"
)

const (
	// chunkSamples is the maximum number of samples of a yielded run, and chunkBytes is its
	// size limit in bytes.
	chunkSamples = 4096
	chunkBytes   = 256 << 10
	// viewSamples is the number of samples from which a run is yielded without copying it into
	// a longer run. viewBytes is the corresponding size of a single value.
	viewSamples = 256
	viewBytes   = 64 << 10
)

// window cuts a merged sequence to the range and puts the last sample before the range in
// front. It gathers the samples into runs of one type.
type window struct {
	from, to int64
	inside   bool
	// lostUntil is Scan.LostUntil.
	lostUntil func() int64
	yield     func(*sample.Run, error) bool

	before sample.Run // the last sample before from, until it is yielded
	chunk  sample.Run // gathered, not yet yielded
	view   sample.Run // shares its memory with a run of the merge
	one    sample.Run // shares the memory of a large value
	ended  bool       // the consumer has stopped
}

// hold keeps the carried-forward copy of a sample before the range. The argument is nil if
// there is none. The window yields the copy unless a later sample before the range follows.
func (w *window) hold(carriedForward *sample.Run) {
	if carriedForward != nil {
		w.before = *carriedForward
		w.before.Tags[0] &^= sample.CarriedForward
	}
}

// add adds samples i to j (exclusive) of r. The caller adds samples in order of time. add
// reports whether the consumer wants more samples.
func (w *window) add(r *sample.Run, i, j int) bool {
	if r.Times[j-1] > w.to {
		j = i + sort.Search(j-i, func(k int) bool { return r.Times[i+k] > w.to })
	}
	if i < j && r.Times[i] < w.from {
		in := i + sort.Search(j-i, func(k int) bool { return r.Times[i+k] >= w.from })
		w.keep(r, in-1)
		i = in
	}
	if i == j {
		return true
	}
	if w.before.Len() > 0 {
		if r.Times[i] > w.from {
			w.flushBefore()
		}
		w.before.Reset(sample.Unknown)
	}
	return w.put(r, i, j)
}

// keep keeps sample i of r as the last sample before the range.
func (w *window) keep(r *sample.Run, i int) {
	if w.inside || w.before.Len() > 0 && w.before.Times[0] > r.Times[i] {
		return
	}
	w.before.Reset(r.Type)
	w.before.AppendRange(r, i, i+1)
}

// flushBefore puts the last sample before the range into the chunk, unless a later one is lost.
func (w *window) flushBefore() {
	if w.before.Times[0] < w.lostUntil() {
		return
	}
	w.chunk.Reset(w.before.Type)
	w.chunk.AppendRange(&w.before, 0, 1)
}

// put adds samples in the range to the chunk, or yields them without copying.
func (w *window) put(r *sample.Run, i, j int) bool {
	if j-i >= viewSamples && r.Type.Fixed() {
		return w.flush() && w.yieldView(r, i, j)
	}
	for i < j {
		if !r.Type.Fixed() && len(r.Value(i)) >= viewBytes {
			if !w.flush() {
				return false
			}
			if r.Part(&w.one, i, i+1); !w.pass(&w.one) {
				return false
			}
			i++
			continue
		}
		if w.chunk.Len() > 0 && (w.chunk.Type != r.Type || w.full()) && !w.flush() {
			return false
		}
		if w.chunk.Len() == 0 {
			w.chunk.Reset(r.Type)
		}
		n := 1 // byte values one by one, because each may be large
		if r.Type.Fixed() {
			n = min(j-i, chunkSamples-w.chunk.Len())
		}
		w.chunk.AppendRange(r, i, i+n)
		i += n
	}
	return true
}

func (w *window) full() bool { return w.chunk.Len() >= chunkSamples || w.chunk.Size() >= chunkBytes }

// yieldView yields samples of a Fixed type without copying them.
func (w *window) yieldView(r *sample.Run, i, j int) bool {
	for ; i < j; i += chunkSamples {
		k := min(i+chunkSamples, j)
		w.view = sample.Run{Type: r.Type, Times: r.Times[i:k:k], Tags: r.Tags[i:k:k], Words: r.Words[i:k:k]}
		if !w.pass(&w.view) {
			return false
		}
	}
	return true
}

func (w *window) flush() bool {
	if w.chunk.Len() == 0 {
		return !w.ended
	}
	more := w.pass(&w.chunk)
	w.chunk.Reset(sample.Unknown)
	return more
}

func (w *window) pass(r *sample.Run) bool {
	w.ended = w.ended || !w.yield(r, nil)
	return !w.ended
}

// close yields the remaining samples.
func (w *window) close() {
	if w.ended {
		return
	}
	if w.before.Len() > 0 { // no sample at or after from
		w.flushBefore()
	}
	w.flush()
}

package mark

import (
	"fmt"
	"sync"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// maxGap is the longest time, in ns, between two losses of a PV that wait as one mark.
const maxGap = int64(10 * time.Second)

// waiting is what a Log knows of the marks that wait for the store. It holds at most one loss per
// PV and reason that may grow, a note per PV of dropped marks, and a few marks per shard. What a wrong clock may
// have timed stays apart from the rest.
type waiting struct {
	mu      sync.Mutex
	losses  map[lossKey]*loss
	dropped map[noteKey]note
	shards  map[int][]sample.Mark
}

// loss is the mark of a loss that may still grow. guess says how its times can be corrected.
type loss struct {
	sample.Mark
	guess guess
}

type lossKey struct {
	pv      string
	reason  sample.Reason
	guessed bool // nothing is known of the clock that gave the times
}

type noteKey struct {
	pv      string
	guessed bool // nothing is known of the clock that gave the times
}

// note has the times, in ns since 1970, and the number of the dropped marks of a PV. guess says how all their times can be
// corrected.
type note struct {
	from, to int64
	n        int
	guess    guess
}

// addLoss adds a loss to the waiting one of the same PV and reason if they follow each other, and
// returns nil. Otherwise it returns a new one, which the caller must queue.
func (w *waiting) addLoss(key lossKey, m loss) *loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.losses[key]; l != nil && m.Time-l.End <= maxGap && l.Time-m.End <= maxGap && m.Text == l.Text {
		l.Time, l.End, l.Count = min(l.Time, m.Time), max(l.End, m.End), l.Count+m.Count
		l.guess = l.guess.with(m.guess)
		return nil
	}
	if w.losses == nil {
		w.losses = map[lossKey]*loss{}
	}
	w.losses[key] = &m
	return &m
}

// finish returns an entry whose mark does not grow any more.
func (w *waiting) finish(e entry) entry {
	if e.loss == nil {
		return e
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetLocked(&e)
	e.mark.Mark, e.guess, e.loss = e.loss.Mark, e.loss.guess, nil
	return e
}

// forgetLocked makes the loss of an entry final.
func (w *waiting) forgetLocked(e *entry) {
	if key := (lossKey{e.mark.PV, e.loss.Reason, e.loss.guess.made}); w.losses[key] == e.loss {
		delete(w.losses, key)
	}
}

// addDropped notes a mark that found no room in the queue. lived returns the time from the start of the engine until now,
// by a clock that showed epoch when the clock since boot stood at 0.
func (w *waiting) addDropped(e *entry, lived func(epoch int64) span) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, g := e.mark.Mark, e.guess
	if e.loss != nil {
		w.forgetLocked(e)
		m, g = e.loss.Mark, e.loss.guess
	}
	if w.dropped == nil {
		w.dropped = map[noteKey]note{}
	}
	key := noteKey{e.mark.PV, g.made}
	d, known := w.dropped[key]
	if !known {
		d = note{from: m.Time, to: m.Time, guess: g}
	}
	if g.made {
		d = d.by(g, lived(g.least))
	}
	w.dropped[key] = note{min(d.from, m.Time), max(d.to, m.Time, m.End), d.n + 1, d.guess.with(g)}
}

// by returns a note whose times are by the clock of a guess. If a clock that stood at 1970 is set to the present, a note of
// marks from before and after would otherwise be one of decades. A smaller step leaves the note as it is: the note then
// covers the times by both clocks.
func (d note) by(g guess, lived span) note {
	step := span{g.least - d.guess.most, g.most - d.guess.least}
	if max(step.to, -step.from) <= sometimes {
		return d
	}
	m := moved(sample.Mark{Time: d.from, End: d.to}, step, lived)
	return note{m.Time, m.End, d.n, g}
}

// takeDropped removes at most n notes, and returns a mark for each. The marks have no writer.
func (w *waiting) takeDropped(n int) (marks []entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, d := range w.dropped {
		if len(marks) == n {
			break
		}
		delete(w.dropped, key)
		marks = append(marks, entry{guess: d.guess, mark: store.PVMark{PV: key.pv, Mark: sample.Mark{
			Time: d.from, End: d.to, Kind: sample.Lost, Reason: sample.Overflow,
			Text: fmt.Sprintf("%d marks of this time were dropped because too many waited for the store: samples may be missing", d.n),
		}}})
	}
	return marks
}

// keepShard keeps a mark of a shard until it is written.
func (w *waiting) keepShard(shard int, m sample.Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shards == nil {
		w.shards = map[int][]sample.Mark{}
	}
	w.shards[shard] = Merge(w.shards[shard], m)
}

// takeShards removes and returns the marks that keepShard kept.
func (w *waiting) takeShards() map[int][]sample.Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.shards
	w.shards = nil
	return kept
}

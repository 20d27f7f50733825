package handover

import "time"

// event is a pending step.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// before reports whether a step runs before another one. Of two steps at the same time, the
// step that was scheduled first runs first.
func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// queue is a heap of events with the next one first.
type queue []event

func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *queue) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], event{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		next := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(h) && h[down].before(&h[next]) {
				next = down
			}
		}
		if next == i {
			return first
		}
		h[i], h[next] = h[next], h[i]
		i = next
	}
}

// after schedules a step.
func (w *world) after(d time.Duration, do func()) {
	w.seq++
	w.queue.push(event{w.now + max(d, 0), w.seq, do})
}

// until runs all steps up to a time.
func (w *world) until(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end && len(w.violations) == 0 {
		e := w.queue.pop()
		w.now = e.at
		w.steps++
		e.do()
	}
	w.now = max(w.now, end)
}

// chance returns true with a probability of p.
func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// between returns a random duration in [from, to].
func (w *world) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.rng.Int64N(int64(to-from)+1))
}

// delay returns a random delay of a message: usually some milliseconds, but sometimes so long
// that other engines declare the sender dead.
func (w *world) delay() time.Duration {
	if w.noise > 0 {
		switch x := w.rng.Float64(); {
		case x < 0.004*w.noise:
			return w.between(time.Second, 40*time.Second)
		case x < 0.04*w.noise:
			return w.between(10*time.Millisecond, 2*time.Second)
		}
	}
	return w.between(time.Millisecond, 8*time.Millisecond)
}

// patience is how long the sender of a message waits for an answer.
const patience = 10 * time.Second

// link is one message and the functions that deliver it.
type link struct {
	// open reports whether the message reaches its receiver now.
	open func() bool
	// do is the effect of the message at the receiver. It may run twice, and may run after the
	// sender has stopped waiting.
	do func()
	// back delivers the answer to the sender after a delay.
	back func(d time.Duration, ok bool)
	// repeats is true if the message may arrive twice.
	repeats bool
}

// send sends a message. The message may be late or repeated, and the message or its answer
// may be lost.
func (w *world) send(l link) {
	w.count(Messages)
	there, back := w.delay(), w.delay()
	if w.chance(0.01 * w.noise) {
		w.count(LostBefore)
		l.back(patience, false)
		return
	}
	lost := w.chance(0.01 * w.noise)
	again := l.repeats && w.chance(0.01*w.noise)
	if lost || there+back >= patience {
		if lost {
			w.count(LostAfter)
		} else {
			w.count(Late)
		}
		l.back(patience, false)
	}
	w.after(there, func() {
		if !l.open() {
			if !lost && there+back < patience {
				l.back(w.between(time.Millisecond, patience-there), false)
			}
			return
		}
		l.do()
		if again {
			w.count(Repeated)
			w.after(w.between(0, 40*time.Second), func() {
				if l.open() {
					l.do()
				}
			})
		}
		if !lost && there+back < patience {
			l.back(back, true)
		}
	})
}

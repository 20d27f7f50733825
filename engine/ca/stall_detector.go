package ca

import "time"

const (
	// A gap between updates is suspicious if it is at least minStall long, and
	// stallFactor times the longest gap that is usual on the circuit.
	minStall    = 3 * time.Second
	stallFactor = 4
	// burstSpan is the time after a gap in which a burst must come, and the window in
	// which usual updates are counted, to compare with.
	burstSpan = 250 * time.Millisecond
	// Updates in the settleTime after the first one, and after a stall, do not count as
	// usual. The detector judges a circuit after minHistory. It remembers usual updates
	// for one to two times historySpan.
	settleTime  = 5 * time.Second
	minHistory  = 10 * time.Second
	historySpan = 30 * time.Second
)

// stallDetector learns when updates usually come on a circuit, and finds stalls: see the
// package comment for the rule. It costs nothing per update, and little per read.
type stallDetector struct {
	began   time.Time // the first update
	last    time.Time // the latest
	settled time.Time // from when on updates are usual
	window  time.Time // start of the current window
	count   int       // updates in it
	turned  time.Time // when now became before, and now began anew

	now, before usual

	// Of a gap that may be a stall: its start, its end if it has ended, and the number
	// of updates since then.
	suspected bool
	from, to  time.Time
	burst     int
}

// usual is how updates came for a while.
type usual struct {
	gap  time.Duration // the longest between two
	peak int           // the most in a window
}

// overdue reports whether the time since the last update is unusually long.
func (d *stallDetector) overdue(now time.Time) bool {
	if d.last.Sub(d.began) < minHistory || max(d.now.peak, d.before.peak) == 0 {
		return false
	}
	return now.Sub(d.last) >= max(minStall, stallFactor*max(d.now.gap, d.before.gap))
}

// noteGap notes that bytes came, before they are handled. It reports whether they end a
// gap that may be a stall, once for each gap.
func (d *stallDetector) noteGap(now time.Time) bool {
	if d.suspected || !d.overdue(now) {
		return false
	}
	d.suspected, d.from, d.to, d.burst = true, d.last, time.Time{}, 0
	return true
}

// noteUpdates notes how many updates came. It reports whether they show that the gap
// was a stall, from d.from to d.to.
func (d *stallDetector) noteUpdates(now time.Time, updates int) (stalled bool) {
	if updates == 0 {
		return false
	}
	if d.last.IsZero() {
		d.began, d.turned, d.settled = now, now, now.Add(settleTime)
	}
	if d.suspected {
		stalled = d.judge(now, updates)
	}
	d.learn(now, updates)
	return stalled
}

// judge decides whether the gap that ended was a stall.
func (d *stallDetector) judge(now time.Time, updates int) (stalled bool) {
	if d.to.IsZero() {
		d.to = now
		d.last = now // the gap counts as usual only if it was no stall
	}
	d.burst += updates
	switch {
	case now.Sub(d.to) > burstSpan:
		d.suspected = false
		d.now.gap = max(d.now.gap, d.to.Sub(d.from))
	case 2*d.burst > 3*max(d.now.peak, d.before.peak):
		d.suspected = false
		d.settled = now.Add(settleTime)
		return true
	}
	return false
}

// learn updates the usual gap and peak.
func (d *stallDetector) learn(now time.Time, updates int) {
	if now.Sub(d.turned) > historySpan {
		d.before, d.now, d.turned = d.now, usual{}, now
	}
	if now.Sub(d.window) > burstSpan {
		d.window, d.count = now, 0
	}
	d.count += updates
	if now.After(d.settled) {
		d.now.gap = max(d.now.gap, now.Sub(d.last))
		if !d.suspected {
			d.now.peak = max(d.now.peak, d.count)
		}
	}
	d.last = now
}

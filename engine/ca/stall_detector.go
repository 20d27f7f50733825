package ca

import "time"

const (
	// A gap between updates is suspicious if it lasts at least minStall, and at least
	// stallFactor times as long as the longest usual gap of the circuit.
	minStall    = 3 * time.Second
	stallFactor = 4
	// burstSpan is the time after a gap in which a burst must arrive. It is also the window in
	// which the detector counts usual updates, to compare a burst with them.
	burstSpan = 250 * time.Millisecond
	// Updates in the settleTime after the first update, and after a stall, do not count as
	// usual. The detector finds stalls only after minHistory. It remembers usual updates for
	// one to two times historySpan.
	settleTime  = 5 * time.Second
	minHistory  = 10 * time.Second
	historySpan = 30 * time.Second
)

// stallDetector learns how often updates usually arrive on a circuit, and finds stalls. The
// package comment explains the rule. The detector costs nothing per update, and little per
// read.
type stallDetector struct {
	began   time.Time // time of the first update
	last    time.Time // time of the latest update
	settled time.Time // updates after this time count as usual
	window  time.Time // start of the current window
	count   int       // updates in the window
	turned  time.Time // when the field now was last copied to the field before

	now, before usual

	// The following fields describe a gap that may be a stall: its start, its end if it has
	// ended, and the number of updates since its end.
	suspected bool
	from, to  time.Time
	burst     int
}

// usual describes how often updates arrived in a period.
type usual struct {
	gap  time.Duration // longest time between two updates
	peak int           // maximum number of updates in a window
}

// overdue reports whether the time since the last update is unusually long.
func (d *stallDetector) overdue(now time.Time) bool {
	if d.last.Sub(d.began) < minHistory || max(d.now.peak, d.before.peak) == 0 {
		return false
	}
	return now.Sub(d.last) >= max(minStall, stallFactor*max(d.now.gap, d.before.gap))
}

// noteGap records that bytes arrived, before the circuit handles them. It reports whether they
// end a gap that may be a stall. It reports each gap once.
func (d *stallDetector) noteGap(now time.Time) bool {
	if d.suspected || !d.overdue(now) {
		return false
	}
	d.suspected, d.from, d.to, d.burst = true, d.last, time.Time{}, 0
	return true
}

// noteUpdates records how many updates arrived. It reports whether they show that the gap was
// a stall, from d.from to d.to.
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

// judge decides whether the last gap was a stall.
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

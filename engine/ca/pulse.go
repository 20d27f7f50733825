package ca

import "time"

const (
	// A gap between updates is suspicious from minStall on, and when it is stallFactor
	// times the longest that the circuit usually has.
	minStall    = 3 * time.Second
	stallFactor = 4
	// burstSpan is how long after a gap a burst shows, and the window in which
	// usual updates are counted to compare with.
	burstSpan = 250 * time.Millisecond
	// Updates in settleTime after the first one, and after a stall, are not usual. A
	// circuit is judged after minHistory; what is usual is remembered for one to two
	// times historySpan.
	settleTime  = 5 * time.Second
	minHistory  = 10 * time.Second
	historySpan = 30 * time.Second
)

// pulse knows when updates usually come on a circuit, and finds stalls: see the
// package comment for the rule. It costs nothing per update, little per read.
type pulse struct {
	began   time.Time // the first update
	last    time.Time // the latest
	settled time.Time // from when on updates are usual
	window  time.Time // begin of the window at hand
	count   int       // updates in it
	turned  time.Time // when now became before

	now, before usual

	// Of a gap that may be a stall: its begin, its end if that came, and the
	// updates since.
	suspected bool
	from, to  time.Time
	burst     int
}

// usual is what updates were like for a while.
type usual struct {
	gap  time.Duration // the longest between two
	peak int           // the most in a window
}

// overdue reports whether no update came for longer than is usual.
func (p *pulse) overdue(now time.Time) bool {
	if p.last.Sub(p.began) < minHistory || max(p.now.peak, p.before.peak) == 0 {
		return false
	}
	return now.Sub(p.last) >= max(minStall, stallFactor*max(p.now.gap, p.before.gap))
}

// gap is asked when bytes came, before they are looked at. It reports whether a
// gap ends that may be a stall, once for each.
func (p *pulse) gap(now time.Time) bool {
	if p.suspected || !p.overdue(now) {
		return false
	}
	p.suspected, p.from, p.to, p.burst = true, p.last, time.Time{}, 0
	return true
}

// arrived notes the updates in what came. It reports whether they show that the
// gap was a stall, from p.from to p.to.
func (p *pulse) arrived(now time.Time, updates int) (stalled bool) {
	if updates == 0 {
		return false
	}
	if p.last.IsZero() {
		p.began, p.turned, p.settled = now, now, now.Add(settleTime)
	}
	if p.suspected {
		stalled = p.judge(now, updates)
	}
	p.note(now, updates)
	return stalled
}

// judge decides whether the gap that ended was a stall.
func (p *pulse) judge(now time.Time, updates int) (stalled bool) {
	if p.to.IsZero() {
		p.to = now
		p.last = now // the gap counts as usual only if it was no stall
	}
	p.burst += updates
	switch {
	case now.Sub(p.to) > burstSpan:
		p.suspected = false
		p.now.gap = max(p.now.gap, p.to.Sub(p.from))
	case 2*p.burst > 3*max(p.now.peak, p.before.peak):
		p.suspected = false
		p.settled = now.Add(settleTime)
		return true
	}
	return false
}

// note brings what is usual up to date.
func (p *pulse) note(now time.Time, updates int) {
	if now.Sub(p.turned) > historySpan {
		p.before, p.now, p.turned = p.now, usual{}, now
	}
	if now.Sub(p.window) > burstSpan {
		p.window, p.count = now, 0
	}
	p.count += updates
	if now.After(p.settled) {
		p.now.gap = max(p.now.gap, now.Sub(p.last))
		if !p.suspected {
			p.now.peak = max(p.now.peak, p.count)
		}
	}
	p.last = now
}

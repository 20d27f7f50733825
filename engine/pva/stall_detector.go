package pva

import "time"

const (
	// stallTime is the minimum time without a read that may be a stall.
	stallTime = time.Second
	// burstTime is the time after a stall in which updates that waited during the stall may
	// still arrive, because a process with little CPU time reads them slowly.
	burstTime = 10 * time.Second
)

// stallDetector finds the times in which a circuit stood still, for example because the
// network was down or the engine stood still. During a stall, the server puts updates into a
// queue of QueueSize updates per channel. It drops updates that do not fit, and not all
// servers report the loss. Therefore a channel may have lost updates if it gets a full queue
// of updates after a stall, faster than the server created them. After a pause of the server,
// updates arrive as fast as the server creates them.
type stallDetector struct {
	last     time.Time // time of the last read
	from, to time.Time // start and end of the latest stall
	burst    bool      // updates of the stall may still arrive
	number   uint16    // number of stalls
}

// noteRead records that bytes were read.
func (d *stallDetector) noteRead(now time.Time) {
	switch {
	case now.Sub(d.last) >= stallTime && !d.last.IsZero():
		d.from, d.to, d.burst = d.last, now, true
		d.number++
	case d.burst && now.Sub(d.to) >= burstTime:
		d.burst = false
	}
	d.last = now
}

// burst describes the updates that a channel got after a stall.
type burst struct {
	number     uint16 // number of the stall
	updates    uint16
	made, came int64 // times of the first update, in ns since 1970
}

// full counts an update with time made, in ns since 1970. It reports whether the update
// completes a full queue of updates that waited at the server. They waited if they arrived
// faster than the server created them, or if their times do not rise, as with a server that
// sends no times.
func (b *burst) full(d *stallDetector, queue int, made int64) bool {
	came := d.last.UnixNano()
	if b.number != d.number {
		*b = burst{number: d.number, made: made, came: came}
	}
	b.updates++
	return int(b.updates) == queue && (made <= b.made || came-b.came < (made-b.made)/2)
}

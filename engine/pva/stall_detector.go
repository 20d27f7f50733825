package pva

import "time"

const (
	// stallTime is the shortest time without a read that may be a stall.
	stallTime = time.Second
	// burstTime is how long a process that gets little CPU time may take to read what
	// came in during a stall.
	burstTime = 10 * time.Second
)

// stallDetector finds the times in which a circuit was stuck, for example because the
// network was down or the engine stood still. Meanwhile the server puts updates into its
// queues, of QueueSize updates each. It drops those that do not fit, and not all servers
// report that. So a channel may have lost updates if after a stall it gets a full queue of
// them, faster than they were made. After a pause of the server, updates come as they are
// made.
type stallDetector struct {
	last     time.Time // of a read
	from, to time.Time // of the latest stall
	burst    bool      // its updates may be coming
	number   uint16    // of stalls
}

// noteRead notes that bytes were read.
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

// burst is the updates that a channel got after a stall.
type burst struct {
	number     uint16 // of the stall
	updates    uint16
	made, came int64 // the first update, ns since 1970
}

// full counts an update, made at a time in ns since 1970. It reports whether the update
// completes a full queue, and the updates in it waited at the server: they came faster
// than they were made, or their times do not rise, as from a server without times.
func (b *burst) full(d *stallDetector, queue int, made int64) bool {
	came := d.last.UnixNano()
	if b.number != d.number {
		*b = burst{number: d.number, made: made, came: came}
	}
	b.updates++
	return int(b.updates) == queue && (made <= b.made || came-b.came < (made-b.made)/2)
}

package pva

import "time"

// stallTime is how long nothing may be read before much at once is suspicious.
const stallTime = time.Second

// stall finds out when a circuit was stuck, as by a network that was down or an
// engine that was. What the server has meanwhile goes to its queues, of QueueSize
// updates each; what does not fit is lost, and not all servers tell. So a channel that
// gets a full queue in the burst after a stall may have lost updates.
type stall struct {
	last     time.Time // of a read
	from, to time.Time // of the latest stall
	burst    bool      // its updates are coming
	number   uint16    // of stalls
}

// read notes that bytes were read. full says that there may be more at once.
func (s *stall) read(now time.Time, full bool) {
	switch {
	case !full:
		s.burst = false
	case now.Sub(s.last) >= stallTime && !s.last.IsZero():
		s.from, s.to, s.burst = s.last, now, true
		s.number++
	}
	s.last = now
}

// burst counts the updates of a channel in the burst after a stall.
type burst struct {
	number  uint16 // of the stall
	updates uint16
}

// full counts an update, and reports whether it is the one that makes a full queue.
func (b *burst) full(s *stall, queue int) bool {
	if b.number != s.number {
		*b = burst{number: s.number}
	}
	b.updates++
	return int(b.updates) == queue
}

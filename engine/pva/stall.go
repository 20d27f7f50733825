package pva

import "time"

const (
	// stallTime is how long nothing may be read before it may have been a stall.
	stallTime = time.Second
	// burstTime is how long a process that has little of the processor may take to
	// read what a stall has left behind.
	burstTime = 10 * time.Second
)

// stall finds out when a circuit was stuck, as by a network that was down or an
// engine that was. What the server has meanwhile goes to its queues, of QueueSize
// updates each; what does not fit is lost, and not all servers tell. So a channel may
// have lost updates if after a stall it gets a full queue of them, faster than they
// were made. Those of a server that paused come as they are made.
type stall struct {
	last     time.Time // of a read
	from, to time.Time // of the latest stall
	burst    bool      // its updates may be coming
	number   uint16    // of stalls
}

// read notes that bytes were read.
func (s *stall) read(now time.Time) {
	switch {
	case now.Sub(s.last) >= stallTime && !s.last.IsZero():
		s.from, s.to, s.burst = s.last, now, true
		s.number++
	case s.burst && now.Sub(s.to) >= burstTime:
		s.burst = false
	}
	s.last = now
}

// burst is what a channel got after a stall.
type burst struct {
	number     uint16 // of the stall
	updates    uint16
	made, came int64 // the first update, ns since 1970
}

// full counts an update, made at a time in ns since 1970, and reports whether it is
// the one that makes a full queue and shows that updates were waiting. Where times do
// not rise, as those of a server that has none, nothing shows that they were not.
func (b *burst) full(s *stall, queue int, made int64) bool {
	came := s.last.UnixNano()
	if b.number != s.number {
		*b = burst{number: s.number, made: made, came: came}
	}
	b.updates++
	return int(b.updates) == queue && (made <= b.made || came-b.came < (made-b.made)/2)
}

// Package wire moves bytes between a client and the servers it has circuits to:
// what clients of Channel Access and pvAccess have in common below their messages.
//
//	any goroutine ── Add ──▶ Outbox ── Take ──▶ the one that writes
//	the one that reads: socket ──▶ Buffer ──▶ whole frames
//	                                   └────▶ Partial: since when one is coming
package wire

import "sync"

// Outbox is the queue of bytes to a server: any goroutine adds, one takes.
type Outbox struct {
	limit int
	wake  chan struct{} // holds one token when buf is not empty

	mu  sync.Mutex
	buf []byte
}

// NewOutbox returns an empty Outbox, which takes no more when it holds limit bytes.
func NewOutbox(limit int) *Outbox { return &Outbox{limit: limit, wake: make(chan struct{}, 1)} }

// Add lets appendTo append requests. It reports false, adding nothing, when the
// queue is full.
func (o *Outbox) Add(appendTo func(dst []byte) []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) > o.limit {
		return false
	}
	o.buf = appendTo(o.buf)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return true
}

// Wake returns the channel that gives a token when there is something to take.
func (o *Outbox) Wake() <-chan struct{} { return o.wake }

// Take returns what was added, and keeps spare, whose bytes are written, for
// what will be.
func (o *Outbox) Take(spare []byte) []byte {
	const keep = 64 << 10 // a burst's memory goes back
	if cap(spare) > keep {
		spare = nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	full := o.buf
	o.buf = spare[:0]
	return full
}

// Package wire moves bytes between a client and a server. The circuits of Channel Access and
// pvAccess use it to read and write their messages.
//
//	any goroutine ── Add ──▶ Outbox ── Take ──▶ the goroutine that writes ──▶ socket
//	socket ──▶ the goroutine that reads ──▶ Buffer ──▶ complete frames
//	                                         │ └─────▶ Partial: an incomplete frame
//	                                         └─ Account ─▶ Budget: memory of all circuits
package wire

import "sync"

// Outbox is the queue of bytes to a server. Any goroutine may add bytes, and one goroutine
// takes them.
type Outbox struct {
	limit int
	wake  chan struct{} // holds one token when buf is not empty

	mu  sync.Mutex
	buf []byte
}

// NewOutbox returns an empty Outbox. It is full when it holds more than limit bytes.
func NewOutbox(limit int) *Outbox { return &Outbox{limit: limit, wake: make(chan struct{}, 1)} }

// Add lets appendTo append requests. If the queue is full, Add adds nothing and returns
// false.
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

// Wake returns a channel that receives a token when there are bytes to take.
func (o *Outbox) Wake() <-chan struct{} { return o.wake }

// Take returns the bytes that were added. spare is a buffer that the caller no longer uses.
// The Outbox uses it for the next bytes.
func (o *Outbox) Take(spare []byte) []byte {
	const keep = 64 << 10 // a larger buffer is not reused, which frees the memory of a burst
	if cap(spare) > keep {
		spare = nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	full := o.buf
	o.buf = spare[:0]
	return full
}

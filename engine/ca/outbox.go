package ca

import "sync"

// maxOutbox bounds the bytes that wait for a server to read them. A channel has
// some 150 bytes of requests at most, so only a server that stopped reading gets there.
const maxOutbox = 32 << 20

// outbox is the queue of bytes to a server: any goroutine adds, one takes.
type outbox struct {
	mu   sync.Mutex
	buf  []byte
	wake chan struct{} // holds one token when buf is not empty
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// add lets appendTo append requests. It reports false, adding nothing, when the queue is full.
func (o *outbox) add(appendTo func(dst []byte) []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) > maxOutbox {
		return false
	}
	o.buf = appendTo(o.buf)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns what was added, and keeps spare, whose bytes are written, for
// what will be.
func (o *outbox) take(spare []byte) []byte {
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

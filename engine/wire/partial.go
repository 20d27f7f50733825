package wire

import (
	"errors"
	"time"
)

// ErrEndless says that a frame that is passed over does not end: its length may be
// wrong, and everything that comes would be taken for a part of it.
var ErrEndless = errors.New("a frame that is too large does not end")

// Partial is the frame of which a part came. What the server sends meanwhile is
// behind it, and is lost if the stream ends first. A frame that is too large is
// passed over, which costs time but no memory.
type Partial struct {
	since time.Time // when its first bytes came; zero if there is none
	left  uint64    // bytes to pass over
	until time.Time // when they must have come
}

// Skip passes over the n bytes that follow, which must have come at a time.
func (p *Partial) Skip(n uint32, until time.Time) {
	*p = Partial{left: uint64(n), until: until}
}

// Of returns how many of the n bytes that came are passed over.
func (p *Partial) Of(n int) int {
	taken := min(p.left, uint64(n))
	p.left -= taken
	return int(taken)
}

// Came notes that bytes came, which with those before make used bytes of whole
// frames or passed over, and rest bytes of another frame. It returns ErrEndless if
// the one that is passed over should have ended.
func (p *Partial) Came(now time.Time, used, rest int) error {
	switch {
	case p.left > 0:
		if p.since.IsZero() {
			p.since = now
		}
		if now.After(p.until) {
			return ErrEndless
		}
	case rest == 0:
		p.since = time.Time{}
	case used > 0 || p.since.IsZero():
		p.since = now
	}
	return nil
}

// Since returns when the first bytes of the frame came; zero if there is none.
func (p *Partial) Since() time.Time { return p.since }

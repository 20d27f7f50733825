package wire

import (
	"errors"
	"time"
)

// ErrEndless means that a skipped frame does not end in time. Its length may be wrong, and
// then everything that comes would count as a part of it.
var ErrEndless = errors.New("a frame that is too large does not end")

// Partial tracks a frame of which only a part came. Updates that the server sends meanwhile
// are behind the frame, and are lost if the stream ends first. A frame that is too large
// is skipped, which costs time but no memory.
type Partial struct {
	since time.Time // when its first bytes came; zero if there is none
	left  uint64    // bytes to skip
	until time.Time // when they must have come
}

// Skip skips the n bytes that follow, which must come before a deadline.
func (p *Partial) Skip(n uint32, until time.Time) {
	*p = Partial{left: uint64(n), until: until}
}

// Of returns how many of the n bytes that came are to be skipped.
func (p *Partial) Of(n int) int {
	taken := min(p.left, uint64(n))
	p.left -= taken
	return int(taken)
}

// Came notes that bytes came: with the bytes before them, used bytes of whole or skipped
// frames, and rest bytes of another frame. It returns ErrEndless if a skipped frame should
// have ended.
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

// Since returns when the first bytes of the frame came; zero if there is no frame.
func (p *Partial) Since() time.Time { return p.since }

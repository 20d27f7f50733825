package wire

import (
	"errors"
	"time"
)

// ErrEndless means that a skipped frame did not end in time. The length of the frame may be
// wrong. Then all following bytes would count as a part of the frame.
var ErrEndless = errors.New("a frame that is too large did not end within the time limit")

// Partial tracks a frame of which only a part has arrived. Updates that the server sends in
// this time follow the frame. They are lost if the stream ends before the frame does. A frame
// that is too large is skipped, which costs time but no memory.
type Partial struct {
	since time.Time // when the first bytes of the frame arrived; zero if there is no frame
	left  uint64    // number of bytes to skip
	until time.Time // when these bytes must have arrived
}

// Skip skips the next n bytes of the stream, which must arrive before a deadline.
func (p *Partial) Skip(n uint32, until time.Time) {
	*p = Partial{left: uint64(n), until: until}
}

// Of returns how many of n received bytes the caller must skip.
func (p *Partial) Of(n int) int {
	taken := min(p.left, uint64(n))
	p.left -= taken
	return int(taken)
}

// Came records that bytes arrived. Together with earlier unused bytes, these are used bytes of
// complete or skipped frames, and then rest bytes of an incomplete frame. Came returns
// ErrEndless if a skipped frame should have ended before now.
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

// Since returns the time at which the first bytes of the frame arrived, or zero if there is no
// frame.
func (p *Partial) Since() time.Time { return p.since }

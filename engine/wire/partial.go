package wire

import (
	"errors"
	"time"
)

var (
	// ErrEndless means that a skipped frame did not end in time. The length of the frame may
	// be wrong. Then all following bytes would count as a part of the frame.
	ErrEndless = errors.New("a frame that is too large did not end within the time limit")
	// ErrSlow means that a frame did not end in time, although bytes kept arriving.
	ErrSlow = errors.New("a frame did not end within the time limit")
)

// minRate is the minimum number of bytes of a frame that must arrive per second.
const minRate = 64 << 10

// FrameTime returns the time in which a frame of a number of bytes must arrive. grace is the
// time for which the circuit may be silent.
func FrameTime(grace time.Duration, bytes int) time.Duration {
	return grace + time.Duration(bytes)*(time.Second/minRate)
}

// Partial tracks a frame of which only a part has arrived. Updates that the server sends in
// this time follow the frame. They are lost if the stream ends before the frame does. A frame
// that is too large is skipped, which costs time but no memory.
type Partial struct {
	since  time.Time     // when the first bytes of the frame arrived; zero if there is no frame
	left   uint64        // number of bytes to skip
	until  time.Time     // when these bytes must have arrived
	waited time.Duration // time since then in which the client did not read
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
// complete or skipped frames, and then rest bytes of an incomplete frame. most is the time in
// which the incomplete frame must end. Came returns ErrEndless or ErrSlow if the frame should
// have ended before now.
func (p *Partial) Came(now time.Time, used, rest int, most time.Duration) error {
	switch {
	case p.left > 0:
		if p.since.IsZero() {
			p.since = now
		}
		if now.After(p.until) {
			return ErrEndless
		}
	case rest == 0:
		p.since, p.waited = time.Time{}, 0
	case used > 0 || p.since.IsZero():
		p.since, p.waited = now, 0
	case now.Sub(p.since)-p.waited > most:
		return ErrSlow
	}
	return nil
}

// Waited records that the client did not read for a time, which the server cannot help.
func (p *Partial) Waited(d time.Duration) { p.waited += d }

// Since returns the time at which the first bytes of the frame arrived, or zero if there is no
// frame.
func (p *Partial) Since() time.Time { return p.since }

package wire

import (
	"errors"
	"time"
)

// ErrEndless says that a frame that is passed over does not end: its length may be
// wrong, and everything that comes would be taken for a part of it.
var ErrEndless = errors.New("a frame that is too large does not end")

// Skip passes over a frame that is too large, which costs time but no memory.
type Skip struct {
	left  uint64 // bytes to come
	until time.Time
}

// Begin passes over n bytes, which must have come at a time.
func (s *Skip) Begin(n uint32, until time.Time) { s.left, s.until = uint64(n), until }

// Of returns how many of the n bytes that came belong to the frame.
func (s *Skip) Of(n int) int {
	taken := min(s.left, uint64(n))
	s.left -= taken
	return int(taken)
}

// Check returns ErrEndless if the frame should have ended.
func (s *Skip) Check(now time.Time) error {
	if s.left > 0 && now.After(s.until) {
		return ErrEndless
	}
	return nil
}

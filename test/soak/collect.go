package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/test/archive"
)

// finest is the length of the shortest window that Collect reads.
const finest = time.Second

// Collect adds all samples of the window [from, to) to the account. A read of a window fails if it
// needs a destroyed block. Collect then reads the parts of the window, but no parts of the block, and
// adds the windows that cannot be read to e.Refused. It returns every other error of read.
func (a *Account) Collect(read func(from, to time.Time) ([]archive.Event, error), e *Evidence, from, to time.Time) error {
	events, err := read(from, to)
	if err == nil {
		a.Add(events)
		return nil
	}
	if !refuses(err, e.Destroyed, from, to) {
		return fmt.Errorf("reading from %s to %s: %w", clock(from), clock(to), err)
	}
	if to.Sub(from) < finest || slices.ContainsFunc(e.Destroyed, func(s archive.Span) bool { return !s.Begin.After(from) && !s.End.Before(to) }) {
		e.Refused = append(e.Refused, archive.Span{Begin: from, End: to})
		return nil
	}
	half := from.Add(to.Sub(from) / 2)
	if err := a.Collect(read, e, from, half); err != nil {
		return err
	}
	return a.Collect(read, e, half, to)
}

// refuses reports whether a read of [from, to) fails because of a destroyed block: one that overlaps
// the window, or one with the last sample before the window, with which each answer begins.
func refuses(err error, destroyed []archive.Span, from, to time.Time) bool {
	return len(destroyed) > 0 && strings.Contains(err.Error(), "cannot be read") ||
		slices.ContainsFunc(destroyed, func(s archive.Span) bool { return s.Begin.Before(to) && !s.End.Before(from) })
}

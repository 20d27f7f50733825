package store

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rung is how long rows are kept, a step of the retention ladder. What a group asks
// for is rounded up to one, so that the rows of a table expire together, and whole
// files go with them. The numbers are stored.
type Rung uint8

// Rungs. A year has 365 days.
const (
	Forever Rung = iota
	Keep1d
	Keep7d
	Keep30d
	Keep90d
	Keep1y
	Keep2y
	Keep5y
	Keep10y

	// NumRungs is the number of rungs.
	NumRungs = int(iota)
)

const day = 24 * time.Hour

var rungKeeps = [NumRungs]time.Duration{
	0, day, 7 * day, 30 * day, 90 * day, 365 * day, 2 * 365 * day, 5 * 365 * day, 10 * 365 * day,
}

var rungNames = [NumRungs]string{"forever", "1d", "7d", "30d", "90d", "1y", "2y", "5y", "10y"}

// RungFor returns the rung that keeps rows for at least as long as asked, and no
// longer than it must. 0 is forever.
func RungFor(keep time.Duration) Rung {
	if keep <= 0 {
		return Forever
	}
	for r := Keep1d; int(r) < NumRungs; r++ {
		if keep <= rungKeeps[r] {
			return r
		}
	}
	return Forever
}

// ParseRung returns the rung of a name that String gives.
func ParseRung(name string) (Rung, error) {
	if i := slices.Index(rungNames[:], name); i >= 0 {
		return Rung(i), nil
	}
	return Forever, fmt.Errorf("rung %q is none of %s", name, strings.Join(rungNames[:], ", "))
}

// Valid reports whether the rung is one this version knows.
func (r Rung) Valid() bool { return int(r) < NumRungs }

// Keep returns how long rows are kept after the end of their bucket or tile; 0 is
// forever.
func (r Rung) Keep() time.Duration { return rungKeeps[r] }

// Longer reports whether rows are kept longer than on another rung.
func (r Rung) Longer(than Rung) bool {
	return r != than && (r == Forever || than != Forever && r > than)
}

// Longest returns the longest bucket that the rung has. As a bucket expires whole,
// none is longer than a tenth of the time that it is kept.
func (r Rung) Longest() BucketSize {
	for s := Year; s > Hour; s-- {
		if r == Forever || s.Span() <= r.Keep()/10 {
			return s
		}
	}
	return Hour
}

// String returns "forever", "1d" … "10y".
func (r Rung) String() string {
	if r.Valid() {
		return rungNames[r]
	}
	return fmt.Sprintf("rung(%d)", uint8(r))
}

package guard

import (
	"slices"
	"time"
)

const (
	// pointEvery is the time between two points of the growth, and maxPoints the number of
	// points: one week.
	pointEvery = time.Hour
	maxPoints  = 7 * 24
	// leastPoints is the number of points from which the growth is estimated.
	leastPoints = 6
	// warnWithin is how soon the archive must reach its high-water mark for a warning.
	warnWithin = 7 * 24 * time.Hour
)

// sizes are the latest readings of the archive's size.
type sizes struct {
	readings []int64 // the latest ones
	points   []point // settled sizes, at most one per hour
}

type point struct {
	at   time.Time
	size int64
}

// add adds a reading. It returns the settled size: the smallest of the latest n readings. settled
// is false while there are fewer.
func (s *sizes) add(size int64, n int, now time.Time) (least int64, settled bool) {
	s.readings = append(s.readings, size)
	s.readings = s.readings[max(0, len(s.readings)-n):]
	least, settled = slices.Min(s.readings), len(s.readings) == n
	if k := len(s.points); settled && (k == 0 || now.Sub(s.points[k-1].at) >= pointEvery) {
		s.points = append(s.points, point{now, least})
		s.points = s.points[max(0, len(s.points)-maxPoints):]
	}
	return least, settled
}

// forget drops the points, because deletions have made the archive smaller.
func (s *sizes) forget() { s.points = nil }

// left returns the time in which the archive reaches a mark if it grows as in the past week. It
// returns 0 if that takes longer than warnWithin, or if too little is known.
func (s *sizes) left(size, mark int64) time.Duration {
	if len(s.points) < leastPoints || size >= mark {
		return 0
	}
	first, last := s.points[0], s.points[len(s.points)-1]
	grown := float64(last.size - first.size)
	if grown <= 0 {
		return 0
	}
	left := float64(mark-size) / grown * float64(last.at.Sub(first.at))
	if left > float64(warnWithin) {
		return 0
	}
	return max(time.Duration(left), time.Minute)
}

package block

import "encoding/binary"

// Resolutions of times. A column uses the coarsest one that keeps all times exact. These
// indexes are stored.
const (
	seconds      = 0
	milliseconds = 1
	microseconds = 2
	nanoseconds  = 3
)

// unitOf returns the coarsest resolution that divides all times.
func unitOf(times []int64) byte {
	i := 0
	for i < len(times) && times[i]%1e9 == 0 {
		i++
	}
	if i == len(times) {
		return seconds
	}
	for i < len(times) && times[i]%1e6 == 0 {
		i++
	}
	if i == len(times) {
		return milliseconds
	}
	for i < len(times) && times[i]%1e3 == 0 {
		i++
	}
	if i == len(times) {
		return microseconds
	}
	return nanoseconds
}

// appendTimes writes the index of the unit and the times in that unit.
func appendTimes(dst []byte, times []int64, s *scratch) []byte {
	ints, unit := s.ints[:len(times)], unitOf(times)
	// The divisors are constants, so the compiler avoids slow division instructions.
	switch unit {
	case seconds:
		for i, t := range times {
			ints[i] = t / 1e9
		}
	case milliseconds:
		for i, t := range times {
			ints[i] = t / 1e6
		}
	case microseconds:
		for i, t := range times {
			ints[i] = t / 1e3
		}
	case nanoseconds:
		copy(ints, times)
	}
	return appendInts(append(dst, unit), ints, s)
}

// decodeTimes fills times.
func decodeTimes(times []int64, src []byte, s *scratch) ([]byte, error) {
	if len(src) == 0 || src[0] > nanoseconds {
		return nil, ErrCorrupt
	}
	unit := [...]int64{seconds: 1e9, milliseconds: 1e6, microseconds: 1e3, nanoseconds: 1}[src[0]]
	src, err := decodeInts(times, src[1:], s)
	if err != nil {
		return nil, err
	}
	if unit != 1 {
		for i := range times {
			times[i] *= unit
		}
	}
	return src, nil
}

// readCount reads a count from 1 to n.
func readCount(src []byte, n int) (int, []byte, error) {
	u, w := binary.Uvarint(src)
	if w <= 0 || u == 0 || u > uint64(n) {
		return 0, nil, ErrCorrupt
	}
	return int(u), src[w:], nil
}

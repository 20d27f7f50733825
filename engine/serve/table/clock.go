package table

import "time"

// clock appends times in UTC. They always have nine digits after the decimal point, because some
// readers derive the format of a column from its first rows. Consecutive rows are mostly of the same
// day, and clock remembers its date.
type clock struct {
	day  int64  // days since 1970
	date []byte // the date of the day and T, or empty
}

// append appends a time in ns since 1970.
func (c *clock) append(dst []byte, ns int64) []byte {
	const dayLength = int64(24 * time.Hour)
	day, into := ns/dayLength, ns%dayLength
	if into < 0 {
		day, into = day-1, into+dayLength
	}
	if len(c.date) == 0 || day != c.day {
		c.day, c.date = day, time.Unix(0, ns).UTC().AppendFormat(c.date[:0], "2006-01-02T")
	}
	secs, nanos := into/1e9, into%1e9
	dst = appendDigits(append(dst, c.date...), secs/3600, 2)
	dst = appendDigits(append(dst, ':'), secs/60%60, 2)
	dst = appendDigits(append(dst, ':'), secs%60, 2)
	return append(appendDigits(append(dst, '.'), nanos, 9), 'Z')
}

// appendDigits appends the last n digits of v, with leading zeros.
func appendDigits(dst []byte, v int64, n int) []byte {
	const zeros = "000000000"
	dst = append(dst, zeros[:n]...)
	for i := len(dst) - 1; v > 0 && n > 0; i, n = i-1, n-1 {
		dst[i] = byte('0' + v%10)
		v /= 10
	}
	return dst
}

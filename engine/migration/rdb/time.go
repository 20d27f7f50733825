package rdb

import (
	"cmp"
	"fmt"
	"time"

	"varve.dev/varve/engine/migration"
)

// timeColumn says how the columns smpl_time and nanosecs of a table hold a time. smpl_time has full seconds,
// with or without a fraction. nanosecs has the nanoseconds after the full second.
type timeColumn struct {
	zone    *time.Location // of local times; nil if the column has a zone
	rounded bool           // full seconds were rounded, not cut off
	// fractions says whether smpl_time has fractions of a second. Each row that shows this sets fractions
	// again: see at. If fractions is true, a full second may have been rounded up by less than a
	// microsecond.
	fractions bool
}

// key orders the rows of a table as the database does.
type key struct {
	stamp int64 // smpl_time in ns since 1970
	nanos int64
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.stamp, o.stamp), cmp.Compare(k.nanos, o.nanos))
}

// key returns the key of a row. A local time is an error if clocks skip it in spring, or show it twice in
// autumn.
func (c *timeColumn) key(t time.Time, nanos int64) (key, error) {
	if c.zone != nil {
		var err error
		if t, err = migration.InZone(t, c.zone); err != nil {
			return key{}, fmt.Errorf("smpl_time is %w", err)
		}
	}
	if t.Year() < 1970 || t.Year() > 2261 {
		return key{}, fmt.Errorf("smpl_time is in the year %d: want 1970 to 2261", t.Year())
	}
	if nanos < 0 || nanos >= 1e9 {
		return key{}, fmt.Errorf("nanosecs is %d: want 0 to 999999999", nanos)
	}
	return key{t.UnixNano(), nanos}, nil
}

// at returns the time of a row in ns since 1970. It also sets fractions if the row shows whether smpl_time has
// fractions, so it must be called in the order of the rows. It fails if the two columns contradict each other.
func (c *timeColumn) at(k key) (int64, error) {
	seconds, fraction := k.stamp/1e9, k.stamp%1e9
	if fraction != 0 || k.nanos >= 500 && k.nanos < 1e9-500 {
		c.fractions = fraction != 0
	}
	switch {
	case fraction == 0:
		if c.rounded && k.nanos >= 5e8 || c.fractions && k.nanos >= 1e9-500 {
			seconds--
		}
	// The fraction is that of the sample, with fewer digits. Either smpl_time or nanosecs may have been
	// rounded into the next second.
	case fraction-k.nanos > 5e8:
		seconds++
	case k.nanos-fraction > 5e8:
		seconds--
	}
	at := seconds*1e9 + k.nanos
	if off := at - k.stamp; fraction != 0 && (off > 1e6 || off < -1e6) {
		return 0, fmt.Errorf("smpl_time has the fraction .%09d of a second, but nanosecs is %d", fraction, k.nanos)
	}
	return at, nil
}

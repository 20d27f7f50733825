package promapi

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
)

const ms = int64(time.Millisecond)

var (
	durations = regexp.MustCompile(`^(?:[0-9]+(?:ms|s|m|h|d|w|y))+$`)
	parts     = regexp.MustCompile(`([0-9]+)(ms|s|m|h|d|w|y)`)
	units     = map[string]int64{"ms": ms, "s": 1000 * ms, "m": 60_000 * ms, "h": 3600_000 * ms, "d": 86400_000 * ms, "w": 7 * 86400_000 * ms, "y": 365 * 86400_000 * ms}
)

// maxDuration bounds a window and a step, in ns.
const maxDuration = int64(100 * 365 * 24 * time.Hour)

// parseDuration parses a duration such as 5m or 1h30m, and returns it in ns.
func parseDuration(text string) (int64, error) {
	sum := int64(0)
	for _, p := range parts.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(p[1], 10, 64)
		if err != nil || n > (maxDuration-sum)/units[p[2]] {
			return 0, fmt.Errorf("the duration %.50q is longer than 100y", text)
		}
		sum += n * units[p[2]]
	}
	if !durations.MatchString(text) || sum == 0 {
		return 0, fmt.Errorf("%.50q is not a duration such as 30s, 5m or 1h30m", text)
	}
	return sum, nil
}

// parseStep parses a duration, or a number of seconds, and returns it in ns.
func parseStep(name, text string) (int64, error) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d, err := parseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("parameter %s: %w, or a number of seconds", name, err)
		}
		return d, nil
	}
	if !(s >= 0.001 && s <= float64(maxDuration)/1e9) {
		return 0, fmt.Errorf("parameter %s: %.50q is not a number of seconds from 0.001 to 100 years", name, text)
	}
	return int64(math.Round(s*1000)) * ms, nil
}

// parseTime parses a time in seconds since 1970, or of RFC 3339, and returns it in ns since 1970,
// rounded to ms.
func parseTime(name, text string) (int64, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if lowest, highest := float64(query.Earliest)/1e9, float64(query.Latest)/1e9; s > lowest && s < highest {
			return int64(math.Round(s*1000)) * ms, nil
		}
		return 0, fmt.Errorf("parameter %s: %.50q is not in the years 1901 to 2199", name, text)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("parameter %s: %.50q is neither a number of seconds since 1970 nor a time such as 2026-01-31T12:00:00Z", name, text)
	}
	if t.Year() <= 1900 || t.Year() >= 2200 {
		return 0, fmt.Errorf("parameter %s: year %d is not in the range 1901 to 2199", name, t.Year())
	}
	return t.UnixMilli() * ms, nil
}

// appendTime appends a time in ns since 1970 as seconds.
func appendTime(dst []byte, ns int64) []byte {
	return strconv.AppendFloat(dst, float64(ns/ms)/1000, 'f', -1, 64)
}

// grid is equidistant times, in ns since 1970.
type grid struct{ start, step, n int64 }

func (g *grid) at(k int64) int64 { return g.start + k*g.step }
func (g *grid) last() int64      { return g.at(g.n - 1) }

// cut leaves out the times after a time. The grid may become empty.
func (g *grid) cut(after int64) {
	if after < g.start {
		g.n = 0
	} else {
		g.n = min(g.n, (after-g.start)/g.step+1)
	}
}

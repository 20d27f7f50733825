package csvfile

import (
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// connections says when values follow after a row with a state, such as Disconnected. Readers take the value of a PV as unknown from
// the mark of the state on, until a mark says that it is connected again.
//
// Rows need not be in order of time. Within a batch, the order in the file has no effect. Otherwise it should rise or fall.
type connections struct {
	states           []int64 // the times of the states of the batch, and of the last one that no value follows yet
	earliest, latest int64   // of the samples of earlier batches
}

func newConnections() connections { return connections{earliest: math.MaxInt64, latest: math.MinInt64} }

// end ends a batch of samples. It returns the times at which values follow after a state.
func (c *connections) end(runs map[sample.Type]*sample.Run) (connected []int64) {
	var times []int64
	for _, run := range runs {
		times = append(times, run.Times...)
	}
	if len(c.states) > 0 {
		slices.Sort(times)
		slices.Sort(c.states)
		for len(c.states) > 1 {
			if at := firstAfter(times, c.states[0]); at <= c.states[1] && at != math.MaxInt64 {
				connected = append(connected, at)
			}
			c.states = c.states[1:]
		}
		connected = c.endLast(connected, firstAfter(times, c.states[0]))
	}
	if len(times) > 0 {
		c.earliest, c.latest = min(c.earliest, slices.Min(times)), max(c.latest, slices.Max(times))
	}
	return connected
}

// endLast ends the last state of a batch, after which the batch has a first sample at a time, or at MaxInt64. If the batch has none,
// an earlier batch may have it, because the order falls.
func (c *connections) endLast(connected []int64, next int64) []int64 {
	switch at := c.states[0]; {
	case at < c.earliest:
		next = min(next, c.earliest)
	case next == math.MaxInt64 && at < c.latest: // in no order: the state ends at once
		next = at + 1
	}
	if next == math.MaxInt64 {
		return connected
	}
	c.states = nil
	return append(connected, next)
}

// firstAfter returns the first of sorted times after a time, or MaxInt64.
func firstAfter(times []int64, at int64) int64 {
	if i, _ := slices.BinarySearch(times, at+1); i < len(times) {
		return times[i]
	}
	return math.MaxInt64
}

package agent

import (
	"cmp"
	"slices"
	"time"

	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// Limits of a report.
const (
	worstChannels = 20
)

// Reasons why a channel has a problem.
const (
	neverConnected = "NeverConnected"
	disconnected   = "Disconnected"
	unsupported    = "Unsupported"
	dropping       = "Dropping"
)

// census counts channels by group, in one pass over all channels.
type census struct {
	now         time.Time
	sampleBytes float64 // size of a sample in the store
	groups      map[string]*report.Group
	second      report.Second
	losses      losses
}

// addSecond counts the resources of a channel for which this engine is the second one. It does
// not count the channel itself, because the first engine reports it.
func (c *census) addSecond(s *capture.Status) {
	g := c.group(s.Group)
	bytes := c.bytesPerDay(s)
	g.BytesPerDay += bytes
	c.second.Channels++
	c.second.BytesPerDay += bytes
}

func (c *census) group(name string) *report.Group {
	g := c.groups[name]
	if g == nil {
		g = &report.Group{}
		c.groups[name] = g
	}
	return g
}

// bytesPerDay returns the size of a channel's samples in the journal.
func (c *census) bytesPerDay(s *capture.Status) float64 {
	if s.Received == 0 {
		return 0
	}
	kept := float64(s.Stored) / float64(s.Received)
	return s.Rate * kept * c.sampleBytes * 86400
}

// add counts a channel.
func (c *census) add(s *capture.Status) {
	g := c.group(s.Group)
	g.Channels++
	g.SamplesPerSecond += s.Rate
	g.BytesPerDay += c.bytesPerDay(s)
	since := time.Unix(0, s.Since).UTC()
	worst := report.Channel{PV: s.PV, Message: s.Cause, Since: since}
	losing, lost := c.losses.update(s, c.now)
	switch s.State {
	case capture.Connected:
		g.Connected++
		if s.Silent {
			g.Silent++
		}
		if lost {
			worst.Reason, worst.Since, worst.Message = dropping, losing, ""
		}
	case capture.Searching:
		g.NeverConnected++
		worst.Reason = neverConnected
	case capture.Disconnected:
		g.Disconnected++
		worst.Reason = disconnected
	case capture.Unsupported:
		g.Connected++
		worst.Reason = unsupported
	case capture.Paused:
		g.Paused++
	case capture.Disabled:
		g.Disabled++
	}
	if worst.Reason != "" {
		g.Worst = addWorst(g.Worst, worst)
	}
}

// addWorst adds ch and keeps the channels that have had a problem for the longest time.
func addWorst(worst []report.Channel, ch report.Channel) []report.Channel {
	at, _ := slices.BinarySearchFunc(worst, ch, func(a, b report.Channel) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.PV, b.PV))
	})
	if at == worstChannels {
		return worst
	}
	worst = slices.Insert(worst, at, ch)
	return worst[:min(len(worst), worstChannels)]
}

// result returns the counts by group.
func (c *census) result() map[string]report.Group {
	groups := make(map[string]report.Group, len(c.groups))
	for name, g := range c.groups {
		groups[name] = *g
	}
	return groups
}

// losses tracks which channels lost samples from one report to the next. It has entries
// only for channels that ever lost a sample.
type losses struct {
	before, now map[string]loss
}

type loss struct {
	lost  uint64
	since time.Time // when the loss began; zero: the channel no longer loses samples
}

// next starts a new report.
func (l losses) next() losses { return losses{before: l.now, now: map[string]loss{}} }

// update records the counts of a channel. losing reports whether the channel has lost samples
// since the previous report. since is the time when the loss began.
func (l losses) update(s *capture.Status, now time.Time) (since time.Time, losing bool) {
	e := loss{}
	for r, n := range s.Dropped {
		if sample.Reason(r).Loss() {
			e.lost += n
		}
	}
	if e.lost == 0 {
		return since, false
	}
	was, seen := l.before[s.PV]
	if grown := seen && e.lost > was.lost || !seen && l.before != nil; grown {
		if e.since = was.since; e.since.IsZero() {
			e.since = now
		}
	}
	l.now[s.PV] = e
	return e.since, !e.since.IsZero()
}

package appliance

import (
	"cmp"
	"context"
	"math"
	"slices"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// change lists the fields that have a new value from a time on. Times are in ns since 1970.
type change struct {
	at int64
	// in is the time whose bin carries the fields, if the samples of the answer are bins: the end of a gap, or at.
	in     int64
	fields []header
}

// pending holds the changes that no sample has carried yet, by time. As in the Appliance, the
// first sample after a change carries the new values. If samples are bins, it is the bin of the change.
type pending struct {
	next int64 // no sample before it carries a change; the end of time if there is none
	rest []change
	// starts returns the start of the bin of a time. It is nil if the answer has no bins.
	starts func(t int64) int64
	// early is the end of the last gap before the range. It counts only if the first sample was
	// taken before that gap, because otherwise an earlier sample has carried it.
	early change
}

// changes returns the changes of a PV's metadata within a range, and the ends of its gaps. starts is as in
// pending.
func (h *Handler) changes(ctx context.Context, name string, from, to int64, starts func(t int64) int64) (pending, error) {
	c := pending{next: math.MaxInt64, starts: starts}
	all, early, err := h.gapsEnded(ctx, name, from, to)
	if err != nil {
		return c, err
	}
	var before []header
	for m, err := range h.Reader.MetadataHistory(ctx, name, from, to) {
		if err != nil {
			return c, err
		}
		now := recordFields(&m.Metadata)
		if before != nil {
			all = append(all, change{m.Time, m.Time, differing(before, now)})
		}
		if len(all) > query.MaxGaps {
			return c, query.TooManyMarksError{PV: name}
		}
		before = now
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for _, ch := range all {
		c.add(ch)
	}
	if c.early = early; len(early.fields) > 0 {
		c.next = math.MinInt64 // the first sample decides
	}
	return c, nil
}

// Fields with which the Appliance says that no samples arrived before a sample, so that clients draw
// no line up to it. The values are seconds since 1970.
const (
	lostAt     = "cnxlostepsecs"
	regainedAt = "cnxregainedepsecs"
	// started is "true" if the capture of the PV began anew: after a pause, a stop or a crash.
	started = "startup"
	// regainedIn is "true" for a bin in which a gap ended.
	regainedIn = "connectionChange"
)

// gapsEnded returns a change for each gap that ended within a range, and one for the last gap before
// it. The first sample after the beginning of the gap carries it: the IOC may have produced that sample
// before the connection.
func (h *Handler) gapsEnded(ctx context.Context, name string, from, to int64) (all []change, early change, err error) {
	begins := func(k sample.MarkKind) bool { return k.IsState() && !k.Delivers() }
	for g, err := range query.Gaps(h.Reader.GapMarks(ctx, name, from, to), begins) {
		switch {
		case err != nil:
			return nil, early, err
		case g.To == 0:
			continue
		case g.To <= from:
			early = gapEnded(g)
			continue
		case len(all) == query.MaxGaps:
			return nil, early, query.TooManyMarksError{PV: name}
		}
		all = append(all, gapEnded(g))
	}
	return all, early, nil
}

func gapEnded(g query.Gap) change {
	fields := []header{{lostAt, epoch(g.From)}, {regainedAt, epoch(g.To)}}
	if g.Kind != sample.Disconnected {
		fields = append(fields, header{started, "true"})
	}
	return change{g.From + 1, g.To, fields}
}

// breaks returns the times from which the first sample is the first one after a gap, in order.
func (h *Handler) breaks(ctx context.Context, name string, from, to int64) (times []int64, err error) {
	all, early, err := h.gapsEnded(ctx, name, from, to)
	if len(early.fields) > 0 {
		times = append(times, early.at)
	}
	for _, ch := range all {
		times = append(times, ch.at)
	}
	return times, err
}

func (c *pending) add(ch change) {
	if len(ch.fields) == 0 {
		return
	}
	c.rest = append(c.rest, ch)
	c.await()
}

// await sets next.
func (c *pending) await() {
	c.next = math.MaxInt64
	if len(c.rest) > 0 {
		c.next = c.rest[0].at
		if c.starts != nil {
			c.next = min(c.next, c.starts(c.rest[0].in))
		}
	}
}

// begins returns the time from which a sample, or a bin, carries a change.
func (c *pending) begins(ch *change, bin bool) int64 {
	if bin {
		return c.starts(ch.in)
	}
	return ch.at
}

// upTo removes the changes that a sample at a time, or a bin, carries, and returns their fields. It returns
// each field once.
func (c *pending) upTo(t int64, bin bool) (changed []header) {
	if len(c.early.fields) > 0 {
		if t < c.begins(&c.early, bin) {
			c.rest = slices.Insert(c.rest, 0, c.early)
		}
		c.early = change{}
	}
	for len(c.rest) > 0 && c.begins(&c.rest[0], bin) <= t {
		for _, f := range c.rest[0].carriedBy(bin) {
			if i := slices.IndexFunc(changed, func(h header) bool { return h.name == f.name }); i >= 0 {
				changed[i] = f
			} else {
				changed = append(changed, f)
			}
		}
		c.rest = c.rest[1:]
	}
	c.await()
	return changed
}

// carriedBy returns the fields that a sample, or a bin, carries.
func (ch *change) carriedBy(bin bool) []header {
	if bin && ch.fields[0].name == lostAt {
		return append(slices.Clone(ch.fields), header{regainedIn, "true"})
	}
	return ch.fields
}

// differing returns the fields that are new or have a new value. A field that no longer
// exists gets an empty value.
func differing(before, now []header) (out []header) {
	for _, f := range now {
		if !slices.Contains(before, f) {
			out = append(out, f)
		}
	}
	for _, f := range before {
		if !slices.ContainsFunc(now, func(h header) bool { return h.name == f.name }) {
			out = append(out, header{name: f.name})
		}
	}
	return out
}

// fieldsOf returns the fields that sample i of a run carries. Most samples carry none.
func (s *series) fieldsOf(r *sample.Run, i int) []header {
	if r.Times[i] < s.changes.next && s.extra.field == "" {
		return nil
	}
	return s.carriedFields(r, i)
}

func (s *series) carriedFields(r *sample.Run, i int) (fields []header) {
	if r.Times[i] >= s.changes.next {
		bin := s.changes.starts != nil && (!s.mixed || r.Type.IsArray())
		fields = s.changes.upTo(r.Times[i], bin)
	}
	if s.extra.field != "" {
		fields = append(fields, header{s.extra.field, number(s.extra.values[i])})
	}
	return fields
}

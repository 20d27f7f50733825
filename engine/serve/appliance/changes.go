package appliance

import (
	"context"
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// change lists the fields that have a new value from a time on. The time is in ns since 1970.
type change struct {
	at     int64
	fields []header
}

// pending holds the changes that no sample has carried yet, by time. As in the Appliance, the
// first sample after a change carries the new values.
type pending struct {
	next int64 // time of the first change; the end of time if there is none
	rest []change
}

// changes returns the changes of a PV's metadata within a range.
func (h *Handler) changes(ctx context.Context, name string, from, to int64) (pending, error) {
	c := pending{next: math.MaxInt64}
	var before []header
	for m, err := range h.Reader.MetadataHistory(ctx, name, from, to) {
		if err != nil {
			return c, err
		}
		now := fields(&m.Metadata)
		if before != nil {
			c.add(change{m.Time, differing(before, now)})
		}
		before = now
	}
	return c, nil
}

func (c *pending) add(ch change) {
	if len(ch.fields) == 0 {
		return
	}
	c.rest = append(c.rest, ch)
	c.next = c.rest[0].at
}

// upTo removes the changes at or before a time and returns their fields. It returns each field
// once.
func (c *pending) upTo(t int64) (changed []header) {
	for len(c.rest) > 0 && c.rest[0].at <= t {
		for _, f := range c.rest[0].fields {
			if i := slices.IndexFunc(changed, func(h header) bool { return h.name == f.name }); i >= 0 {
				changed[i] = f
			} else {
				changed = append(changed, f)
			}
		}
		c.rest = c.rest[1:]
	}
	c.next = math.MaxInt64
	if len(c.rest) > 0 {
		c.next = c.rest[0].at
	}
	return changed
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
func (s *series) fieldsOf(r *sample.Run, i int) (fields []header) {
	if r.Times[i] >= s.changes.next {
		fields = s.changes.upTo(r.Times[i])
	}
	if s.extra.field != "" {
		fields = append(fields, header{s.extra.field, number(s.extra.values[i])})
	}
	return fields
}

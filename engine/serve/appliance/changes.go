package appliance

import (
	"context"
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// change is fields that have another value from a time (ns since 1970) on.
type change struct {
	at     int64
	fields []header
}

// news are changes that no sample has told of yet, by time. As the Appliance does,
// the first sample after a change brings the new values along.
type news struct {
	next int64 // time of the first one; the end of time if there is none
	rest []change
}

// changes returns what changed in the metadata of a PV within a range.
func (h *Handler) changes(ctx context.Context, name string, from, to int64) (news, error) {
	c := news{next: math.MaxInt64}
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

func (c *news) add(ch change) {
	if len(ch.fields) == 0 {
		return
	}
	c.rest = append(c.rest, ch)
	c.next = c.rest[0].at
}

// upTo takes the fields that changed at or before a time, each once.
func (c *news) upTo(t int64) (told []header) {
	for len(c.rest) > 0 && c.rest[0].at <= t {
		for _, f := range c.rest[0].fields {
			if i := slices.IndexFunc(told, func(h header) bool { return h.name == f.name }); i >= 0 {
				told[i] = f
			} else {
				told = append(told, f)
			}
		}
		c.rest = c.rest[1:]
	}
	c.next = math.MaxInt64
	if len(c.rest) > 0 {
		c.next = c.rest[0].at
	}
	return told
}

// differing returns the fields that are new, or have another value than before. One
// that is gone becomes empty.
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

// told returns the fields that sample i of a run brings along; mostly none.
func (s *series) told(r *sample.Run, i int) (fields []header) {
	if r.Times[i] >= s.changes.next {
		fields = s.changes.upTo(r.Times[i])
	}
	if s.beside.field != "" {
		fields = append(fields, header{s.beside.field, number(s.beside.values[i])})
	}
	return fields
}

package predicate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// RefusedError is returned for a condition that does not fit the PV.
type RefusedError struct{ text string }

// Error implements error.
func (e RefusedError) Error() string { return e.text }

// UnknownPVError is returned for a PV in the predicate that was never captured.
type UnknownPVError struct {
	PV string
	// Character is where the PV is in the text, counted from 1.
	Character int
}

// Error implements error.
func (e UnknownPVError) Error() string {
	return fmt.Sprintf("at character %d: unknown PV %s", e.Character, e.PV)
}

// Search finds where a predicate holds in a range. It is for one goroutine.
type Search struct {
	predicate *Predicate
	reader    *query.Reader
	from, end int64 // end is the first instant after the range
	pvs       []*source
	text      string
}

// source is what a search knows about a PV of the predicate.
type source struct {
	pv      string
	unknown []query.Unknown
	lost    query.Losses
	// until is the time until which its samples are complete.
	until int64
}

// Bind prepares a search in [from, to], in ns since 1970. A search ends at the present. text is what
// Parse got. Errors about the predicate are a RefusedError, an UnknownPVError or a
// query.TooManyMarksError.
func (p *Predicate) Bind(ctx context.Context, r *query.Reader, text string, from, to, now int64) (*Search, error) {
	s := &Search{predicate: p, reader: r, from: from, end: max(from, min(to, now)+1), text: text}
	for i, pv := range p.PVs {
		src := &source{pv: pv, until: query.Latest}
		last, err := r.LastAt(ctx, pv, s.end-1)
		if errors.Is(err, query.ErrUnknownPV) {
			return nil, UnknownPVError{pv, s.character(p.first(i).at)}
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", pv, err)
		}
		src.note(last.CompleteUntil)
		unknown, err := r.Unknowns(ctx, pv, s.from, s.end)
		if err != nil {
			return nil, fmt.Errorf("reading the marks of %s: %w", pv, err)
		}
		src.unknown = append(src.unknown, unknown...)
		var typ sample.Type
		if last.Run != nil {
			typ = last.Run.Type
		} else if typ, err = r.Type(ctx, pv); err != nil {
			return nil, fmt.Errorf("reading the type of %s: %w", pv, err)
		}
		if err := s.bind(ctx, i, typ); err != nil {
			return nil, err
		}
		s.pvs = append(s.pvs, src)
	}
	return s, nil
}

// note notes the time until which the samples of a read are complete.
func (src *source) note(until int64) {
	if until < src.until {
		src.until = until
		src.unknown = append(src.unknown, query.Unknown{From: until, To: query.Latest, Until: math.MaxInt64})
	}
}

// first returns the first condition on a PV.
func (p *Predicate) first(pv int) *condition {
	return p.conditions[slices.IndexFunc(p.conditions, func(c *condition) bool { return c.pv == pv })]
}

// character returns the number of the character at an offset of the text.
func (s *Search) character(at int) int {
	return utf8.RuneCountInString(s.text[:min(at, len(s.text))]) + 1
}

// bind checks the conditions on a PV, and finds the states that they name.
func (s *Search) bind(ctx context.Context, pv int, typ sample.Type) error {
	name := s.predicate.PVs[pv]
	for _, c := range s.predicate.conditions {
		if c.pv != pv || c.severity {
			continue
		}
		refuse := func(why string) error {
			return RefusedError{fmt.Sprintf("at character %d: %s has values of type %s, %s", s.character(c.at), name, typ, why)}
		}
		switch {
		case typ == sample.Unknown:
		case typ != sample.String && !typ.Fixed():
			return refuse("which cannot be compared; its severity can: severity(" + name + ") > MINOR")
		case c.isText && typ.Numeric():
			return refuse("compare it with a number")
		case !c.isText && typ == sample.String:
			return refuse("compare it with a text in single quotes")
		}
		if c.isText && typ == sample.Enum {
			if err := s.bindLabel(ctx, c, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindLabel finds the states with the label that a condition has. They must be the same in the
// whole range.
func (s *Search) bindLabel(ctx context.Context, c *condition, name string) error {
	var labels []string
	known := false
	for m, err := range s.reader.MetadataHistory(ctx, name, s.from, s.end) {
		if err != nil {
			return fmt.Errorf("reading the metadata of %s: %w", name, err)
		}
		var states []uint64
		for i, label := range m.Labels {
			if label == c.text {
				states = append(states, uint64(i))
			}
		}
		if len(m.Labels) == 0 {
			continue
		}
		if known && !slices.Equal(states, c.states) {
			return RefusedError{fmt.Sprintf("at character %d: the label '%s' of %s names other states in a part of the range; compare with the number of the state",
				s.character(c.at), c.text, name)}
		}
		c.states, known, labels = states, true, m.Labels
	}
	if len(c.states) == 0 {
		return RefusedError{fmt.Sprintf("at character %d: no state of %s has the label '%s'; its labels are '%s'",
			s.character(c.at), name, c.text, strings.Join(labels, "', '"))}
	}
	return nil
}

// CompleteUntil returns a time in ns since 1970. Until then, all samples that engines received are
// in the result. Later the result is unknown.
func (s *Search) CompleteUntil() int64 {
	until := int64(query.Latest)
	for _, src := range s.pvs {
		until = min(until, src.until)
	}
	return until
}

// Lost returns the number of samples of damaged blocks that the search left out so far.
func (s *Search) Lost() (n uint64) {
	for _, src := range s.pvs {
		n += src.lost.Count()
	}
	return n
}

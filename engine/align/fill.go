package align

import (
	"context"
	"math"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// held is the latest sample of a PV.
type held struct {
	at     int64
	has    bool // there is a value of the column's kind
	number float64
	text   string
}

func (h *held) set(kind rollup.Kind, r *sample.Run, i int) {
	h.at, h.has = r.Times[i], rollup.KindOf(r.Type) == kind
	switch {
	case !h.has:
	case kind == rollup.Text:
		h.text = string(r.Value(i))
	default:
		h.number = r.Float(i)
	}
}

// last fills the last sample at or before each time.
func (t *Table) last(ctx context.Context, c *Column, times []int64, lost *query.Losses) (Values, error) {
	v := newValues(c, len(times))
	read, err := t.reader.Read(ctx, c.PV, times[0], times[len(times)-1], query.Options{Lost: lost})
	if err != nil {
		return v, err
	}
	t.note(read.CompleteUntil, 0)
	var cur held
	k, budget := 0, t.textBudget()
	fill := func(end int64) {
		for ; k < len(times) && times[k] < end; k++ {
			if cur.has && !lostBetween(lost, cur.at, times[k]) {
				v.set(k, &cur)
			}
		}
	}
	for run, err := range read.All {
		if err != nil {
			return v, err
		}
		for i, at := range run.Times {
			if i+1 < len(run.Times) && (k == len(times) || run.Times[i+1] <= times[k]) {
				continue // a later sample before the next row
			}
			fill(at)
			if budget < 0 && k > 0 {
				v.rows = k // the texts are long: the next slab has the other rows
				return v, nil
			}
			cur.set(c.Kind, run, i)
			budget -= len(cur.text)
		}
	}
	fill(math.MaxInt64)
	return v, nil
}

func (v *Values) set(k int, h *held) {
	v.Has[k] = true
	if v.Texts != nil {
		v.Texts[k] = h.text
	} else {
		v.Numbers[k] = h.number
	}
}

// lostBetween reports whether damaged blocks may have had samples after a and at or before t.
func lostBetween(lost *query.Losses, a, t int64) bool {
	for _, m := range lost.Marks() {
		if m.Time <= t && a < min(m.End, t) {
			return true
		}
	}
	return false
}

// mean fills the mean from each time until the next one.
func (t *Table) mean(ctx context.Context, c *Column, times []int64, lost *query.Losses) (Values, error) {
	v := newValues(c, len(times))
	bins, err := t.reader.Bins(ctx, c.PV, times[0], times[len(times)-1], 0,
		query.BinOptions{Width: t.opts.Step, Empty: true, First: true, Lost: lost})
	if err != nil {
		return v, err
	}
	t.note(bins.CompleteUntil, 0)
	for b, err := range bins.All {
		if err != nil {
			return v, err
		}
		k := (b.Start - times[0]) / t.opts.Step
		if b.Width != t.opts.Step || b.Start < times[0] || k >= int64(len(times)) || b.Kind != rollup.Number || math.IsNaN(b.Mean) {
			continue
		}
		v.Has[k], v.Numbers[k] = true, b.Mean
	}
	return v, nil
}

// linear interpolates between samples.
func (t *Table) linear(ctx context.Context, c *Column, times []int64, lost *query.Losses) (Values, error) {
	l := line{Values: newValues(c, len(times)), times: times, lost: lost}
	end := times[len(times)-1]
	read, err := t.reader.Read(ctx, c.PV, times[0], end, query.Options{Lost: lost})
	if err != nil {
		return l.Values, err
	}
	t.note(read.CompleteUntil, 0)
	for run, err := range read.All {
		if err == nil && !l.begun {
			l.unknown, err = t.reader.Unknowns(ctx, c.PV, run.Times[0], end)
		}
		if err != nil {
			return l.Values, err
		}
		for i := range run.Times {
			l.add(pointOf(run, i))
		}
	}
	if !l.begun || l.a.at == end {
		l.close()
		return l.Values, nil
	}
	next, err := t.reader.FirstFrom(ctx, c.PV, end+1, lost)
	if err == nil && next != nil {
		l.unknown, err = t.reader.Unknowns(ctx, c.PV, l.a.at, next.Times[0])
		l.add(pointOf(next, 0))
	}
	l.close()
	return l.Values, err
}

// point is a sample between which a line is drawn.
type point struct {
	at     int64
	number bool // it is a number
	joins  bool // the number is finite and defined
	v      float64
}

func pointOf(r *sample.Run, i int) point {
	p := point{at: r.Times[i]}
	if p.number = r.Type.Numeric(); p.number {
		p.v = r.Float(i)
		p.joins = p.v-p.v == 0 && !rollup.Undefined(r.Tags[i])
	}
	return p
}

// line fills the rows between samples.
type line struct {
	Values
	times   []int64
	lost    *query.Losses
	unknown []query.Unknown

	begun bool
	a     point // the latest sample
	k     int   // the next row
}

// add fills the rows from the latest sample until b.
func (l *line) add(b point) {
	if l.begun && l.k < len(l.times) && l.times[l.k] < b.at {
		l.exact()
		if l.k < len(l.times) && l.times[l.k] < b.at && l.a.joins && b.joins && !l.missing(l.a.at, b.at) {
			for k := l.k; k < len(l.times) && l.times[k] < b.at; k++ {
				l.Has[k] = true
				l.Numbers[k] = l.a.v + (b.v-l.a.v)*(float64(l.times[k]-l.a.at)/float64(b.at-l.a.at))
			}
		}
	}
	for l.k < len(l.times) && l.times[l.k] < b.at {
		l.k++
	}
	l.a, l.begun = b, true
}

// exact fills the row at the time of the latest sample.
func (l *line) exact() {
	if l.k < len(l.times) && l.times[l.k] == l.a.at {
		if l.a.number {
			l.Has[l.k], l.Numbers[l.k] = true, l.a.v
		}
		l.k++
	}
}

// missing reports whether samples may be missing between a and b.
func (l *line) missing(a, b int64) bool {
	for len(l.unknown) > 0 && min(l.unknown[0].To, l.unknown[0].Until) < a {
		l.unknown = l.unknown[1:]
	}
	for i := range l.unknown {
		if l.unknown[i].From >= b {
			break
		}
		if l.unknown[i].Between(a, b) {
			return true
		}
	}
	return lostBetween(l.lost, a, b)
}

// close fills the row at the time of the last sample.
func (l *line) close() {
	if l.begun {
		l.exact()
	}
}

package native

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"varve.dev/varve/engine/align"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/value"
)

// Bounds of the distance of the rows of an aligned table.
const (
	minStep = time.Millisecond
	maxStep = 366 * 24 * time.Hour
)

var days = regexp.MustCompile(`^(\d{1,4})([dw])$`)

// parseStep parses the parameter align: a duration such as 100ms, 1s, 5m, 1h or 1d.
func parseStep(text string) (int64, error) {
	step, err := time.ParseDuration(text)
	if m := days.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // the pattern has digits only
		if step, err = time.Duration(n)*24*time.Hour, nil; m[2] == "w" {
			step *= 7
		}
	}
	if err != nil || step < minStep || step > maxStep {
		return 0, badRequest{fmt.Errorf("parameter align: %.50q is not a duration from 1ms to 366d; write it like 100ms, 1s, 5m, 1h or 1d", text)}
	}
	return int64(step), nil
}

var alignedParameters = request.Known{Once: []string{"from", "to", "align", "fill", "format", "group"}, Repeated: []string{"pv"}}

// alignedOptions parses the parameters of an aligned table.
func (h *Handler) alignedOptions(raw string) (q url.Values, o align.Options, err error) {
	if q, err = url.ParseQuery(raw); err != nil {
		return q, o, badRequest{err}
	}
	for _, name := range []string{"where", "points"} {
		if q.Has(name) {
			return q, o, badRequest{fmt.Errorf("parameter %s: it cannot be combined with the parameter align", name)}
		}
	}
	if err = alignedParameters.Check(q); err != nil {
		return q, o, badRequest{err}
	}
	if o.From, o.To, err = h.rangeOf(q); err != nil {
		return q, o, err
	}
	if o.Step, err = parseStep(q.Get("align")); err != nil {
		return q, o, err
	}
	if fill := q.Get("fill"); fill != "" {
		if o.Fill, err = align.ParseFill(fill); err != nil {
			return q, o, badRequest{fmt.Errorf("parameter fill: %w", err)}
		}
	}
	o.Now = h.Now().UnixNano()
	return q, o, nil
}

// aligned answers a table of many PVs with a common grid of times:
//
//	{"notes":{"align":…,"fill":…,"from":…,"to":…},
//	 "columns":[{"name":"time","type":"time"},{"name":…,"type":"float64","unit":…},…],
//	 "rows":[["2026-01-01T00:00:00.000000000Z",1.0,null],…],
//	 "after":{}}
//
// A row has null for a PV without a value.
func (h *Handler) aligned(w http.ResponseWriter, r *http.Request) {
	q, o, err := h.alignedOptions(r.URL.RawQuery)
	if err == nil && q.Get("format") != "" && q.Get("format") != "json" {
		err = badRequest{errors.New("parameter format: an aligned table has the format json")}
	}
	var pvs []string
	if err == nil {
		pvs, err = h.selected(r.Context(), q)
	}
	if err != nil {
		h.failRead(w, r, err)
		return
	}
	leave, err := h.Reads.Enter(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer leave()
	t, err := align.Open(r.Context(), h.Reader, pvs, o)
	if err != nil {
		if errors.Is(err, query.ErrUnknownPV) && len(t.Columns) < len(pvs) {
			err = fmt.Errorf("%w%s", err, h.similar(r.Context(), pvs[len(t.Columns)]))
		}
		h.failRead(w, r, err)
		return
	}
	b := newBody(w)
	b.columns(t, &o)
	err = b.rows(t.All(r.Context()))
	if t.CompleteUntil < o.To {
		b.SetCompleteUntil(t.CompleteUntil)
		b.Buf = append(append(append(b.Buf, `],"after":{"completeUntil":"`...), clock(t.CompleteUntil)...), `"}`...)
	} else {
		b.Buf = append(b.Buf, `],"after":{}`...)
	}
	b.SetLost(t.Lost)
	b.Buf = append(b.Buf, "}\n"...)
	b.Finish(r, h.Log, err, func(err error) { h.failRead(w, r, err) })
}

// columns writes what is known before the first row.
func (b *body) columns(t *align.Table, o *align.Options) {
	b.Buf = fmt.Appendf(b.Buf, `{"notes":{"align":"%s","fill":"%s","from":"%s","to":"%s"},"columns":[{"name":"time","type":"time"}`,
		time.Duration(o.Step), o.Fill, clock(o.From), clock(o.To))
	for i := range t.Columns {
		c := &t.Columns[i]
		typ := "float64"
		switch c.Kind {
		case rollup.Choice:
			typ = "int64"
		case rollup.Text:
			typ = "string"
		}
		b.Buf = value.AppendString(append(b.Buf, `,{"name":`...), c.PV)
		b.Buf = append(append(append(b.Buf, `,"type":"`...), typ...), '"')
		if c.Known && c.Metadata.Units != "" {
			b.Buf = value.AppendString(append(b.Buf, `,"unit":`...), c.Metadata.Units)
		}
		b.Buf = append(b.Buf, '}')
	}
	b.Buf = append(b.Buf, `],"rows":[`...)
}

// rows writes the rows of slabs.
func (b *body) rows(slabs func(yield func(*align.Slab, error) bool)) error {
	first := true
	for s, err := range slabs {
		if err != nil {
			return err
		}
		for i, at := range s.Times {
			if !first {
				b.Buf = append(b.Buf, ',')
			}
			first = false
			b.Buf = time.Unix(0, at).UTC().AppendFormat(b.Buf, "\n[\"2006-01-02T15:04:05.000000000Z\"")
			for c := range s.Columns {
				b.cell(&s.Columns[c], i)
			}
			b.Buf = append(b.Buf, ']')
			if err := b.FlushFull(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *body) cell(v *align.Values, i int) {
	b.Buf = append(b.Buf, ',')
	switch {
	case !v.Has[i]:
		b.Buf = append(b.Buf, "null"...)
	case v.Texts != nil:
		b.Buf = value.AppendString(b.Buf, v.Texts[i])
	case v.States:
		b.Buf = strconv.AppendInt(b.Buf, int64(v.Numbers[i]), 10)
	default:
		b.Buf = value.Quoted.Float(b.Buf, v.Numbers[i], 64)
	}
}

package promapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/value"
)

// Bounds of a query.
const (
	// maxPoints is the maximum number of points of a PV, as in Prometheus, and maxSeries that of PVs.
	maxPoints = 11_000
	maxSeries = 100
	// maxTime is how long a query may take.
	maxTime = 2 * time.Minute
	// maxWarnings is the maximum number of warnings in an answer.
	maxWarnings = 10
)

// query answers the values of PVs at one time.
func (h *Handler) query(w http.ResponseWriter, r *http.Request, q url.Values) error {
	e, err := parse(q.Get("query"))
	if err != nil {
		return badData{fmt.Errorf("parameter query: %w", err)}
	}
	at := h.Now().UnixMilli() * ms
	if text := q.Get("time"); text != "" {
		if at, err = parseTime("time", text); err != nil {
			return badData{err}
		}
	}
	if e.isNumber {
		writeData(w, map[string]any{"resultType": "scalar", "result": []any{float64(at/ms) / 1000, formatValue(e.number)}})
		return nil
	}
	return h.evaluate(w, r, q, e, grid{at, maxDuration, 1}, "vector")
}

// queryRange answers the values of PVs at equidistant times.
func (h *Handler) queryRange(w http.ResponseWriter, r *http.Request, q url.Values) error {
	e, err := parse(q.Get("query"))
	if err != nil {
		return badData{fmt.Errorf("parameter query: %w", err)}
	}
	g, err := gridOf(q)
	if err != nil {
		return badData{err}
	}
	return h.evaluate(w, r, q, e, g, "matrix")
}

// gridOf returns the times of a query.
func gridOf(q url.Values) (g grid, err error) {
	if g.start, err = parseTime("start", q.Get("start")); err != nil {
		return g, err
	}
	end, err := parseTime("end", q.Get("end"))
	if err != nil {
		return g, err
	}
	if g.step, err = parseStep("step", q.Get("step")); err != nil {
		return g, err
	}
	if end < g.start {
		return g, errors.New("parameter end: it is before the parameter start")
	}
	if g.n = (end-g.start)/g.step + 1; g.n > maxPoints {
		return g, fmt.Errorf("exceeded maximum resolution of %d points per timeseries: the range has %d steps; choose a longer parameter step", maxPoints, g.n)
	}
	return g, nil
}

// evaluate evaluates an expression at the times of a grid.
func (h *Handler) evaluate(w http.ResponseWriter, r *http.Request, q url.Values, e *expression, g grid, kind string) error {
	limit := maxTime
	if text := q.Get("timeout"); text != "" {
		d, err := parseStep("timeout", text)
		if err != nil {
			return badData{err}
		}
		limit = min(limit, time.Duration(d))
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	a := &answer{Answer: stream.New(w, "application/json"), kind: kind}
	a.Buf = append(a.Buf, `{"status":"success","data":{"resultType":"`+kind+`","result":[`...)
	err := h.writeAll(ctx, a, e, g)
	a.close()
	a.Finish(r, h.Log, err, func(err error) { h.fail(w, r, err) })
	return nil
}

// completeUntil says until when points are complete, given a time in ns since 1970.
func completeUntil(ns int64) string {
	if text := stream.Until(ns); text != stream.NotKnown {
		return "the points are complete until " + text
	}
	return "it is not known until when the points are complete, so there are none"
}

// writeAll writes the series of an expression.
func (h *Handler) writeAll(ctx context.Context, a *answer, e *expression, g grid) error {
	if e.isNumber {
		s := series{until: query.Latest}
		for k := range g.n {
			s.add(g.at(k), e.number)
		}
		return a.write("", &s)
	}
	names, warning, err := h.find(ctx, &e.selector, maxSeries)
	if err != nil {
		return err
	}
	if len(names) > maxSeries {
		return notExecuted{fmt.Errorf("the query selects more than %d PVs; choose a regular expression that selects fewer", maxSeries)}
	}
	a.warn(warning)
	last := g.last()
	g.cut(h.Now().UnixNano())
	return query.InOrder(ctx, names, func(ctx context.Context, pv string) (series, error) {
		s, err := h.points(ctx, pv, e, g)
		if err != nil {
			err = fmt.Errorf("reading %s: %w", pv, err)
		}
		return s, err
	}, func(pv string, s series) error {
		if s.refused != nil {
			if e.selector.name != "" {
				return s.refused
			}
			a.warn(s.refused.Error())
			return nil
		}
		if s.until < last {
			a.SetCompleteUntil(s.until)
			a.warn(fmt.Sprintf("%s: the newest samples are missing; %s", pv, completeUntil(s.until)))
		}
		if a.lost += s.lost; s.lost > 0 {
			a.SetLost(a.lost)
			a.warn(fmt.Sprintf("%s: %d samples are missing, because their blocks are damaged", pv, s.lost))
		}
		return a.write(pv, &s)
	})
}

// points returns the points of a PV.
func (h *Handler) points(ctx context.Context, pv string, e *expression, g grid) (series, error) {
	typ, err := h.Reader.Type(ctx, pv)
	if err != nil {
		return series{}, err
	}
	kind := rollup.KindOf(typ)
	numbers := e.function == "avg_over_time" || e.function == "min_over_time" || e.function == "max_over_time"
	switch {
	case typ == sample.Unknown || e.function == "count_over_time" || kind == rollup.Number:
	case kind != rollup.Choice:
		return series{refused: notExecuted{fmt.Errorf("%s has values of type %s; numbers and enumerations can be plotted", pv, typ)}}, nil
	case numbers:
		return series{refused: notExecuted{fmt.Errorf("%s is an enumeration; %s needs numbers, use last_over_time", pv, e.function)}}, nil
	}
	if e.function == "" {
		return h.held(ctx, pv, g)
	}
	return h.overTime(ctx, pv, e, g)
}

// find returns the names of the PVs of a selector, in order: one more than the limit if there are more.
// If the selector names a PV that the archive does not know, find returns a warning.
func (h *Handler) find(ctx context.Context, s *selector, limit int) (names []string, warning string, err error) {
	if s.name == "" {
		names, err = h.Reader.Find(ctx, s.pattern(), limit+1)
		return names, "", err
	}
	if !s.matches(s.name) {
		return nil, "", nil
	}
	known, err := h.Reader.Known(ctx, s.name)
	if err != nil || known {
		return []string{s.name}, "", err
	}
	list := request.NewNearest(pvname.Canonical(s.name), 3)
	_, err = h.Reader.Names(ctx, list.Add, 3)
	warning = "unknown PV " + s.name
	if similar := list.Names(); len(similar) > 0 {
		warning += "; similar names are " + strings.Join(similar, ", ")
	}
	return nil, warning, err
}

// answer is the answer to a query while it is sent.
type answer struct {
	*stream.Answer
	kind     string // matrix or vector
	some     bool   // there is a series
	lost     uint64
	warnings []string
}

func (a *answer) warn(text string) {
	if text != "" && len(a.warnings) < maxWarnings {
		a.warnings = append(a.warnings, text)
	}
}

// write writes a series, unless it is empty. A series without a name is a number.
func (a *answer) write(name string, s *series) error {
	if len(s.times) == 0 {
		return nil
	}
	if a.some {
		a.Buf = append(a.Buf, ",\n"...)
	}
	a.some = true
	a.Buf = append(a.Buf, `{"metric":{`...)
	if name != "" {
		a.Buf = value.AppendString(append(a.Buf, `"__name__":`...), name)
	}
	if a.kind == "vector" {
		a.Buf = append(a.Buf, `},"value":`...)
		a.point(s, 0)
	} else {
		a.Buf = append(a.Buf, `},"values":[`...)
		for i := range s.times {
			if i > 0 {
				a.Buf = append(a.Buf, ',')
			}
			a.point(s, i)
		}
		a.Buf = append(a.Buf, ']')
	}
	a.Buf = append(a.Buf, '}')
	return a.FlushFull()
}

func (a *answer) point(s *series, i int) {
	a.Buf = append(appendTime(append(a.Buf, '['), s.times[i]), `,"`...)
	a.Buf = append(append(a.Buf, formatValue(s.values[i])...), `"]`...)
}

// formatValue formats a value as Prometheus does.
func formatValue(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (a *answer) close() {
	a.Buf = append(a.Buf, "]}"...)
	for i, w := range a.warnings {
		if i == 0 {
			a.Buf = append(a.Buf, `,"warnings":[`...)
		} else {
			a.Buf = append(a.Buf, ',')
		}
		a.Buf = value.AppendString(a.Buf, w)
	}
	if len(a.warnings) > 0 {
		a.Buf = append(a.Buf, ']')
	}
	a.Buf = append(a.Buf, "}\n"...)
}

package native

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/serve/value"
)

// maxPoints bounds the points that can be asked for.
const maxPoints = 100_000

// points returns the parameter points, 0 if it is not there.
func points(q url.Values) (int, error) {
	text := q.Get("points")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPoints {
		return 0, fmt.Errorf("parameter points: %q is not a whole number from 1 to %d", text, maxPoints)
	}
	return n, nil
}

// points writes bins:
//
//	{"time":…,"count":10,"severity":"MINOR","covered":1.0,"min":…,"max":…,"mean":…,"std":…,"first":…,"last":…}
//
// Of an enumeration there are first, last and states, the seconds in each; of texts the
// last one; of other values nothing.
func (b *body) points(bins *query.Bins) error {
	first := true
	for bin, err := range bins.All {
		if err != nil {
			return err
		}
		if !first {
			b.buf = append(b.buf, ',')
		}
		first = false
		b.point(bin, bins.Width)
		if err := b.spill(); err != nil {
			return err
		}
	}
	return nil
}

// point writes a bin, and its width if that is not that of the others.
func (b *body) point(bin *rollup.Bin, width int64) {
	b.buf = append(b.buf, "\n{\"time\":\""...)
	b.buf = time.Unix(0, bin.Start).UTC().AppendFormat(b.buf, time.RFC3339Nano)
	b.buf = strconv.AppendUint(append(b.buf, `","count":`...), bin.Count, 10)
	b.buf = append(append(b.buf, `,"severity":"`...), bin.Severity.String()...)
	b.buf = append(b.buf, '"')
	if bin.Width != width {
		b.number("width", float64(bin.Width)/1e9)
	}
	b.number("covered", float64(bin.Covered)/float64(bin.Width))
	switch bin.Kind {
	case rollup.Number:
		b.number("min", bin.Min)
		b.number("max", bin.Max)
		b.number("mean", bin.Mean)
		b.number("std", bin.Std)
		b.number("first", bin.First)
		b.number("last", bin.Last)
	case rollup.Choice:
		b.number("first", bin.First)
		b.number("last", bin.Last)
		b.states(bin)
	case rollup.Text:
		b.buf = value.AppendString(append(b.buf, `,"last":`...), bin.Text)
	}
	b.buf = append(b.buf, '}')
}

func (b *body) number(name string, v float64) {
	b.buf = append(append(append(b.buf, `,"`...), name...), `":`...)
	b.buf = value.Quoted.Float(b.buf, v, 64)
}

// states writes for how many seconds an enumeration was in each state.
func (b *body) states(bin *rollup.Bin) {
	b.buf = append(b.buf, `,"states":{`...)
	for i, s := range bin.States {
		if i > 0 {
			b.buf = append(b.buf, ',')
		}
		b.buf = strconv.AppendUint(append(b.buf, '"'), uint64(s.State), 10)
		b.buf = value.Quoted.Float(append(b.buf, `":`...), float64(s.Time)/1e9, 64)
	}
	b.buf = append(b.buf, '}')
}

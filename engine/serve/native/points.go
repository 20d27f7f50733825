package native

import (
	"strconv"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/serve/value"
)

// maxPoints bounds the parameter points.
const maxPoints = 100_000

// points writes bins:
//
//	{"time":…,"count":10,"severity":"MINOR","covered":1.0,"min":…,"max":…,"mean":…,"std":…,"first":…,"last":…}
//
// The bin of an enumeration has first, last and states. The field states has the number of
// seconds in each state. A bin of strings has last. Bins of other values have none of these.
func (b *body) points(bins *query.Bins) error {
	first := true
	for bin, err := range bins.All {
		if err != nil {
			return err
		}
		if !first {
			b.Buf = append(b.Buf, ',')
		}
		first = false
		b.point(bin, bins.Width)
		if err := b.FlushFull(); err != nil {
			return err
		}
	}
	return nil
}

// point writes a bin. It writes the width if it differs from that of the other bins.
func (b *body) point(bin *rollup.Bin, width int64) {
	b.Buf = append(b.Buf, "\n{\"time\":\""...)
	b.Buf = time.Unix(0, bin.Start).UTC().AppendFormat(b.Buf, time.RFC3339Nano)
	b.Buf = strconv.AppendUint(append(b.Buf, `","count":`...), bin.Count, 10)
	b.Buf = append(append(b.Buf, `,"severity":"`...), bin.Severity.String()...)
	b.Buf = append(b.Buf, '"')
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
		b.Buf = value.AppendString(append(b.Buf, `,"last":`...), bin.Text)
	}
	b.Buf = append(b.Buf, '}')
}

func (b *body) number(name string, v float64) {
	b.Buf = append(append(append(b.Buf, `,"`...), name...), `":`...)
	b.Buf = value.Quoted.Float(b.Buf, v, 64)
}

// states writes how many seconds an enumeration was in each state.
func (b *body) states(bin *rollup.Bin) {
	b.Buf = append(b.Buf, `,"states":{`...)
	for i, s := range bin.States {
		if i > 0 {
			b.Buf = append(b.Buf, ',')
		}
		b.Buf = strconv.AppendUint(append(b.Buf, '"'), uint64(s.State), 10)
		b.Buf = value.Quoted.Float(append(b.Buf, `":`...), float64(s.Time)/1e9, 64)
	}
	b.Buf = append(b.Buf, '}')
}

package jsonaccess

import (
	"context"
	"iter"
	"math"
	"strconv"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
)

// bins writes bins. Where bins do not show the values, such as those of arrays, it writes samples.
func (a *answer) bins(ctx context.Context, bins iter.Seq2[*rollup.Bin, error]) error {
	from, to := int64(0), int64(0) // of such bins
	for b, err := range bins {
		if err != nil {
			return err
		}
		if !shows(b) {
			if from == to {
				from = b.Start
			}
			to = b.End()
			continue
		}
		if err := a.within(ctx, from, to); err != nil {
			return err
		}
		from = to
		if err := a.upTo(b.Start); err != nil {
			return err
		}
		if a.inGap && b.Count == 0 {
			continue
		}
		if err := a.bin(b); err != nil {
			return err
		}
	}
	return a.within(ctx, from, to)
}

// shows reports whether a bin shows all its values.
func shows(b *rollup.Bin) bool {
	switch {
	case b.Changed:
		return false
	case b.Kind == rollup.Choice:
		return len(b.States) > 0 && b.Rest == 0
	}
	return b.Kind == rollup.Number
}

// within writes the samples in the part of [from, to) that is in the range.
func (a *answer) within(ctx context.Context, from, to int64) error {
	if from == to {
		return nil
	}
	read, err := a.reader.Read(ctx, a.pv, max(from, a.start), min(to-1, a.end), query.Options{Inside: a.some, Lost: a.lost})
	if err != nil {
		return err
	}
	a.noteCompleteUntil(read.CompleteUntil)
	return a.runs(ctx, read.All)
}

// bin writes a bin of numbers or states. The status of a bin repeats its severity, because bins
// have no status.
func (a *answer) bin(b *rollup.Bin) error {
	tag := sample.MakeTag(b.LastSeverity, 0)
	if b.Kind == rollup.Choice {
		a.last = held{&sample.Run{Type: sample.Enum, Times: []int64{b.Start}, Tags: []sample.Tag{tag}, Words: []uint64{uint64(b.Last)}}, 0}
		return a.states(b)
	}
	a.last = held{&sample.Run{Type: sample.Float64, Times: []int64{b.Start}, Tags: []sample.Tag{tag}, Words: []uint64{math.Float64bits(b.Last)}}, 0}
	if err := a.history.at(b.Start); err != nil {
		return err
	}
	a.beginItem()
	a.inGap, a.at = false, b.Start
	a.Buf = appendHead(a.Buf, b.Start, b.Severity, true, b.Severity.String(), interpolated)
	a.Buf = append(a.Buf, a.history.numeric...)
	a.Buf = value.Quoted.Float(append(a.Buf, `,"type":"minMaxDouble","value":[`...), b.Mean, 64)
	a.Buf = value.Quoted.Float(append(a.Buf, `],"minimum":`...), b.Min, 64)
	a.Buf = value.Quoted.Float(append(a.Buf, `,"maximum":`...), b.Max, 64)
	a.Buf = append(a.Buf, '}')
	return a.endItem()
}

// states writes each state of a bin once, in the order in which they were first held. The times
// show for how long each was held in all.
func (a *answer) states(b *rollup.Bin) error {
	at := b.Start
	for _, s := range b.States {
		if err := a.history.at(at); err != nil {
			return err
		}
		a.beginItem()
		a.inGap, a.at = false, at
		a.Buf = appendHead(a.Buf, at, b.Severity, true, b.Severity.String(), interpolated)
		a.Buf = append(append(a.Buf, a.history.states...), `,"type":"enum","value":[`...)
		a.Buf = append(strconv.AppendUint(a.Buf, uint64(s.State), 10), "]}"...)
		if err := a.endItem(); err != nil {
			return err
		}
		at += s.Time
	}
	return nil
}

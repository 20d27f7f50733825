package appliance

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"varve.dev/varve/engine/postprocess"
	"varve.dev/varve/engine/sample"
)

// target is a PV that is asked for, as it is or through an operator.
//
// Text without parentheses is a PV, whatever its name has in common with operators.
// What is written as a known operator of a PV is that. Anything else with parentheses
// is a PV if the archive knows one of that name, and an error if not. So a PV whose
// name is written as an operator is read with a scheme in front: ca://mean_600(X).
type target struct {
	text string // as asked for
	pv   string
	op   *postprocess.Operator // nil for samples as they are
	err  error                 // why text is no operator of a PV, if it has parentheses
}

func parseTarget(text string, pp *postprocess.Operator) target {
	t := target{text: text, pv: text, op: pp}
	if postprocess.IsCall(text) {
		t.op, t.pv, t.err = postprocess.ParseCall(text)
	}
	return t
}

// badAsk wraps errors of the client's making.
type badAsk struct{ error }

func (b badAsk) Unwrap() error { return b.error }

// settle decides what parentheses are that do not belong to an operator, by the names
// that the archive knows. pp is what applies to a PV without an operator of its own.
func (h *Handler) settle(ctx context.Context, t *target, pp *postprocess.Operator) error {
	name := t.pv
	if t.err != nil {
		name = t.text
	}
	if !postprocess.IsCall(name) {
		return nil
	}
	known, err := h.Reader.Known(ctx, name)
	switch {
	case err != nil:
		return err
	case known && t.err != nil:
		t.pv, t.op, t.err = t.text, pp, nil
	case known:
	case t.err != nil:
		return badAsk{t.err}
	default:
		return badAsk{fmt.Errorf("operator %s is applied to %s, which is no PV; operators can not be nested", t.op, t.pv)}
	}
	return nil
}

// apply makes the samples of a PV those that an operator gives.
func (s *series) apply(op *postprocess.Operator, from, to int64) error {
	if err := op.Accepts(s.typ); err != nil {
		return badAsk{fmt.Errorf("reading %s: %w", s.name, err)}
	}
	if err := op.Check(from, to); err != nil {
		return badAsk{fmt.Errorf("reading %s: %w", s.name, err)}
	}
	s.runs = op.Apply(s.runs, from, to)
	s.typ, s.count = op.Type(s.typ), op.Count(s.count)
	if field := op.Field(); field != "" {
		s.typ, s.count = sample.Float64, 1
		s.beside.field = field
		s.runs = s.beside.split(s.runs)
	}
	return nil
}

// beside is a number that goes with each sample, as a field. The Appliance gives
// errorbar so: the value is the mean, and the field stdz the standard deviation.
type beside struct {
	field  string    // empty if there is none
	values []float64 // of the samples in the run that is being encoded
}

// split makes arrays of two, the value and the field, into scalars and values.
func (b *beside) split(runs iter.Seq2[*sample.Run, error]) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		scalars := &sample.Run{}
		for r, err := range runs {
			if err != nil {
				yield(nil, err)
				return
			}
			scalars.Reset(sample.Float64)
			scalars.Times, scalars.Tags = append(scalars.Times, r.Times...), append(scalars.Tags, r.Tags...)
			b.values = b.values[:0]
			for i := range r.Len() {
				v := r.Value(i)
				scalars.Words = append(scalars.Words, binary.LittleEndian.Uint64(v))
				b.values = append(b.values, math.Float64frombits(binary.LittleEndian.Uint64(v[8:])))
			}
			if !yield(scalars, nil) {
				return
			}
		}
	}
}

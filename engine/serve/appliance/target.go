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

// target is a PV that a request names, with or without a post-processor.
//
// Text without parentheses is a PV, even if its name looks like a post-processor. A known
// post-processor, followed by a name in parentheses, is applied to the PV of that name.
// Any other text with parentheses is a PV if the archive knows that name, and otherwise
// an error. To read a PV whose own name looks like a post-processor of a PV, a client
// puts a scheme in front: ca://mean_600(X).
type target struct {
	text string // as the request has it
	pv   string
	op   *postprocess.Func // nil for stored samples
	err  error             // why text with parentheses is not a post-processor of a PV
}

func parseTarget(text string, pp *postprocess.Func) target {
	t := target{text: text, pv: text, op: pp}
	if postprocess.IsCall(text) {
		t.op, t.pv, t.err = postprocess.ParseCall(text)
	}
	return t
}

// badQuery wraps the errors in a request that the client can correct.
type badQuery struct{ error }

func (b badQuery) Unwrap() error { return b.error }

// resolve decides whether parentheses belong to the name of a PV. It uses the names that the
// archive knows. pp is the post-processor for PVs without one of their own.
func (h *Handler) resolve(ctx context.Context, t *target, pp *postprocess.Func) error {
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
		return badQuery{t.err}
	default:
		return badQuery{fmt.Errorf("post-processor %s is applied to %s, which is not a PV; post-processors cannot be nested", t.op, t.pv)}
	}
	return nil
}

// accepts returns an error if the post-processor cannot be applied to a type, or to the ranges of a
// request.
func (t *target) accepts(typ sample.Type, q *dataQuery) error {
	if err := t.op.Accepts(typ); err != nil {
		return badQuery{err}
	}
	for _, r := range q.ranges {
		if err := t.op.Check(r.from, r.to); err != nil {
			return badQuery{err}
		}
	}
	return nil
}

// reduceTo gives the series the type of a post-processor's results.
func (s *series) reduceTo(op *postprocess.Func) {
	s.typ, s.count = op.Type(s.typ), op.Count(s.count)
	if field := op.Field(); field != "" {
		s.typ, s.count = sample.Float64, 1
		s.extra.field = field
		s.runs = s.extra.split(s.runs)
	}
}

// fieldValues holds a number for each sample, which accompanies the sample as a field. The
// Appliance answers the post-processor errorbar in this way: the value is the mean, and the
// field stdz is the standard deviation.
type fieldValues struct {
	field  string    // empty if there is none
	values []float64 // of the samples in the run that is being encoded
}

// split splits samples that are arrays of two elements. The first element becomes a scalar
// sample, and the second one goes to values.
func (b *fieldValues) split(runs iter.Seq2[*sample.Run, error]) iter.Seq2[*sample.Run, error] {
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

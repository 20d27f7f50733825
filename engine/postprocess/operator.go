package postprocess

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"varve.dev/varve/engine/sample"
)

// ErrBound is wrapped by errors that say that an operator would need too much memory
// or time; a narrower bin or range needs less.
var ErrBound = errors.New("too much for one answer")

// Operator is an operator with its parameters. It has no state, and may be applied
// many times.
type Operator struct {
	*definition
	text string // as it was asked for
	args []float64
}

// definition is what is known of an operator by name.
type definition struct {
	name   string
	params []param
	takes  operand
	gives  result
	// inside says that the last sample before the range is not wanted.
	inside bool
	// fills says that empty bins give a value.
	fills bool
	stat  *statistic // of a bin, if there is one
	start func(o *Operator, out *output, from, to int64) processor
}

// operand says which values an operator can do with.
type operand uint8

const (
	anything operand = iota
	numbers          // or arrays of numbers, whose first element counts
	scalars          // numbers
)

// result says which type the samples of a result have.
type result uint8

const (
	same result = iota
	float
	floats // an array
	integer
)

// definitions are all operators, by name.
var definitions = func() []definition {
	defs := []definition{
		{name: "firstSample", params: binned, start: newFirstSample},
		{name: "lastSample", params: binned, start: newLastSample},
		{name: "firstFill", params: binned, fills: true, start: newFirstFill},
		{name: "lastFill", params: binned, fills: true, start: newLastFill},
		{name: "nth", params: []param{every}, inside: true, start: newNth},
		{name: "ncount", params: []param{unused}, gives: integer, inside: true, start: newNCount},
		{name: "ignoreflyers", params: []param{width, deviations}, takes: numbers, start: newIgnoreFlyers},
		{name: "flyers", params: []param{width, deviations}, takes: numbers, start: newFlyers},
		{name: "deadBand", params: []param{band}, takes: numbers, start: newDeadBand},
		{name: "caplotbinning", params: binned, takes: numbers, gives: float, start: newPlotBins},
	}
	for i := range statistics {
		s := &statistics[i]
		d := definition{name: s.name, params: binned, takes: numbers, gives: float, stat: s, fills: true, start: newSummary}
		switch {
		case s.points:
			d.params, d.takes, d.gives, d.start = []param{points}, scalars, same, newOptimized
		case s.size > 1:
			d.gives = floats
		case s.anything:
			d.takes = anything
		}
		bare := d // leaves empty bins out
		bare.name, bare.fills = d.name+"Sample", false
		defs = append(defs, d, bare)
	}
	slices.SortFunc(defs, func(a, b definition) int { return strings.Compare(a.name, b.name) })
	return defs
}()

// names are those that a user is told of, sorted.
var names = func() (all []string) {
	for i := range definitions {
		if d := &definitions[i]; d.stat == nil || d.fills {
			all = append(all, d.name)
		}
	}
	return all
}()

// String returns the operator as it was asked for, such as mean_600.
func (o *Operator) String() string { return o.text }

// Accepts returns why the operator can not be applied to values of a type, or nil.
// Nothing is known of an Unknown type, so it is accepted.
func (o *Operator) Accepts(t sample.Type) error {
	switch {
	case o.takes == anything || !t.Valid():
		return nil
	case !hasNumbers(t):
		return fmt.Errorf("operator %s needs numbers, and values of type %s are none", o.text, t)
	case o.takes == scalars && t.IsArray():
		// Nobody could tell a sample from the statistics of a bin.
		return fmt.Errorf("operator %s needs scalars, and values of type %s are arrays", o.text, t)
	}
	return nil
}

// maxBins bounds the bins of an answer in which empty ones are filled: three years
// of seconds.
const maxBins = 100_000_000

// Check returns why the operator can not be applied to a range in ns since 1970, or
// nil.
func (o *Operator) Check(from, to int64) error {
	if !o.fills {
		return nil
	}
	b := o.bins(from, to)
	if n := b.last() - b.first() + 1; n > maxBins {
		return fmt.Errorf("operator %s gives %d bins for this range, more than %d: %w", o.text, n, maxBins, ErrBound)
	}
	return nil
}

// Type returns the type of the result for samples of a type. optimized may give
// float64[] instead of that type.
func (o *Operator) Type(t sample.Type) sample.Type {
	switch o.gives {
	case float:
		return sample.Float64
	case floats:
		return sample.Float64.Array()
	case integer:
		return sample.Int32
	}
	return t
}

// Count returns the number of elements that values of the result have, for samples
// of count elements.
func (o *Operator) Count(count int) int {
	switch o.gives {
	case same:
		return count
	case floats:
		return o.stat.size
	}
	return 1
}

// Points returns how many points optimized was asked for; false for other operators.
func (o *Operator) Points() (n int, ok bool) {
	if o.name != "optimized" && o.name != "optimizedSample" {
		return 0, false
	}
	return int(o.args[0]), true
}

// Fills reports whether empty bins give a value.
func (o *Operator) Fills() bool { return o.fills }

// IsCount reports whether the operator is ncount.
func (o *Operator) IsCount() bool { return o.name == "ncount" }

// Inside reports whether the last sample before the range is not wanted.
func (o *Operator) Inside() bool { return o.inside }

// Field returns the name of a field that goes beside the value, or nothing. With a
// field, samples of the result are arrays of two: the value, and that of the field.
func (o *Operator) Field() string {
	if o.stat == nil {
		return ""
	}
	return o.stat.field
}

// processor takes the samples of a PV, by time, and writes its result to an output.
type processor interface {
	// add takes a run, which is valid until it returns.
	add(r *sample.Run) error
	// close says that there are no more.
	close() error
}

// Apply yields the result for the samples of a PV, by time, of a read of the range
// from to to in ns since 1970. The runs yielded are valid until the next one is asked
// for. An error ends the sequence, which can be used once if runs can.
func (o *Operator) Apply(runs iter.Seq2[*sample.Run, error], from, to int64) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		out := &output{yield: yield}
		p := o.start(o, out, from, to)
		for r, err := range runs {
			if err == nil {
				err = p.add(r)
			}
			if out.ended {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if err := p.close(); err != nil && !out.ended {
			yield(nil, err)
			return
		}
		out.flush()
	}
}

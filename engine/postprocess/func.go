package postprocess

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"varve.dev/varve/engine/sample"
)

// ErrBound is wrapped by the errors of post-processors that would need too much memory or
// time. A narrower bin or a shorter range needs less.
var ErrBound = errors.New("too much for one answer; use narrower bins or a shorter range")

// Func is a post-processor with its parameters. It has no state, and may be applied
// many times.
type Func struct {
	*definition
	text string // as the request has it
	args []float64
	// breaks are times in ns, in order. deadBand yields the first sample at or after each.
	breaks []int64
}

// definition is the part of a post-processor that its name determines.
type definition struct {
	name   string
	params []param
	takes  operand
	gives  result
	// inside leaves out the last sample before the range.
	inside bool
	// fills gives empty bins a value.
	fills bool
	stat  *statistic // of a bin; nil if there is none
	start func(f *Func, out *output, from, to int64) processor
}

// operand is the kind of values that a post-processor accepts.
type operand uint8

const (
	anything operand = iota
	numbers          // numbers, or arrays, whose first element counts
	scalars          // numbers, no arrays
)

// result is the type of the samples of a result.
type result uint8

const (
	same result = iota // the type of the operand
	float
	floats // an array
	integer
)

// definitions are all post-processors, sorted by name.
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

// names are the names that error messages list, sorted. They leave out the variants that
// end in Sample.
var names = func() (all []string) {
	for i := range definitions {
		if d := &definitions[i]; d.stat == nil || d.fills {
			all = append(all, d.name)
		}
	}
	return all
}()

// String returns the post-processor as the request has it, such as mean_600.
func (f *Func) String() string { return f.text }

// Accepts returns why the post-processor cannot be applied to values of a type, or nil.
// It accepts the type Unknown.
func (f *Func) Accepts(t sample.Type) error {
	switch {
	case f.takes == anything || !t.Valid():
		return nil
	case !hasNumbers(t):
		return fmt.Errorf("post-processor %s needs numbers; values of type %s are not numbers", f.text, t)
	case f.takes == scalars && t.IsArray():
		// A reader could not tell a sample from the statistics of a bin.
		return fmt.Errorf("post-processor %s needs scalars; values of type %s are arrays", f.text, t)
	}
	return nil
}

// maxBins bounds the bins of an answer that includes empty bins: three years of bins of
// one second.
const maxBins = 100_000_000

// Check returns why the post-processor cannot be applied to a range in ns since 1970, or
// nil.
func (f *Func) Check(from, to int64) error {
	if !f.fills {
		return nil
	}
	b := f.bins(from, to)
	if n := b.last() - b.first() + 1; n > maxBins {
		return fmt.Errorf("post-processor %s gives %d bins for this range, and an answer has at most %d: %w", f.text, n, maxBins, ErrBound)
	}
	return nil
}

// Type returns the type of the result for samples of a type. optimized may yield
// float64[] instead.
func (f *Func) Type(t sample.Type) sample.Type {
	switch f.gives {
	case float:
		return sample.Float64
	case floats:
		return sample.Float64.Array()
	case integer:
		return sample.Int32
	}
	return t
}

// Count returns the number of elements of values of the result, for samples of count
// elements.
func (f *Func) Count(count int) int {
	switch f.gives {
	case same:
		return count
	case floats:
		return f.stat.size
	}
	return 1
}

// Points returns the number of points that a request asks optimized or optimizedSample for. ok
// is false for other post-processors.
func (f *Func) Points() (n int, ok bool) {
	if f.name != "optimized" && f.name != "optimizedSample" {
		return 0, false
	}
	return int(f.args[0]), true
}

// Statistic returns the name of the statistic that the post-processor yields for each bin, such as mean
// for meanSample_600, and the width of a bin in ns. The name is empty if the result is something else, or
// if the width depends on the range.
func (f *Func) Statistic() (name string, width int64) {
	if f.stat == nil || f.stat.points {
		return "", 0
	}
	return f.stat.name, int64(f.args[0]) * 1e9
}

// Fills reports whether the result has a value for empty bins.
func (f *Func) Fills() bool { return f.fills }

// Holds returns how many bytes the post-processor may hold, beyond a few runs of samples.
func (f *Func) Holds() int64 {
	if f.name == "flyers" || f.name == "ignoreflyers" || f.stat != nil && f.stat.values {
		return maxHeld
	}
	return 0
}

// Starts returns a function that returns the start of the bin of a time, both in ns since 1970, for a result of
// the range [from, to]. It returns nil if samples of the result keep their times.
func (f *Func) Starts(from, to int64) func(t int64) int64 {
	if f.stat == nil && !f.fills && f.name != "caplotbinning" {
		return nil
	}
	b := f.bins(from, to)
	return func(t int64) int64 { return b.start(b.of(t)) }
}

// Mixed reports whether the result is samples, or bins if there are too many samples. The bins are arrays.
func (f *Func) Mixed() bool { return f.stat != nil && f.stat.points }

// Breaks reports whether the result depends on the gaps in which no samples arrived: see Breaking.
func (f *Func) Breaks() bool { return f.name == "deadBand" }

// Breaking returns the post-processor for samples after gaps. breaks are times in ns since 1970, in order: the
// first sample at or after each of them is the first one after a gap.
func (f *Func) Breaking(breaks []int64) *Func {
	g := *f
	g.breaks = breaks
	return &g
}

// IsCount reports whether the post-processor is ncount.
func (f *Func) IsCount() bool { return f.name == "ncount" }

// Inside reports whether the post-processor takes samples in the range only, without the
// last one before it.
func (f *Func) Inside() bool { return f.inside }

// Field returns the name of a field that accompanies the value, or "". With a field,
// samples of the result are arrays of two: the value, and the value of the field.
func (f *Func) Field() string {
	if f.stat == nil {
		return ""
	}
	return f.stat.field
}

// processor takes the samples of a PV, by time, and writes its result to an output.
type processor interface {
	// add adds a run. The run is valid until add returns.
	add(r *sample.Run) error
	// close writes the rest of the result, after the last run.
	close() error
}

// Apply yields the result for the samples of a PV, by time. The samples are those that a
// read of the range [from, to], in ns since 1970, returns. A yielded run is valid until
// the next one is requested. An error ends the sequence. The sequence can be used once
// if runs can be used once.
func (f *Func) Apply(runs iter.Seq2[*sample.Run, error], from, to int64) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		out := &output{yield: yield}
		p := f.start(f, out, from, to)
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

package predicate

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// State is the result of a predicate at a time.
type State uint8

// Results. Each is a bit of a set.
const (
	True State = 1 << iota
	False
	Unknown
)

// String returns the name in answers.
func (s State) String() string {
	switch s {
	case True:
		return "true"
	case False:
		return "false"
	}
	return "unknown"
}

// results is a set of possible results.
type results uint8

const anyResult = results(True | False | Unknown)

// decided reports whether there is one possible result.
func (r results) decided() bool { return r&(r-1) == 0 }

func (r results) has(s State) bool { return r&results(s) != 0 }

// not returns the results of the negation.
func (r results) not() results {
	n := r & results(Unknown)
	if r.has(True) {
		n |= results(False)
	}
	if r.has(False) {
		n |= results(True)
	}
	return n
}

// and returns the results of a conjunction: each result of r with each one of o.
func (r results) and(o results) (all results) {
	for _, a := range []State{True, False, Unknown} {
		for _, b := range []State{True, False, Unknown} {
			switch {
			case !r.has(a) || !o.has(b):
			case a == False || b == False:
				all |= results(False)
			case a == Unknown || b == Unknown:
				all |= results(Unknown)
			default:
				all |= results(True)
			}
		}
	}
	return all
}

func of(b bool) results {
	if b {
		return results(True)
	}
	return results(False)
}

type nodeKind uint8

const (
	leaf nodeKind = iota
	negation
	allOf
	anyOf
)

// node is a part of a predicate.
type node struct {
	kind  nodeKind
	leaf  int // index of a condition
	parts []node
}

// eval returns the possible results, given those of the conditions.
func (n *node) eval(conditions []results) results {
	switch n.kind {
	case leaf:
		return conditions[n.leaf]
	case negation:
		return n.parts[0].eval(conditions).not()
	}
	all := results(True)
	for i := range n.parts {
		r := n.parts[i].eval(conditions)
		if n.kind == anyOf {
			r = r.not()
		}
		all = all.and(r)
	}
	if n.kind == anyOf {
		return all.not()
	}
	return all
}

// value is the last sample of a PV at a time.
type value struct {
	exists bool
	at     int64
	typ    sample.Type
	tag    sample.Tag
	word   uint64
	text   []byte
}

// set makes sample i of a run the value. Of samples of one time it keeps the one that
// rollup.Accumulator takes.
func (v *value) set(r *sample.Run, i int) {
	tag := r.Tags[i] &^ sample.CarriedForward
	var word uint64
	var text []byte
	if r.Type.Fixed() {
		word = r.Words[i]
	} else if r.Type == sample.String {
		text = r.Value(i)
	}
	if v.exists && v.at == r.Times[i] &&
		cmp.Or(cmp.Compare(v.typ, r.Type), cmp.Compare(v.word, word), bytes.Compare(v.text, text), cmp.Compare(v.tag, tag)) > 0 {
		return
	}
	v.exists, v.at, v.typ, v.tag, v.word = true, r.Times[i], r.Type, tag, word
	v.text = append(v.text[:0], text...)
}

// eval returns the result for a value.
func (c *condition) eval(v *value) results {
	switch {
	case !v.exists:
		return results(Unknown)
	case c.severity:
		return of(c.compare(float64(v.tag.Severity())))
	case rollup.Undefined(v.tag):
		return results(Unknown)
	case c.isText && v.typ == sample.Enum:
		return of(slices.Contains(c.states, v.word) == (c.op == equal))
	case c.isText && v.typ == sample.String:
		return of((string(v.text) == c.text) == (c.op == equal))
	case c.isText || !v.typ.Fixed():
		return results(Unknown)
	}
	f := sample.Float(v.typ, v.word)
	if math.IsNaN(f) {
		return results(Unknown)
	}
	return of(c.compare(f))
}

func (c *condition) compare(v float64) bool {
	switch c.op {
	case less:
		return v < c.low
	case lessOrEqual:
		return v <= c.low
	case greater:
		return v > c.low
	case greaterOrEqual:
		return v >= c.low
	case equal:
		return v == c.low
	case unequal:
		return v != c.low
	}
	return c.low <= v && v <= c.high
}

// within returns the possible results in a bin in which the PV always had a value of the bin's
// kind.
func (c *condition) within(b *rollup.Bin) results {
	switch {
	case b.Changed || b.Covered < b.Width:
		return anyResult
	case c.severity:
		return c.severities(b)
	case b.Kind == rollup.Number && !c.isText:
		return c.span(b.Min, b.Max)
	case b.Kind == rollup.Choice && b.Rest == 0 && len(b.States) > 0:
		return c.inStates(b)
	}
	return anyResult
}

// severities returns the results for each severity up to that of the bin.
func (c *condition) severities(b *rollup.Bin) (all results) {
	for s := sample.NoAlarm; s < b.Severity; s++ {
		all |= of(c.compare(float64(s)))
	}
	return all | of(c.compare(float64(b.Severity)))
}

func (c *condition) inStates(b *rollup.Bin) (all results) {
	for _, s := range b.States {
		v := value{exists: true, typ: sample.Enum, word: uint64(s.State)}
		all |= c.eval(&v)
	}
	return all
}

// span returns the possible results for values from low to high.
func (c *condition) span(low, high float64) results {
	if !(low <= high) {
		return anyResult
	}
	if low == high {
		return of(c.compare(low))
	}
	never, always := false, false
	switch c.op {
	case less, lessOrEqual:
		never, always = !c.compare(low), c.compare(high)
	case greater, greaterOrEqual:
		never, always = !c.compare(high), c.compare(low)
	case equal, between:
		never = high < c.low || c.high < low
		always = c.compare(low) && c.compare(high) && c.op == between
	case unequal:
		always = high < c.low || c.low < low
	}
	switch {
	case never:
		return results(False)
	case always:
		return results(True)
	}
	return results(True | False)
}

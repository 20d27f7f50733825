package rollup

import (
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// Kind is the kind of the values in a bin. The numbers are stored.
type Kind uint8

// Kinds of values.
const (
	// Other means arrays and structures, which are only counted.
	Other Kind = iota
	// Number means numeric scalars of any type.
	Number
	// Choice means states of an enumeration.
	Choice
	// Text means strings.
	Text
	numKinds = int(iota)
)

// KindOf returns the kind of the values of a type.
func KindOf(t sample.Type) Kind {
	switch {
	case t.Numeric():
		return Number
	case t == sample.Enum:
		return Choice
	case t == sample.String:
		return Text
	}
	return Other
}

const (
	// MaxStates is the maximum number of enumeration states in a bin: as many as a record has.
	MaxStates = 16
	// MaxText is the maximum number of bytes of a text in a bin.
	MaxText = 256
)

// StateTime is the time in ns that an enumeration was in a state.
type StateTime struct {
	State uint32
	Time  int64
}

// Bin summarizes the samples of an interval that begins at Start and lasts Width ns.
type Bin struct {
	// Start is in ns since 1970.
	Start, Width int64
	// Count is the number of samples.
	Count uint64
	// Covered is the time in ns during which a value of the bin's kind was held.
	Covered int64

	Kind Kind
	// Changed means that earlier values in the bin were of another kind. Only Count and
	// Severity include them.
	Changed bool
	// Held means that the last sample has a value, which the PV still holds after the bin.
	Held bool
	// Severity is the highest severity in the bin. LastSeverity is that of the last sample.
	Severity, LastSeverity sample.Severity

	// Min, Max, Mean and Std apply to numbers. They are NaN if no number was held, and for
	// other kinds.
	Min, Max, Mean, Std float64
	// First and Last apply to numbers and states. They are the first and the last sample or,
	// if the bin has none, the held value.
	First, Last float64
	// States are in the order in which they were first held. Rest is the total time in the
	// states that exceed MaxStates.
	States []StateTime
	Rest   int64
	// Text is the last text, truncated to MaxText bytes.
	Text string
}

// End returns the first instant after the bin.
func (b *Bin) End() int64 { return b.Start + b.Width }

// Next returns a later bin without samples: it holds the last value of b.
func (b *Bin) Next(start, width int64) Bin {
	n := Bin{
		Start: start, Width: width, Kind: b.Kind, Held: b.Held, Severity: b.LastSeverity, LastSeverity: b.LastSeverity,
		First: b.Last, Last: b.Last, Text: b.Text,
		Min: math.NaN(), Max: math.NaN(), Mean: math.NaN(), Std: math.NaN(),
	}
	if !b.Held {
		return n
	}
	n.Covered = width
	switch b.Kind {
	case Number:
		n.Min, n.Max, n.Mean, n.Std = b.Last, b.Last, b.Last, 0
	case Choice:
		n.States = []StateTime{{uint32(b.Last), width}}
	}
	return n
}

// Join extends b by o, which must follow without a gap. The last digits of Mean and Std may
// differ from values computed from the samples. All other fields are the same.
func (b *Bin) Join(o *Bin) {
	first := b.First
	if b.Count == 0 || o.Changed || o.Kind != b.Kind {
		first = o.First
	}
	if o.Changed || o.Kind != b.Kind {
		*b = Bin{
			Start: b.Start, Width: b.Width, Count: b.Count, Severity: b.Severity, Kind: o.Kind, Changed: true,
			Min: o.Min, Max: o.Max, Mean: o.Mean, Std: o.Std, Covered: o.Covered, States: slices.Clone(o.States), Rest: o.Rest,
		}
	} else {
		b.Min, b.Max = lesser(b.Min, o.Min), greater(b.Max, o.Max)
		b.average(o)
		b.Covered += o.Covered
		b.join(o)
	}
	b.Width += o.Width
	b.Count += o.Count
	b.Severity = max(b.Severity, o.Severity)
	b.First, b.Last, b.Text, b.Held, b.LastSeverity = first, o.Last, o.Text, o.Held, o.LastSeverity
}

// average sets Mean and Std to those of both bins together.
func (b *Bin) average(o *Bin) {
	switch {
	case b.Kind != Number || o.Covered == 0:
		return
	case b.Covered == 0:
		b.Mean, b.Std = o.Mean, o.Std
		return
	}
	p := float64(o.Covered) / (float64(b.Covered) + float64(o.Covered))
	d := o.Mean - b.Mean
	v := (1-p)*b.Std*b.Std + p*o.Std*o.Std + p*(1-p)*d*d
	b.Mean, b.Std = b.Mean+p*d, math.Sqrt(v)
}

// join adds the states of o.
func (b *Bin) join(o *Bin) {
	b.Rest += o.Rest
	b.States = slices.Clip(b.States) // the states of copies of b must not change
	for _, s := range o.States {
		if i := slices.IndexFunc(b.States, func(t StateTime) bool { return t.State == s.State }); i >= 0 {
			b.States = slices.Clone(b.States)
			b.States[i].Time += s.Time
		} else if len(b.States) < MaxStates {
			b.States = append(b.States, s)
		} else {
			b.Rest += s.Time
		}
	}
}

// lesser returns the smaller of two numbers, or the one that is not NaN.
func lesser(a, b float64) float64 {
	if b < a || a != a {
		return b
	}
	return a
}

func greater(a, b float64) float64 {
	if b > a || a != a {
		return b
	}
	return a
}

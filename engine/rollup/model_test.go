package rollup

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"varve.dev/varve/engine/sample"
)

// typed is a sample with its type.
type typed struct {
	t sample.Type
	sample.Sample
}

func (s typed) kind() Kind { return KindOf(s.t) }

// number returns the value as a number, and whether it can be held.
func (s typed) number() (float64, bool) {
	if !s.t.Fixed() {
		return 0, !Undefined(s.Tag)
	}
	v := sample.Float(s.t, s.Word)
	return v, !Undefined(s.Tag) && (s.kind() != Number || finite(v))
}

func (s typed) value() value {
	v := value{typ: s.t, tag: s.Tag, word: s.Word}
	if s.t == sample.String {
		v.bytes = s.Bytes
	}
	return v
}

// modelBin computes one bin from all samples of a PV, sorted by time, in the simplest way. It
// returns false if the bin has no sample.
func modelBin(all []typed, start, width int64) (Bin, bool) {
	end := start + width
	var in []typed
	var before *typed
	for i := range all {
		switch s := &all[i]; {
		case s.Time < start:
			before = s
		case s.Time < end:
			in = append(in, *s)
		}
	}
	if len(in) == 0 {
		return Bin{}, false
	}
	b := Bin{Start: start, Width: width, Count: uint64(len(in)), Min: math.NaN(), Max: math.NaN(), Mean: math.NaN(), Std: math.NaN()}
	last := in[len(in)-1]
	b.Kind, b.LastSeverity = last.kind(), last.Tag.Severity()
	_, b.Held = last.number()

	// The values in force, one after the other. Among samples of equal time only the last one
	// is held; the others have no duration.
	type force struct {
		typed
		from, to int64
		sampled  bool
	}
	var forces []force
	if before != nil && in[0].Time > start {
		forces = append(forces, force{*before, start, in[0].Time, false})
	}
	for i, s := range in {
		to := end
		if i+1 < len(in) {
			to = in[i+1].Time
		}
		forces = append(forces, force{s, s.Time, to, true})
	}
	for _, f := range forces {
		b.Severity = max(b.Severity, f.Tag.Severity())
	}
	// The bin summarizes the values after the last change of kind. Other samples may share the
	// time of the change.
	about := 0
	for i, f := range forces {
		if f.from < f.to && f.kind() != b.Kind {
			about = i + 1
			b.Changed = true
		}
	}
	ref, area, sq, hasRef, hasFirst := 0.0, 0.0, 0.0, false, false
	for _, f := range forces[about:] {
		if f.kind() != b.Kind {
			continue // shares its time with the change of kind
		}
		v, valid := f.number()
		dt := f.to - f.from
		if valid && b.Kind == Number {
			b.Min, b.Max = lesser(b.Min, v), greater(b.Max, v)
		}
		if dt > 0 && f.sampled && !hasFirst && f.t.Fixed() {
			b.First, hasFirst = v, true
		}
		if dt == 0 || !valid {
			continue
		}
		b.Covered += dt
		switch b.Kind {
		case Number:
			if !hasRef {
				ref, hasRef = v, true
			}
			d := v - ref
			w := float64(d * float64(dt))
			area += w
			sq += float64(w * d)
		case Choice:
			i := slices.IndexFunc(b.States, func(s StateTime) bool { return s.State == uint32(f.Word) })
			switch {
			case i >= 0:
				b.States[i].Time += dt
			case len(b.States) < MaxStates:
				b.States = append(b.States, StateTime{uint32(f.Word), dt})
			default:
				b.Rest += dt
			}
		}
	}
	switch b.Kind {
	case Number, Choice:
		b.Last, _ = last.number()
	case Text:
		b.Text = string(cut(last.Bytes))
	}
	if hasRef {
		t := float64(b.Covered)
		mean := ref + area/t
		std := math.Sqrt(max(0, (sq-float64(area/t*area))/t))
		if math.IsNaN(std) {
			std = math.Inf(1)
		}
		if !finite(mean) {
			mean = b.Min/2 + b.Max/2
		}
		step := stepOf(b.Min, b.Max)
		b.Mean, b.Std = min(max(coarse(mean, step), b.Min), b.Max), coarse(std, step)
	}
	return b, true
}

// modelBins computes all bins of a width. It computes each one from the samples in it and the
// sample before, as older and later samples do not matter.
func modelBins(all []typed, width int64) (bins []Bin) {
	for i, j := 0, 0; i < len(all); i = j {
		start := Floor(all[i].Time, width)
		for j < len(all) && all[j].Time < start+width {
			j++
		}
		b, _ := modelBin(all[max(0, i-1):j], start, width)
		bins = append(bins, b)
	}
	return bins
}

// canonical sorts samples by time, and samples of equal time in the order that bins use.
func canonical(all []typed) {
	slices.SortStableFunc(all, func(a, b typed) int {
		if a.Time != b.Time {
			return int(min(max(a.Time-b.Time, -1), 1))
		}
		return compare(a.value(), b.value())
	})
}

// text formats a bin with all bits of its floats.
func text(b *Bin) string {
	f := func(v float64) string { return fmt.Sprintf("%x", math.Float64bits(v)) }
	nan := func(v float64) string { // all NaNs are equivalent
		if v != v {
			return "NaN"
		}
		return f(v)
	}
	return fmt.Sprintf("%d+%d n=%d cov=%d kind=%d changed=%v held=%v sev=%v/%v min=%s max=%s mean=%s std=%s first=%s last=%s states=%v rest=%d %q",
		b.Start, b.Width, b.Count, b.Covered, b.Kind, b.Changed, b.Held, b.Severity, b.LastSeverity,
		nan(b.Min), nan(b.Max), nan(b.Mean), nan(b.Std), f(b.First), f(b.Last), b.States, b.Rest, b.Text)
}

// differ returns the first bin that only one of the two lists has.
func differ(got, want []Bin) string {
	for i := range max(len(got), len(want)) {
		g, w := "none", "none"
		if i < len(got) {
			g = text(&got[i])
		}
		if i < len(want) {
			w = text(&want[i])
		}
		if g != w {
			return fmt.Sprintf("bin %d is\n%s\nwant\n%s", i, g, w)
		}
	}
	return ""
}

// randomSamples returns samples sorted by time and without duplicates. They contain everything
// that is difficult for bins.
func randomSamples(rng *rand.Rand, n int) []typed {
	const second = int64(1e9)
	at := rng.Int64N(4e18) - 2e18
	types := []sample.Type{sample.Float64, sample.Float64, sample.Float64, sample.Int16, sample.Float32, sample.Enum, sample.String, sample.Uint8.Array()}
	t := types[rng.IntN(len(types))]
	odd := rng.IntN(3) // how often something unusual happens
	base := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(12)))
	var all []typed
	type key struct {
		t     sample.Type
		time  int64
		tag   sample.Tag
		word  uint64
		bytes string
	}
	seen := map[key]bool{}
	for range n {
		switch rng.IntN(12) {
		case 0:
			at += rng.Int64N(200 * second)
		case 1: // same time as before
		case 2:
			at = Floor(at, second) + second // at the start of a bin
		default:
			at += rng.Int64N(2 * second)
		}
		if odd > 0 && rng.IntN(40) == 0 {
			t = types[rng.IntN(len(types))]
		}
		s := typed{t, sample.Sample{Time: at}}
		if rng.IntN(10) == 0 {
			s.Tag = sample.MakeTag(sample.Severity(rng.IntN(4)), uint16([]int{3, 17}[rng.IntN(2)]))
		}
		switch {
		case t == sample.Float64:
			v := base + float64(rng.IntN(1000))/100
			if odd > 1 && rng.IntN(20) == 0 {
				v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e300, -1e-300}[rng.IntN(6)]
			}
			s.Word = math.Float64bits(v)
		case t == sample.Float32:
			s.Word = uint64(math.Float32bits(rng.Float32()))
		case t == sample.Int16:
			s.Word = uint64(int64(int16(rng.IntN(65536))))
		case t == sample.Enum:
			s.Word = uint64(rng.IntN(20))
		default:
			s.Bytes = []byte(strings.Repeat("é", rng.IntN(4)) + strings.Repeat("x", rng.IntN(2)*rng.IntN(400)))
		}
		if k := (key{t, s.Time, s.Tag, s.Word, string(s.Bytes)}); !seen[k] {
			seen[k] = true
			all = append(all, s)
		}
	}
	return all
}

package postprocess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/varve/engine/sample"
)

// series is a random series of samples of a PV, as a read of [from, to] yields them.
type series struct {
	from, to int64
	runs     []*sample.Run
	samples  []plain
	largest  float64 // finite number, without its sign
}

// randomSeries has bursts, gaps of many bins, equal times and values, NaN, infinities and all
// severities. In some series the PV has changed its type. Some begin before the range, others long
// after its start, and some are empty.
func randomSeries(rng *rand.Rand) *series {
	s := &series{from: base + rng.Int64N(20*second)}
	s.to = s.from + rng.Int64N(600*second)
	value := randomValue(rng)
	at := s.from + (rng.Int64N(3)-1)*rng.Int64N(300*second)
	typ, changes := sample.Float64, rng.IntN(3) == 0
	pause := []int64{second / 10, second, 30 * second}[rng.IntN(3)]
	for range rng.IntN(250) {
		if changes && rng.IntN(20) == 0 {
			typ = []sample.Type{sample.Float64, sample.Int32, sample.Enum, sample.String, sample.Float64.Array()}[rng.IntN(5)]
		}
		if at > s.to {
			break
		}
		s.add(typ, at, sample.Severity(max(0, rng.IntN(12)-8)), value())
		switch rng.IntN(8) {
		case 0, 1:
		case 2:
			at += rng.Int64N(90 * second)
		default:
			at += rng.Int64N(pause)
		}
	}
	return s
}

// randomValue returns a function that returns random values of a series.
func randomValue(rng *rand.Rand) func() float64 {
	offset := []float64{0, 0, 1e9, -3e5}[rng.IntN(4)]
	scale := []float64{1, 0.1, 1e-6, 1e60}[rng.IntN(4)]
	if offset != 0 {
		scale = 1
	}
	odd := []int{1 << 30, 100, 8}[rng.IntN(3)] // one in odd values is not finite
	return func() float64 {
		if rng.IntN(odd) == 0 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
		}
		if rng.IntN(2) == 0 {
			return offset + scale*rng.NormFloat64()
		}
		return offset + scale*float64(rng.IntN(8))
	}
}

// add adds a sample. Of the samples before the range, it keeps the last.
func (s *series) add(typ sample.Type, at int64, sev sample.Severity, v float64) {
	p, in := plain{at: at, sev: sev, v: []float64{v}}, point{float64(at-base) / 1e9, v, sev}
	switch {
	case typ == sample.String:
		p.text = true
	case typ == sample.Int32 || typ == sample.Enum:
		in.v = float64(int64(math.Abs(math.Mod(v, 8)))) // for NaN and infinities the conversion below is not defined
		if math.IsNaN(v) || math.IsInf(v, 0) {
			in.v = 7
		}
		p.v[0] = in.v
	}
	r := runOf(typ, in)
	r.Times[0] = at
	if at < s.from {
		s.runs, s.samples = nil, nil
	}
	s.samples = append(s.samples, p)
	s.runs = append(s.runs, r)
	if x := math.Abs(p.v[0]); !p.text && x <= math.MaxFloat64 {
		s.largest = max(s.largest, x)
	}
}

// inside returns the series without the sample before the range.
func (s *series) inside() *series {
	if len(s.samples) == 0 || s.samples[0].at >= s.from {
		return s
	}
	return &series{s.from, s.to, s.runs[1:], s.samples[1:], s.largest}
}

// cut joins samples of one type to runs of random lengths.
func (s *series) cut(rng *rand.Rand) (runs []*sample.Run) {
	for _, r := range s.runs {
		if k := len(runs) - 1; k >= 0 && runs[k].Type == r.Type && rng.IntN(6) > 0 {
			runs[k].AppendRange(r, 0, 1)
		} else {
			runs = append(runs, r.Clone())
		}
	}
	return runs
}

// randomParams returns parameters for a post-processor.
func randomParams(rng *rand.Rand, d *definition) (text []string, arg []float64) {
	for _, p := range d.params {
		v := float64(1 + rng.IntN(60))
		if !p.whole {
			v = []float64{0.7654321, 1.2345678, 2.3456789}[rng.IntN(3)] // no number is exactly so far away
		}
		arg = append(arg, v)
		text = append(text, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return text, arg
}

// differ applies a post-processor to a random series. It returns how the result differs from that of
// the reference, or "".
func differ(rng *rand.Rand, d *definition) string {
	s := randomSeries(rng)
	if d.inside {
		s = s.inside()
	}
	params, arg := randomParams(rng, d)
	f, err := Parse(strings.Join(append([]string{d.name}, params...), "_"))
	if err != nil {
		return err.Error()
	}
	q := request{d.name, arg, s.samples, s.from, s.to}
	want := q.reference()
	var got []plain
	for r, err := range f.Apply(seq(s.cut(rng)...), s.from, s.to) {
		if err != nil {
			return err.Error()
		}
		for i := range r.Len() {
			got = append(got, plain{at: r.Times[i], sev: r.Tags[i].Severity(), v: valuesOf(r, i), text: r.Type == sample.String})
		}
	}
	for i := range min(len(got), len(want)) {
		if diff := s.compare(d, &got[i], &want[i]); diff != "" {
			return fmt.Sprintf("%s: sample %d of %d, %.3f s after the start: %s", f, i, len(want), float64(want[i].at-s.from)/1e9, diff)
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%s yields %d samples, want %d", f, len(got), len(want))
	}
	return ""
}

// valuesOf returns the numbers of a sample.
func valuesOf(r *sample.Run, i int) (v []float64) {
	switch {
	case r.Type == sample.String:
		return []float64{math.NaN()}
	case r.Type.Fixed():
		return []float64{r.Float(i)}
	}
	for k := range len(r.Value(i)) / r.Type.ElemSize() {
		v = append(v, sample.Float(r.Type.Elem(), sample.Word(r.Type, r.Value(i), k)))
	}
	return v
}

// compare returns how a sample differs from the one that the reference computed.
func (s *series) compare(d *definition, got, want *plain) string {
	switch {
	case got.at != want.at:
		return fmt.Sprintf("it is %.9f s late", float64(got.at-want.at)/1e9)
	case got.sev != want.sev:
		return fmt.Sprintf("its severity is %v, want %v", got.sev, want.sev)
	case got.text != want.text:
		return "it has another type"
	case want.text || want.unequal:
		return ""
	case want.chosen: // arrays have more elements
		if x, y := got.v[0], want.v[0]; x != y && !(math.IsNaN(x) && math.IsNaN(y)) {
			return fmt.Sprintf("it is %v, want %v", x, y)
		}
		return ""
	case len(got.v) != len(want.v):
		return fmt.Sprintf("it has %d numbers, want %d", len(got.v), len(want.v))
	}
	for k := range want.v {
		if x, y := got.v[k], want.v[k]; !s.near(d, k, x, y) {
			return fmt.Sprintf("number %d is %v, want %v", k, x, y)
		}
	}
	if k := slices.Index([]string{"stats", "optimized"}, strings.TrimSuffix(d.name, "Sample")); k >= 0 && (got.v[0] < got.v[2] || got.v[0] > got.v[3]) {
		return fmt.Sprintf("the mean %v is not between %v and %v", got.v[0], got.v[2], got.v[3])
	}
	return ""
}

// near reports whether a number of a result is right but for rounding.
func (s *series) near(d *definition, k int, got, want float64) bool {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return true
	}
	off, scale := math.Abs(got-want), math.Abs(want)
	switch name := strings.TrimSuffix(d.name, "Sample"); name {
	case "mean", "linear", "rms":
		return off <= 1e-13*s.largest
	case "loess":
		return off <= 1e-6*s.largest
	case "std", "variance", "popvariance", "jitter":
		return off <= 1e-5*scale || off <= 1e-16*s.largest
	case "skewness", "kurtosis":
		return off <= 1e-5*max(1, scale)
	case "errorbar", "stats", "optimized", "optimLast", "optimLastSample":
		return k == 0 && off <= 1e-13*s.largest || k == 1 && (off <= 1e-5*scale || off <= 1e-16*s.largest)
	}
	return off <= 1e-15*scale // median
}

// TestPostProcessorsEqualTheReference compares each post-processor with a plain reference, on random
// series.
func TestPostProcessorsEqualTheReference(t *testing.T) { compareAll(t, 0, 60) }

func TestLong_PostProcessorsEqualTheReference(t *testing.T) { compareAll(t, 60, 600) }

// compareAll compares each post-processor with the reference, for each seed from first to last-1.
func compareAll(t *testing.T, first, last uint64) {
	for i := range definitions {
		d := &definitions[i]
		t.Run(d.name, func(t *testing.T) {
			for seed := first; seed < last; seed++ {
				if diff := differ(rand.New(rand.NewPCG(seed, uint64(i))), d); diff != "" {
					t.Fatalf("seed %d: %s", seed, diff)
				}
			}
		})
	}
}

package rollup

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
)

// feeder adds samples to an accumulator as runs.
type feeder struct {
	acc  *Accumulator
	bins []Bin
}

// add adds samples as one run for each segment of one type.
func (f *feeder) add(samples []typed) {
	for len(samples) > 0 {
		n := 1
		for n < len(samples) && samples[n].t == samples[0].t {
			n++
		}
		r := &sample.Run{Type: samples[0].t}
		for _, s := range samples[:n] {
			r.Append(&s.Sample)
		}
		f.bins = f.acc.Add(f.bins, r, 0, n)
		for i := range r.Bytes {
			r.Bytes[i] = '?' // the accumulator must no longer read these bytes
		}
		samples = samples[n:]
	}
}

// shuffleTies shuffles samples of equal time.
func shuffleTies(rng *rand.Rand, all []typed) {
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].Time == all[i].Time {
			j++
		}
		rng.Shuffle(j-i, func(a, b int) { all[i+a], all[i+b] = all[i+b], all[i+a] })
		i = j
	}
}

// TestBinsAreAFunctionOfTheSamples adds samples in pieces of all sizes, from the first sample
// or from the middle of a range. In between it copies accumulators and closes bins. The result
// must equal that of the model bit for bit.
func TestBinsAreAFunctionOfTheSamples(t *testing.T) { accumulate(t, 150) }

func TestLong_BinsAreAFunctionOfTheSamples(t *testing.T) { accumulate(t, 600) }

func accumulate(t *testing.T, seeds uint64) {
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 0))
		all := randomSamples(rng, 1+rng.IntN(400))
		width := []int64{1e9, 10e9, 60e9, 1e8}[rng.IntN(4)]
		canonical(all)
		want := modelBins(all, width)
		shuffleTies(rng, all)

		f := &feeder{acc: NewAccumulator(width)}
		other := NewAccumulator(1)
		from := 0
		if rng.IntN(2) == 0 { // a range starts with the sample before it
			from = rng.IntN(len(all))
			for from > 0 && all[from-1].Time == all[from].Time {
				from--
			}
			start := Floor(all[from].Time, width) + width
			want = slices.DeleteFunc(want, func(b Bin) bool { return b.Start < start })
		}
		for i := from; i < len(all); {
			n := 1 + rng.IntN(len(all)-i)
			if rng.IntN(3) == 0 {
				n = min(n, 2)
			}
			f.add(all[i : i+n])
			i += n
			if rng.IntN(4) == 0 { // continue with a copy
				other.Copy(f.acc)
				f.add(all[:0])
				f.acc, other = other, f.acc
				other.Add(nil, &sample.Run{Type: sample.Float64, Times: []int64{math.MaxInt64 / 2}, Tags: []sample.Tag{0}, Words: []uint64{1}}, 0, 1)
			}
			if through, ok := f.acc.Through(); !ok || i < len(all) && through > Floor(all[i].Time, width) {
				t.Fatalf("seed %d: closed through %d, %v, before the sample of %d", seed, through, ok, all[i].Time)
			}
			if i == len(all) || all[i].Time >= Floor(all[i-1].Time, width)+width {
				if rng.IntN(2) == 0 {
					f.bins = f.acc.Close(f.bins, Floor(all[i-1].Time, width)+width)
				}
			}
		}
		f.bins = f.acc.Close(f.bins, math.MaxInt64)
		if len(want) > 0 {
			f.bins = slices.DeleteFunc(f.bins, func(b Bin) bool { return b.Start < want[0].Start })
		} else {
			f.bins = nil
		}
		if d := differ(f.bins, want); d != "" {
			t.Fatalf("seed %d, width %v, from %d of %d: %s", seed, time.Duration(width), from, len(all), d)
		}
	}
}

// TestJoin joins bins and fills in those without samples. It compares the result with bins
// that were computed with the larger width.
func TestJoin(t *testing.T) { join(t, 150) }

func TestLong_Join(t *testing.T) { join(t, 400) }

func join(t *testing.T, seeds uint64) {
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		all := randomSamples(rng, 1+rng.IntN(300))
		canonical(all)
		narrow, by := int64(1e9), int64(1+rng.IntN(20))
		fine := modelBins(all, narrow)
		for _, want := range modelBins(all, narrow*by) {
			i := slices.IndexFunc(fine, func(b Bin) bool { return b.Start >= want.Start })
			var got Bin
			if fine[i].Start > want.Start && i > 0 {
				got = fine[i-1].Next(want.Start, fine[i].Start-want.Start)
				got.Join(&fine[i])
			} else {
				got = fine[i]
				got.Start, got.Width = want.Start, fine[i].End()-want.Start
			}
			for end := want.End(); got.End() < end; {
				next := end
				if i+1 < len(fine) {
					next = min(next, fine[i+1].Start)
				}
				if next > got.End() {
					gap := fine[i].Next(got.End(), next-got.End())
					got.Join(&gap)
				} else {
					i++
					got.Join(&fine[i])
				}
			}
			if near(got.Mean, want.Mean, &want) && near(got.Std, want.Std, &want) {
				got.Mean, got.Std = want.Mean, want.Std
			}
			if want.Rest > 0 { // more states than a bin can hold
				got.States, got.Rest = want.States, want.Rest
			}
			if text(&got) != text(&want) {
				t.Fatalf("seed %d: joined from %d bins\n%s\nwant\n%s", seed, by, text(&got), text(&want))
			}
		}
	}
}

// near reports whether two figures of a bin differ by at most rounding errors.
func near(a, b float64, of *Bin) bool {
	spread := of.Max - of.Min
	return a == b || a != a && b != b || math.Abs(a-b) <= 1e-5*spread+1e-15*math.Abs(of.Mean) || spread > 1e200
}

// TestStdOfReadingsFarFromZero checks that Std keeps its precision for large numbers, whose
// sums of squares would lose it.
func TestStdOfReadingsFarFromZero(t *testing.T) {
	const width = int64(10e9)
	r := &sample.Run{Type: sample.Float64}
	for i := range int64(1000) {
		v := 1e9 + 1e-3*float64(i%2*2-1)
		r.Append(&sample.Sample{Time: i * 1e7, Word: math.Float64bits(v)})
	}
	a := NewAccumulator(width)
	bins := a.Close(a.Add(nil, r, 0, r.Len()), width)
	if len(bins) != 1 || math.Abs(bins[0].Std-1e-3) > 1e-6 || math.Abs(bins[0].Mean-1e9) > 1e-6 {
		t.Errorf("readings of 10⁹ ± 10⁻³ have %v ± %v", bins[0].Mean, bins[0].Std)
	}
}

func benchRun(t sample.Type, n int) *sample.Run {
	r, rng := &sample.Run{Type: t}, rand.New(rand.NewPCG(1, 1))
	for i := range n {
		s := sample.Sample{Time: int64(i)*1e8 + rng.Int64N(20000), Word: uint64(rng.IntN(4096))}
		if t == sample.Float64 {
			s.Word = math.Float64bits(float64(rng.IntN(4096)) / 100)
		}
		r.Append(&s)
	}
	return r
}

// BenchmarkAccumulate adds 10 Hz samples to one level.
func BenchmarkAccumulate(b *testing.B) {
	for name, typ := range map[string]sample.Type{"float64": sample.Float64, "int32": sample.Int32} {
		for _, width := range []time.Duration{10 * time.Second, 5 * time.Minute, 6 * time.Hour} {
			b.Run(name+"/"+width.String(), func(b *testing.B) {
				r := benchRun(typ, 1<<16)
				a, bins := NewAccumulator(int64(width)), make([]Bin, 0, 1000)
				b.ReportAllocs()
				for b.Loop() {
					a.Reset(int64(width))
					bins = a.Add(bins[:0], r, 0, r.Len())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(r.Len()), "ns/sample")
			})
		}
	}
}

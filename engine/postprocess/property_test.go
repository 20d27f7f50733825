package postprocess

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
)

// cut cuts a run into runs of random lengths.
func cut(rng *rand.Rand, r *sample.Run) (runs []*sample.Run) {
	for i := 0; i < r.Len(); {
		j := min(r.Len(), i+1+rng.IntN(1+rng.IntN(50)))
		part := &sample.Run{Type: r.Type}
		part.AppendRange(r, i, j)
		runs = append(runs, part)
		i = j
	}
	return runs
}

// randomRun returns a run with bursts and gaps, equal times, NaN, alarms and, in most runs, a large offset.
func randomRun(rng *rand.Rand) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	offset := []float64{0, 1e9, -1e6}[rng.IntN(3)]
	at := base - 5*second
	for range rng.IntN(400) {
		at += []int64{0, rng.Int64N(second), rng.Int64N(second), rng.Int64N(40 * second)}[rng.IntN(4)]
		v := offset + float64(rng.IntN(100))
		if rng.IntN(20) == 0 {
			v = math.NaN()
		}
		s := sample.Sample{Time: at, Word: math.Float64bits(v)}
		if rng.IntN(10) == 0 {
			s.Tag = sample.MakeTag(sample.Severity(rng.IntN(4)), 0)
		}
		if at < base {
			r.Reset(r.Type) // a read gives one sample before its range
		}
		r.Append(&s)
	}
	return r
}

// collect applies a post-processor to runs, and returns its result as one run. All samples of the result
// have one type.
func collect(t testing.TB, f *Func, from, to int64, runs ...*sample.Run) *sample.Run {
	t.Helper()
	all := &sample.Run{}
	for r, err := range f.Apply(seq(runs...), from, to) {
		if err != nil {
			t.Fatal(err)
		}
		if all.Len() == 0 {
			all.Reset(r.Type)
		}
		all.AppendRange(r, 0, r.Len())
	}
	return all
}

// column returns element k of the arrays of a run.
func column(r *sample.Run, k int) (v []float64) {
	for i := range r.Len() {
		v = append(v, math.Float64frombits(sample.Word(r.Type, r.Value(i), k)))
	}
	return v
}

func within(a, b, part float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= part*max(1, math.Abs(a), math.Abs(b))
}

// naive computes the moments of the numbers between two times in one plain loop.
func naive(r *sample.Run, from, to int64) (n int, mean, std, lo, hi float64) {
	lo, hi, mean, std = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	var v []float64
	for i, t := range r.Times {
		if x := r.Float(i); t >= from && t < to && !math.IsNaN(x) {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return 0, mean, std, lo, hi
	}
	mean = v[0]
	for _, x := range v {
		mean += (x - v[0]) / float64(len(v))
	}
	sum := 0.0
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	std = 0
	if len(v) > 1 {
		std = math.Sqrt(sum / float64(len(v)-1))
	}
	return len(v), mean, std, slices.Min(v), slices.Max(v)
}

// TestBinsAgreeWithAPlainLoop checks that the statistics of bins equal those of a plain loop
// over all samples, regardless of how the samples are cut into runs, and that every
// sample is in one bin.
func TestBinsAgreeWithAPlainLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		r := randomRun(rng)
		width := 1 + rng.Int64N(30)
		from, to := base, base+rng.Int64N(3000)*second
		if i, _ := slices.BinarySearch(r.Times, to+1); i < r.Len() {
			rest := &sample.Run{Type: r.Type}
			rest.AppendRange(r, 0, i)
			r = rest
		}
		got := collect(t, parse(t, fmt.Sprintf("statsSample_%d", width)), from, to, cut(rng, r)...)
		total := 0.0
		for i, at := range got.Times {
			lo, hi := at-width*second/2, at+(width*second+1)/2
			if lo, hi = max(lo, from), min(hi, to+1); i == 0 && r.Times[0] < from {
				lo, hi = r.Times[0], from // the sample before the range
			}
			n, mean, std, least, most := naive(r, lo, hi)
			want := []float64{mean, std, least, most, float64(n)}
			for k, w := range want {
				if v := column(got, k)[i]; !within(v, w, 1e-7) {
					t.Fatalf("width %d, bin %d: statistic %d is %v, want %v", width, i, k, v, w)
				}
			}
			total += float64(n)
		}
		if n, _, _, _, _ := naive(r, math.MinInt64, math.MaxInt64); int(total) != n {
			t.Fatalf("%d of %d samples are in bins", int(total), n)
		}
	}
}

// TestResultDoesNotDependOnRuns checks that every post-processor yields the same samples, in
// order of time, regardless of how its input is cut into runs.
func TestResultDoesNotDependOnRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		r := randomRun(rng)
		for i := range definitions {
			f := parse(t, definitions[i].name+"_7")
			to := base + 2000*second
			whole := collect(t, f, base, to, r)
			parts := collect(t, f, base, to, cut(rng, r)...)
			if !slices.Equal(whole.Times, parts.Times) || !slices.Equal(whole.Tags, parts.Tags) || whole.Type != parts.Type {
				t.Fatalf("%s yields other samples if its input is cut into runs", f)
			}
			if !slices.IsSorted(whole.Times) {
				t.Fatalf("%s yields times out of order", f)
			}
			for k := range whole.Len() {
				if whole.Type.Fixed() && !within(whole.Float(k), parts.Float(k), 1e-6) {
					t.Fatalf("%s: sample %d is %v, but %v if the input is cut into runs",
						f, k, whole.Float(k), parts.Float(k))
				}
			}
		}
	}
}

// TestFlyersAndIgnoreFlyersSplitTheSamples checks that flyers and ignoreflyers together yield as
// many samples as the run has, except NaN.
func TestFlyersAndIgnoreFlyersSplitTheSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		r := randomRun(rng)
		away := collect(t, parse(t, "flyers_20_1.2"), base, base+9000*second, r)
		kept := collect(t, parse(t, "ignoreflyers_20_1.2"), base, base+9000*second, r)
		n, _, _, _, _ := naive(r, math.MinInt64, math.MaxInt64)
		if away.Len()+kept.Len() != n {
			t.Fatalf("there are %d flyers and %d other samples, want %d in all", away.Len(), kept.Len(), n)
		}
	}
}

// TestMeanIsExact checks that the mean of equal numbers is that number, and that the
// mean of finite numbers is finite.
func TestMeanIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		v := slices.Repeat([]float64{rng.NormFloat64() * math.Pow(10, float64(rng.IntN(20)))}, 1+rng.IntN(100))
		m := momentsOf(v, toKurtosis, true)
		m.join(&m)
		if m.mean != v[0] || m.m2 != 0 || m.m4 != 0 || m.min != v[0] || m.max != v[0] {
			t.Fatalf("the moments of %d times %v are %+v", len(v), v[0], m)
		}
	}
	for _, c := range []struct{ v, want float64 }{{meanOf([]float64{1e308, 1e308, -1e308}), 1e308 / 3}, {meanOf([]float64{math.Inf(1), 5}), math.Inf(1)}} {
		if !within(c.v/1e308, c.want/1e308, 1e-9) {
			t.Errorf("the mean is %v, want %v", c.v, c.want)
		}
	}
}

// TestJoinedMomentsEqualThoseOfAllNumbers checks that joined moments equal those of all
// numbers at once, also far from 0.
func TestJoinedMomentsEqualThoseOfAllNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		var v []float64
		for range 4 + rng.IntN(60) {
			v = append(v, 1e6+rng.NormFloat64())
		}
		k := 1 + rng.IntN(len(v)-1)
		all := momentsOf(v, toKurtosis, true)
		a, b := momentsOf(v[:k], toKurtosis, true), momentsOf(v[k:], toKurtosis, true)
		a.join(&b)
		same := func(x, y float64) bool { return within(x, y, 1e-6) }
		if a.n != all.n || !same(a.mean, all.mean) || !same(a.m2, all.m2) || !same(a.m3, all.m3) || !same(a.m4, all.m4) || a.min != all.min || a.last != all.last {
			t.Fatalf("joined at %d: %+v, want %+v", k, a, all)
		}
	}
}

// TestLoessOfALine checks that for samples on a line, loess returns the value of the line at
// the middle of the bin. With noise and an outlier, the result is close to it.
func TestLoessOfALine(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 50 {
		var points []point
		for range 30 + rng.IntN(100) {
			at := 10 * rng.Float64()
			points = append(points, point{at, 3 + 2*at, 0})
		}
		points = append(points, point{0.01, 3.02, 0}, point{9.99, 22.98, 0})
		slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
		for _, noise := range []float64{0, 0.6} {
			got := collect(t, parse(t, "loess_10"), base, base+9*second, runOf(sample.Float64, points...))
			if v := got.Float(0); math.Abs(v-13) > noise+1e-8 {
				t.Fatalf("loess of %d samples of a line gives %v at its middle, want 13", len(points), v)
			}
			for i := range points { // without noise an outlier cannot be detected
				points[i].v += rng.Float64() - 0.5
			}
			points[rng.IntN(len(points))].v += 5
		}
	}
}

// TestSpline checks values of the natural spline through 0, 1, 0, 1, whose second derivatives at
// these points are 0, -4, 4, 0.
func TestSpline(t *testing.T) {
	x, y := []float64{0, 1, 2, 3}, []float64{0, 1, 0, 1}
	for at, want := range map[float64]float64{0: 0, 0.5: 0.75, 1: 1, 1.5: 0.5, 2.5: 0.25, 3: 1} {
		if got := spline(x, y, at); math.Abs(got-want) > 1e-12 {
			t.Errorf("the spline at %v is %v, want %v", at, got, want)
		}
	}
}

// TestApplyEndsWhenTheConsumerStops checks that Apply ends at once when its consumer stops,
// also while it fills empty bins.
func TestApplyEndsWhenTheConsumerStops(t *testing.T) {
	for _, name := range names {
		f := parse(t, name)
		n := 0
		for range f.Apply(seq(runOf(sample.Float64, golden...)), base, base+1e5*second) {
			n++
			break
		}
		if n > 1 {
			t.Errorf("%s continued after its consumer stopped", name)
		}
	}
	f := parse(t, "mean_1")
	for range f.Apply(seq(runOf(sample.Float64, golden...)), base, base+1e17) {
		break // if Apply did not end here, it would take minutes
	}
}

// TestYieldedRunsAreBounded checks that yielded runs are bounded, regardless of how many bins
// are filled.
func TestYieldedRunsAreBounded(t *testing.T) {
	for _, op := range []string{"mean_1", "stats_1", "lastFill_1"} {
		n := 0
		for r, err := range parse(t, op).Apply(seq(runOf(sample.Float64, golden...)), base, base+1e5*second-1) {
			if err != nil || r.Len() > chunkSamples {
				t.Fatalf("%s: %d samples, %v", op, r.Len(), err)
			}
			n += r.Len()
		}
		if n != 1e5+1 {
			t.Errorf("%s gives %d bins", op, n)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	const each, runs = 4096, 64
	all := make([]*sample.Run, runs)
	rng := rand.New(rand.NewPCG(1, 1))
	for k := range all {
		all[k] = &sample.Run{Type: sample.Float64}
		for i := range each {
			all[k].Append(&sample.Sample{Time: base + int64(k*each+i)*second/10, Word: math.Float64bits(float64(rng.IntN(4096)) / 100)})
		}
	}
	to := base + runs*each*second/10
	for _, op := range []string{
		"mean_600", "mean_10", "mean_1", "min_600", "std_600", "stats_600", "kurtosis_600", "median_600", "linear_600", "loess_60",
		"firstSample_600", "lastFill_600", "nth_100", "ncount", "flyers_600", "deadBand_10", "caplotbinning_600", "optimized_800",
	} {
		b.Run(op, func(b *testing.B) {
			f := parse(b, op)
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range f.Apply(seq(all...), base, to) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(each*runs), "ns/sample")
		})
	}
}

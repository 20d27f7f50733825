package block

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"varve.dev/varve/engine/sample"
)

// start is the time of the first sample of a column.
const start = 1_700_000_000 * second

// A clock generates times, and a signal generates values.
type (
	clock  func(rng *rand.Rand, n int) []int64
	signal func(rng *rand.Rand, n int) []uint64
)

// every generates times at a fixed step, each delayed by less than jitter ns.
func every(step, jitter int64) clock {
	return func(rng *rand.Rand, n int) []int64 {
		times := make([]int64, n)
		for i := range times {
			times[i] = start + int64(i)*step
			if jitter > 0 {
				times[i] += rng.Int64N(jitter)
			}
		}
		return times
	}
}

// numbers generates the float64 values that next returns.
func numbers(next func(rng *rand.Rand, i int) float64) signal {
	return func(rng *rand.Rand, n int) []uint64 {
		words := make([]uint64, n)
		for i := range words {
			words[i] = math.Float64bits(next(rng, i))
		}
		return words
	}
}

// walk generates a random walk whose values are rounded to multiples of unit.
func walk(from, unit float64, step func(rng *rand.Rand) float64) signal {
	return func(rng *rand.Rand, n int) []uint64 {
		at := from
		return numbers(func(rng *rand.Rand, _ int) float64 {
			at += step(rng)
			return math.Round(at/unit) / math.Round(1/unit)
		})(rng, n)
	}
}

// whole generates the integer values that next returns.
func whole(next func(rng *rand.Rand, i int) int64) signal {
	return func(rng *rand.Rand, n int) []uint64 {
		words := make([]uint64, n)
		for i := range words {
			words[i] = uint64(next(rng, i))
		}
		return words
	}
}

func normal(mean, sigma float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return mean + sigma*rng.NormFloat64() }
}

// volts generates readings of an ADC that divides the range from low to high into counts.
func volts(low, high, counts, mean, sigma float64) signal {
	step := (high - low) / counts
	return numbers(func(rng *rand.Rand, _ int) float64 {
		return float64(math.Round(normal(mean, sigma)(rng))*step) + low
	})
}

// realistic lists columns like those of the PVs of a control system.
var realistic = []struct {
	name   string
	typ    sample.Type
	clock  clock
	signal signal
	// few is the maximum size in bytes of 5 and of 10 samples, as in a journal row. most is
	// the maximum size per sample in a block of 4,096 samples.
	few  [2]int
	most float64
}{
	{"adc", sample.Float64, every(second/10, 20_000), volts(0, 10, 4096, 2048, 41), [2]int{58, 89}, 2.9},
	{"adc12", sample.Float64, every(second/10, 20_000), volts(0, 10, 4095, 2048, 41), [2]int{68, 106}, 2.9},
	{"bipolar", sample.Float64, every(second/10, 20_000), volts(-10, 10, 65535, 32768, 300), [2]int{68, 111}, 3.25},
	{"noise", sample.Float64, every(second/10, 20_000), numbers(func(rng *rand.Rand, _ int) float64 { return rng.Float64() }), [2]int{65, 109}, 8.6},
	{"doubles", sample.Float64, every(second, 0), numbers(func(rng *rand.Rand, _ int) float64 { return rng.Float64() }), [2]int{50, 85}, 6.7},
	{"gaussian", sample.Float64, every(second, 0), numbers(func(rng *rand.Rand, _ int) float64 { return rng.NormFloat64() }), [2]int{55, 95}, 7},
	{"walk", sample.Float64, every(second/10, 0), walk(20, 0.001, normal(0, 0.01)), [2]int{23, 28}, 0.75},
	{"temperature", sample.Float64, every(second, 0), walk(21, 0.01, normal(0, 0.003)), [2]int{16, 19}, 0.2},
	{"float32", sample.Float64, every(second, 0), numbers(func(rng *rand.Rand, _ int) float64 { return float64(float32(normal(300, 1)(rng))) }), [2]int{33, 45}, 2.3},
	{"motor", sample.Float64, every(second, 0), numbers(func(rng *rand.Rand, i int) float64 { return float64(i*i%7919) * 0.0001 }), [2]int{55, 94}, 0.85},
	{"vacuum", sample.Float64, every(second, 0), numbers(func(rng *rand.Rand, _ int) float64 { return float64(rng.IntN(90)+210) * 1e-11 }), [2]int{50, 83}, 0.9},
	{"counter", sample.Int32, every(second/10, 0), whole(func(_ *rand.Rand, i int) int64 { return int64(1000 + i) }), [2]int{20, 20}, 0.01},
	{"setpoint", sample.Float64, every(second/10, 0), numbers(func(_ *rand.Rand, i int) float64 { return float64(i/500) * 1.5 }), [2]int{18, 18}, 0.015},
	{"enum", sample.Enum, every(second/10, 0), whole(func(_ *rand.Rand, i int) int64 { return int64(i / 300 % 3) }), [2]int{18, 18}, 0.015},
	{"states", sample.Float64, every(second, 0), numbers(func(rng *rand.Rand, _ int) float64 { return []float64{0, math.Pi, math.E, 1e9 / 7}[rng.IntN(4)] }), [2]int{49, 81}, 0.3},
}

// column returns a run of n samples of the named realistic column.
func column(t testing.TB, name string, n int) *sample.Run {
	for _, c := range realistic {
		if c.name == name {
			rng := rand.New(rand.NewPCG(1, 2))
			return &sample.Run{Type: c.typ, Times: c.clock(rng, n), Tags: make([]sample.Tag, n), Words: c.signal(rng, n)}
		}
	}
	t.Fatalf("there is no column %q", name)
	return nil
}

// TestSizeOfRealColumns encodes each realistic column, checks its size and decodes it.
func TestSizeOfRealColumns(t *testing.T) {
	for _, c := range realistic {
		for _, n := range []int{5, 10, 50, 4096} {
			r := column(t, c.name, n)
			blob := Append(nil, r)
			var got sample.Run
			if err := Decode(&got, blob); err != nil || !same(r, &got) {
				t.Errorf("%s × %d does not come back: %v", c.name, n, err)
			}
			most := [...]float64{5: float64(c.few[0]), 10: float64(c.few[1]), 50: math.Inf(1), 4096: 4096 * c.most}[n]
			t.Logf("%-12s %4d samples: %6.3f bytes a sample", c.name, n, float64(len(blob))/float64(n))
			if float64(len(blob)) > most {
				t.Errorf("%d samples of %s take %d bytes, more than %.0f", n, c.name, len(blob), most)
			}
		}
	}
}

func BenchmarkColumns(b *testing.B) {
	for _, c := range realistic {
		for _, n := range []int{5, 10, 50, 4096} {
			r := column(b, c.name, n)
			blob := Append(nil, r)
			b.Run(fmt.Sprintf("%s/%d/encode", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					dst = Append(dst[:0], r)
				}
				perSample(b, n, len(dst))
			})
			b.Run(fmt.Sprintf("%s/%d/decode", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				var run sample.Run
				for b.Loop() {
					run.Reset(r.Type)
					if err := Decode(&run, blob); err != nil {
						b.Fatal(err)
					}
				}
				perSample(b, n, len(blob))
			})
		}
	}
}

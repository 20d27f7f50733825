package block

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"varve.dev/varve/engine/sample"
)

// equal returns the difference between the samples of two runs. It ignores whether a slice
// is nil or empty.
func equal(a, b *sample.Run) string {
	if same(a, b) { // usually: a comparison by reflection is slow with the race detector
		return ""
	}
	return cmp.Diff(a, b, cmpopts.EquateEmpty())
}

const second = 1_000_000_000

func floats(vals ...float64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for i, v := range vals {
		r.Append(&sample.Sample{Time: 1_700_000_000*second + int64(i)*second/10, Word: math.Float64bits(v)})
	}
	return r
}

func texts(t sample.Type, vals ...string) *sample.Run {
	r := &sample.Run{Type: t}
	for i, v := range vals {
		r.Append(&sample.Sample{Time: int64(i), Bytes: []byte(v)})
	}
	return r
}

func cases() map[string]*sample.Run {
	many := func(f func(i int) float64) *sample.Run {
		vals := make([]float64, 4096)
		for i := range vals {
			vals[i] = f(i)
		}
		return floats(vals...)
	}
	extremes := &sample.Run{Type: sample.Int64}
	for _, v := range []int64{0, -1, math.MinInt64, math.MaxInt64, 1, math.MaxInt64, math.MinInt64} {
		extremes.Append(&sample.Sample{Time: v, Tag: sample.MakeTag(sample.Invalid, 17), Word: uint64(v)})
	}
	late := floats(3, 2, 1, 2)
	late.Times[1], late.Times[2], late.Times[3] = 5, -631_152_000*second, 5
	array := texts(sample.Float64.Array(), string(make([]byte, 8000)), "", "12345678")
	return map[string]*sample.Run{
		"one":       floats(1.5),
		"constant":  many(func(int) float64 { return 42 }),
		"decimal":   many(func(i int) float64 { return float64(i*7%1000) / 100 }),
		"noise":     many(func(int) float64 { return rand.Float64() }),
		"mixed":     many(func(i int) float64 { return []float64{1.25, math.Pi}[i/4000%2] }),
		"special":   floats(math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 5e-324, math.MaxFloat64, math.Float64frombits(0x7ff8dead_beef0001)),
		"zeros":     floats(math.Copysign(0, -1), math.Copysign(0, -1)),
		"two":       floats(1, math.NaN()),
		"integers":  extremes,
		"late":      late,
		"strings":   texts(sample.String, "on", "", "off", "ÄÖ\x00"),
		"array":     array,
		"empties":   texts(sample.String, "", ""),
		"structure": texts(sample.Struct, "\xff\x00anything"),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, r := range cases() {
		t.Run(name, func(t *testing.T) {
			before := r.Clone()
			blob := Append([]byte("prefix"), r)
			if d := equal(before, r); d != "" {
				t.Fatalf("Append changed its input:\n%s", d)
			}
			if string(blob[:6]) != "prefix" {
				t.Fatal("Append changed the bytes that were in the buffer before")
			}
			var got sample.Run
			if err := Decode(&got, blob[6:]); err != nil {
				t.Fatal(err)
			}
			if d := equal(r, &got); d != "" {
				t.Fatalf("decoded (-want +got):\n%s", d)
			}
			if err := Decode(&got, blob[6:]); err != nil || got.Len() != 2*r.Len() {
				t.Fatalf("decoding onto a run gave %d samples, error %v; want %d", got.Len(), err, 2*r.Len())
			}
			want := r.Clone()
			want.AppendRange(r, 0, r.Len())
			if d := equal(want, &got); d != "" {
				t.Fatalf("appended (-want +got):\n%s", d)
			}
		})
	}
}

func TestEveryTypeAndLength(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for typ := sample.Bool; typ.Valid(); typ++ {
		for _, typ := range []sample.Type{typ, typ.Array()} {
			for n := 1; n < 200; n += 1 + n/8 {
				r := randomRun(rng, typ, n)
				var got sample.Run
				if err := Decode(&got, Append(nil, r)); err != nil {
					t.Fatalf("%v × %d: %v", typ, n, err)
				}
				if d := equal(r, &got); d != "" {
					t.Fatalf("%v × %d (-want +got):\n%s", typ, n, d)
				}
			}
		}
	}
}

// randomRun returns a run of values that need between 0 and 64 bits.
func randomRun(rng *rand.Rand, typ sample.Type, n int) *sample.Run {
	r := &sample.Run{Type: typ}
	shift := rng.IntN(64)
	for range n {
		s := sample.Sample{Time: int64(rng.Uint64()) >> rng.IntN(64), Tag: sample.Tag(rng.Uint32N(3) << 15)}
		if typ.Fixed() {
			s.Word = rng.Uint64() >> shift
		} else {
			s.Bytes = make([]byte, rng.IntN(40))
		}
		r.Append(&s)
	}
	return r
}

func TestSizes(t *testing.T) {
	c := cases()
	for name, most := range map[string]float64{"constant": 0.02, "decimal": 1.5, "noise": 7.2} {
		if per := float64(len(Append(nil, c[name]))) / float64(c[name].Len()); per > most {
			t.Errorf("%s: %.2f bytes per sample, more than %.2f", name, per, most)
		}
	}
}

func TestWrongVersion(t *testing.T) {
	err := Decode(new(sample.Run), []byte{9, byte(sample.Float64), 1, 0})
	if want := "block format version 9 is not known to this program"; err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

func perSample(b *testing.B, n, size int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/sample")
	b.ReportMetric(float64(size)/float64(n), "B/sample")
}

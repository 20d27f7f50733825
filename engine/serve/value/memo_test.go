package value

import (
	"math"
	"math/rand/v2"
	"testing"

	"varve.dev/varve/engine/sample"
)

// TestMemoAppendsWhatItsFormatAppends checks that a Memo changes no text: of values that repeat, of
// values that replace each other in it, and of the longest ones.
func TestMemoAppendsWhatItsFormatAppends(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r := &sample.Run{Type: sample.Float64}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 1e21, 1e-5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.SmallestNonzeroFloat64, -2.2250738585072014e-308} {
		r.Append(&sample.Sample{Word: math.Float64bits(v)})
	}
	for range 20_000 {
		r.Append(&sample.Sample{Word: math.Float64bits(math.Round(rng.NormFloat64()*4096) / 4096 * 10)})
		r.Append(&sample.Sample{Word: rng.Uint64()}) // any bits, also other NaNs
	}
	for _, f := range []*Format{&Text, &Numbers, &Quoted} {
		m := NewMemo(f)
		for range 2 {
			for i := range r.Len() {
				want := string(f.Append(nil, r, i))
				if got := string(m.Append([]byte("x"), r, i)); got != "x"+want {
					t.Fatalf("bits %x become %q, want %q", r.Words[i], got[1:], want)
				}
				if got := string(m.Float(nil, r.Float(i))); got != want {
					t.Fatalf("bits %x become %q, want %q", r.Words[i], got, want)
				}
			}
		}
	}
}

// TestMemoAppendsOtherTypes checks that a Memo passes values that are no float64 to its format.
func TestMemoAppendsOtherTypes(t *testing.T) {
	m := NewMemo(&Numbers)
	floats := &sample.Run{Type: sample.Float32}
	floats.Append(&sample.Sample{Word: uint64(math.Float32bits(0.1))})
	texts := &sample.Run{Type: sample.String}
	texts.Append(&sample.Sample{Bytes: []byte("a\"b")})
	for range 2 {
		if got := string(m.Append(nil, floats, 0)); got != "0.1" {
			t.Errorf("a float32 becomes %q", got)
		}
		if got := string(m.Append(nil, texts, 0)); got != `"a\"b"` {
			t.Errorf("a string becomes %q", got)
		}
	}
}

// BenchmarkMemo formats readings of a 12-bit converter, and random doubles, with and without a Memo.
func BenchmarkMemo(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var readings, doubles []float64
	for range 4096 {
		readings = append(readings, math.Round((5+rng.NormFloat64()/10)*4096/10)/4096*10)
		doubles = append(doubles, rng.NormFloat64())
	}
	for _, c := range []struct {
		name   string
		values []float64
	}{{"readings", readings}, {"doubles", doubles}} {
		var dst []byte
		b.Run(c.name+"/without", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				dst = Numbers.Float(dst[:0], c.values[i%len(c.values)], 64)
			}
		})
		b.Run(c.name+"/with", func(b *testing.B) {
			m := NewMemo(&Numbers)
			for i := 0; b.Loop(); i++ {
				dst = m.Float(dst[:0], c.values[i%len(c.values)])
			}
		})
	}
}

package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
)

// codec measures the encoding of blocks of 4,096 samples at 10 Hz: readings of
// an ADC, and random doubles, with time stamps that jitter by 20 µs.
func (b *bench) codec(context.Context) error {
	rng := rand.New(rand.NewPCG(1, 2))
	b.block("adc", jittered(rng, func() float64 { return math.Round((5+rng.NormFloat64()/10)*4096/10) / 4096 * 10 }))
	b.block("noise", jittered(rng, rng.Float64))
	return nil
}

func jittered(rng *rand.Rand, value func() float64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for i := range int64(4096) {
		r.Append(&sample.Sample{Time: 1_700_000_000e9 + i*1e8 + rng.Int64N(20000), Word: math.Float64bits(value())})
	}
	return r
}

func (b *bench) block(name string, r *sample.Run) {
	n := float64(r.Len())
	var blob []byte
	encode := testing.Benchmark(func(tb *testing.B) {
		for tb.Loop() {
			blob = block.Append(blob[:0], r)
		}
	})
	var out sample.Run
	decode := testing.Benchmark(func(tb *testing.B) {
		for tb.Loop() {
			out.Reset(r.Type)
			if err := block.Decode(&out, blob); err != nil {
				tb.Fatal(err)
			}
		}
	})
	b.report.cost("block."+name+".encode", "ns/sample", float64(encode.NsPerOp())/n, 0, "")
	b.report.cost("block."+name+".decode", "ns/sample", float64(decode.NsPerOp())/n, 0, "")
	b.report.cost("block."+name+".size", "B/sample", float64(len(blob))/n, 0, "")
}

package query

import (
	"testing"

	"varve.dev/varve/engine/store"
)

// BenchmarkRead reads the blocks of one PV, written by one engine and by two.
func BenchmarkRead(b *testing.B) {
	const blocks, each = 100, 4096
	for name, writers := range map[string]byte{"one writer": 1, "two writers": 2} {
		b.Run(name, func(b *testing.B) {
			a := newArchive(b, 1)
			a.directory(store.Channel{})
			samples := make([]typed, each)
			for k := range int64(blocks) {
				for i := range samples {
					at := epoch + (k*each+int64(i))*second/10 + a.rng.Int64N(20000)
					samples[i] = float(at, float64(a.rng.IntN(4096))/100)
				}
				for w := range writers {
					a.block(writer(w), store.Year.Of(epoch), samples...)
				}
			}
			r := a.reader()
			b.ReportAllocs()
			for b.Loop() {
				read, err := r.Read(b.Context(), testPV, epoch, epoch+day, Options{})
				a.check(err)
				n := 0
				for run, err := range read.All {
					a.check(err)
					n += run.Len()
				}
				if n != blocks*each {
					b.Fatalf("the read yields %d samples", n)
				}
			}
			b.ReportMetric(float64(b.N)*blocks*each/b.Elapsed().Seconds()/1e6, "Msamples/s")
		})
	}
}

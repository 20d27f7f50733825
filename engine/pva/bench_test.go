package pva

import (
	"runtime"
	"testing"

	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
)

// BenchmarkEvent measures the cost of an update of a number, from the received bytes to the
// call of the sink. It updates 1,000 channels in turn.
func BenchmarkEvent(b *testing.B) {
	for name, changed := range map[string][]int{
		"value and time": {fieldValue, fieldSeconds, fieldNanos}, "with alarm": {fieldValue, 2, fieldSeconds, fieldNanos},
	} {
		for order, flag := range orders {
			b.Run(name+"/"+order, func(b *testing.B) {
				const channels = 1000
				counters := make([]clienttest.Counter, channels)
				c := offline(b)
				for i := range counters {
					c.openChannel(&counters[i], scalarType, scalar(7))
				}
				s := &session{script: doubles("")}
				s.order = flag
				values := []any{8.0, int64(seconds), 9}
				if len(changed) > 3 {
					values = []any{8.0, 1, 2, "HIHI", int64(seconds), 9}
				}
				var read []byte
				for i := range channels {
					read = append(read, s.update(uint32(i), changed, values...)...)
				}
				b.ReportAllocs()
				b.SetBytes(int64(len(read) / channels))
				b.ResetTimer()
				for done := 0; done < b.N; done += channels {
					if used, _, _, err := c.batch(read); err != nil || used != len(read) {
						b.Fatal(used, err)
					}
					if done%(channels*100) == 0 {
						c.Outbox.Take(nil) // discards the acknowledgements
					}
				}
				if got := counters[0].N; got*channels < uint64(b.N) {
					b.Fatalf("the sink got %d updates", got)
				}
			})
		}
	}
}

// BenchmarkArray measures an update of an array of 200,000 float64 values.
func BenchmarkArray(b *testing.B) {
	typ := nt("epics:nt/NTScalarArray:1.0", proto.Of(proto.Float64|proto.Array))
	value := make([]float64, 200_000)
	var sink clienttest.Counter
	c := offline(b)
	c.openChannel(&sink, typ, []any{value, 0, 0, "", int64(seconds), 0, 0})
	s := &session{script: doubles("")}
	read := s.update(0, []int{1, fieldNanos}, value, 5)
	b.ReportAllocs()
	b.SetBytes(int64(len(read)))
	for b.Loop() {
		if used, _, _, err := c.batch(read); err != nil || used != len(read) {
			b.Fatal(used, err)
		}
		c.Outbox.Take(nil)
	}
}

// BenchmarkConnect measures the time to open a channel, from the server's answers on, and the
// memory that the open channel needs.
func BenchmarkConnect(b *testing.B) {
	const channels = 10_000
	var before, after runtime.MemStats
	b.ReportAllocs()
	for b.Loop() {
		sinks := make([]clienttest.Counter, channels)
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := offline(b)
		for i := range sinks {
			c.openChannel(&sinks[i], scalarType, scalar(7))
		}
		c.Outbox.Take(nil)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(c)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/channels, "B/channel")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/channels, "ns/channel")
}

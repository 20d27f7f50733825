package pva

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// counter is a sink that costs next to nothing.
type counter struct{ n, sum uint64 }

func (c *counter) Connected(capture.ChannelInfo)     {}
func (c *counter) Metadata(*sample.Metadata)         {}
func (c *counter) Suspect(int64, int64)              {}
func (c *counter) Dropped(_ sample.Reason, n uint64) {}
func (c *counter) Disconnected(error)                {}
func (c *counter) Sample(s *sample.Sample) {
	c.n++
	c.sum += s.Word
}

// detached returns a circuit without a connection that has channels of a type, open,
// and a client for it.
func detached(tb testing.TB, typ *proto.Type, first []any, sinks ...capture.Sink) *circuit {
	tb.Helper()
	client, err := New(Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	c := newCircuit(client, netip.MustParseAddrPort("127.0.0.1:5075"), nil)
	c.ready = true
	s := &session{script: doubles("")}
	s.typ = typ
	var b []byte
	for i, sink := range sinks {
		ch := &channel{client: client, sink: sink, circuit: c, request: newRequest("", DefaultQueueSize), state: connecting}
		ch.search.Name, ch.search.ID = fmt.Sprint("PV", i), uint32(i)
		client.channels[uint32(i)] = ch
		c.attach(ch)
		id := ch.slot
		b = proto.AppendCreated(b, &proto.Created{CID: id, SID: 100 + id}, s.flags())
		b = proto.AppendInitAnswer(b, proto.CmdMonitor, proto.Answer{IOID: id, Sub: proto.SubInit}, proto.Status{}, typ, s.flags())
		b = append(b, s.update(id, []int{fieldAll}, first...)...)
	}
	if used, _, _, err := c.batch(b, false); err != nil || used != len(b) {
		tb.Fatal(used, err)
	}
	return c
}

// BenchmarkEvent measures what an update of a number costs, from the bytes of a read
// to the sink, of 1,000 channels in turn.
func BenchmarkEvent(b *testing.B) {
	for name, changed := range map[string][]int{
		"value and time": {fieldValue, fieldSeconds, fieldNanos}, "with alarm": {fieldValue, 2, fieldSeconds, fieldNanos},
	} {
		for order, flag := range orders {
			b.Run(name+"/"+order, func(b *testing.B) {
				const channels = 1000
				counters := make([]counter, channels)
				sinks := make([]capture.Sink, channels)
				for i := range counters {
					sinks[i] = &counters[i]
				}
				c := detached(b, scalarType, scalar(7), sinks...)
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
					if used, _, _, err := c.batch(read, false); err != nil || used != len(read) {
						b.Fatal(used, err)
					}
					if done%(channels*100) == 0 {
						c.out.Take(nil) // the acknowledgements
					}
				}
				if got := counters[0].n; got*channels < uint64(b.N) {
					b.Fatalf("%d updates arrived", got)
				}
			})
		}
	}
}

// BenchmarkArray measures an update of 200,000 doubles.
func BenchmarkArray(b *testing.B) {
	typ := nt("epics:nt/NTScalarArray:1.0", proto.Of(proto.Float64|proto.Array))
	value := make([]float64, 200_000)
	var sink counter
	c := detached(b, typ, []any{value, 0, 0, "", int64(seconds), 0, 0}, &sink)
	s := &session{script: doubles("")}
	read := s.update(0, []int{1, fieldNanos}, value, 5)
	b.ReportAllocs()
	b.SetBytes(int64(len(read)))
	for b.Loop() {
		if used, _, _, err := c.batch(read, false); err != nil || used != len(read) {
			b.Fatal(used, err)
		}
		c.out.Take(nil)
	}
}

// BenchmarkConnect measures what it takes to open a channel, from the answers of the
// server on, and the memory it then has.
func BenchmarkConnect(b *testing.B) {
	const channels = 10_000
	var before, after runtime.MemStats
	b.ReportAllocs()
	for b.Loop() {
		sinks := make([]capture.Sink, channels)
		for i := range sinks {
			sinks[i] = &counter{}
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := detached(b, scalarType, scalar(7), sinks...)
		c.out.Take(nil)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(c)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/channels, "B/channel")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/channels, "ns/channel")
}

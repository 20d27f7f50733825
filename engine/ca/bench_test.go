package ca

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
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

// BenchmarkEvent measures what an update of a DBR_TIME_DOUBLE costs from the bytes
// of a read to the sink, of 1,000 channels in turn.
func BenchmarkEvent(b *testing.B) {
	const channels = 1000
	client := &Client{config: Config{}.withDefaults(), metrics: newMetrics(), ctx: b.Context()}
	c := newCircuit(client, netip.MustParseAddrPort("127.0.0.1:5064"), nil)
	sinks := make([]counter, channels)
	var read []byte
	for i := range sinks {
		c.slots = append(c.slots, slot{sink: &sinks[i], event: proto.Double.In(proto.TIME), count: 1, state: slotOpen})
		s := sample.Sample{Time: proto.EpicsEpoch * 1e9, Word: 1}
		read = proto.AppendEvent(read, proto.Double.In(proto.TIME), false, &s, nil, uint32(i))
	}
	now := time.Now() // a read has many updates, and asks for the time once
	b.ReportAllocs()
	b.SetBytes(int64(len(read) / channels))
	for done := 0; done < b.N; done += channels {
		if used, _, err := c.batch(read, now); err != nil || used != len(read) {
			b.Fatal(used, err)
		}
	}
	if got := sinks[0].n; got*channels < uint64(b.N) {
		b.Fatalf("%d updates arrived", got)
	}
}

// BenchmarkConnect measures how fast the channels of a real IOC are found and
// subscribed to, until each has its value.
func BenchmarkConnect(b *testing.B) {
	const channels = 50_000
	ioc := epics.StartIOC(b, passive(channels))
	names := make([]string, channels)
	for i := range names {
		names[i] = fmt.Sprintf("T:C%d", i)
	}
	for b.Loop() {
		registry := prometheus.NewRegistry()
		c, err := New(Config{AddrList: []string{ioc.CAAddr()}, Registerer: registry})
		if err != nil {
			b.Fatal(err)
		}
		sinks := make([]tally, channels)
		for i := range sinks {
			c.Subscribe(names[i], capture.SubscribeOptions{}, &sinks[i])
		}
		for i := range sinks {
			await(b, "a value", func() bool { return sinks[i].samples.Load() > 0 })
		}
		counts := gather(b, registry)
		b.ReportMetric(counts["varve_ca_search_datagrams_total"], "datagrams")
		b.ReportMetric(counts["varve_ca_searches_total"], "searches")
		_ = c.Close()
	}
	b.ReportMetric(float64(channels*b.N)/b.Elapsed().Seconds(), "channels/s")
}

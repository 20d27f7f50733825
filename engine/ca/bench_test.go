package ca

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
)

// BenchmarkEvent measures the cost of a DBR_TIME_DOUBLE update, from the received bytes to the
// call of the sink. It updates 1,000 channels in turn.
func BenchmarkEvent(b *testing.B) {
	const channels = 1000
	c := offline(b)
	sinks := make([]clienttest.Counter, channels)
	var read []byte
	for i := range sinks {
		c.slots = append(c.slots, slot{sink: &sinks[i], event: proto.Double.In(proto.TIME), count: 1, state: slotOpen})
		s := sample.Sample{Time: proto.EpicsEpoch * 1e9, Word: 1}
		read = proto.AppendEvent(read, proto.Double.In(proto.TIME), false, &s, nil, uint32(i))
	}
	now := time.Now() // the client gets the time once per read, for many updates
	b.ReportAllocs()
	b.SetBytes(int64(len(read) / channels))
	for done := 0; done < b.N; done += channels {
		if used, _, err := c.batch(read, now); err != nil || used != len(read) {
			b.Fatal(used, err)
		}
	}
	if got := sinks[0].N; got*channels < uint64(b.N) {
		b.Fatalf("the sink got %d updates", got)
	}
}

// BenchmarkConnect measures how fast the client finds the channels of a real IOC and
// subscribes to them, until each channel has its value.
func BenchmarkConnect(b *testing.B) {
	const channels = 50_000
	ioc := epics.StartIOC(b, clienttest.Passive(channels))
	names := make([]string, channels)
	for i := range names {
		names[i] = fmt.Sprintf("T:C%d", i)
	}
	for b.Loop() {
		registry := prometheus.NewRegistry()
		config := Config{Config: clienttest.ByUDP(ioc.CAAddr())}
		config.Registerer = registry
		c, err := New(config)
		if err != nil {
			b.Fatal(err)
		}
		sinks := make([]clienttest.Tally, channels)
		for i := range sinks {
			c.Subscribe(names[i], capture.SubscribeOptions{}, &sinks[i])
		}
		for i := range sinks {
			clienttest.Await(b, "a value", func() bool { return sinks[i].Samples.Load() > 0 })
		}
		counts := clienttest.Gather(b, registry)
		b.ReportMetric(counts["varve_ca_search_datagrams_total"], "datagrams")
		b.ReportMetric(counts["varve_ca_searches_total"], "searches")
		_ = c.Close()
	}
	b.ReportMetric(float64(channels*b.N)/b.Elapsed().Seconds(), "channels/s")
}

package pva

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc"
)

// valueSink is a sink that records whether it got a value.
type valueSink struct {
	clienttest.Counter
	came atomic.Bool
}

func (f *valueSink) Sample(*sample.Sample) { f.came.Store(true) }

// BenchmarkFind measures how fast the client finds and monitors channels of the simulated IOC,
// which runs in this process, until each channel has its value.
func BenchmarkFind(b *testing.B) {
	const channels = 50_000
	config := ioc.Config{Listen: "127.0.0.1:0", PVAListen: "127.0.0.1:0", Channels: channels, Rate: 1e-3, Kinds: []string{"ramp"}}
	server, err := ioc.New(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	for by, client := range map[string]Config{
		"UDP": {Config: clienttest.ByUDP(server.PVAAddr().String())}, "TCP": {Config: clienttest.ByTCP(server.PVAAddr().String())},
	} {
		b.Run(by, func(b *testing.B) {
			for b.Loop() {
				client.Registerer = prometheus.NewRegistry()
				c, err := New(client)
				if err != nil {
					b.Fatal(err)
				}
				sinks := make([]valueSink, channels)
				names, err := config.Names()
				if err != nil {
					b.Fatal(err)
				}
				i := 0
				for name := range names {
					c.Subscribe(name, capture.SubscribeOptions{}, &sinks[i])
					i++
				}
				for i := range sinks {
					clienttest.Await(b, fmt.Sprint("a value of channel ", i), func() bool { return sinks[i].came.Load() })
				}
				b.ReportMetric(clienttest.Value(c.metrics.Datagrams), "datagrams")
				b.ReportMetric(clienttest.Value(c.metrics.Searches), "searches")
				_ = c.Close()
			}
			b.ReportMetric(float64(channels*b.N)/b.Elapsed().Seconds(), "channels/s")
		})
	}
}

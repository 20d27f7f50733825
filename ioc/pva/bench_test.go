package pva

import (
	"io"
	"testing"

	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// BenchmarkTurn creates the updates of a turn and writes them to io.Discard.
func BenchmarkTurn(b *testing.B) {
	for _, kind := range sim.Kinds() {
		b.Run(kind.String(), func(b *testing.B) {
			const channels = 10_000
			s := offline(b, config{channels: channels, kinds: []sim.Kind{kind}})
			c := newSession(s, circuit.New(s.circuits, io.Discard))
			subscribed(b, s, c, 0)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Circuit.Send(c, s.circuits.Schedule.Now()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*channels), "ns/event")
		})
	}
}

package ca

import (
	"io"
	"testing"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// BenchmarkTurn patches the frames of a turn and writes them to io.Discard.
func BenchmarkTurn(b *testing.B) {
	for _, kind := range sim.Kinds() {
		b.Run(kind.String(), func(b *testing.B) {
			const channels = 10_000
			s := offline(b, config{channels: channels, kinds: []sim.Kind{kind}})
			c := newSession(s, circuit.New(s.Circuits, io.Discard))
			subscribed(b, s, c, proto.TIME)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Circuit.Send(c, s.Circuits.Schedule.Now()); err != nil {
					b.Fatal(err)
				}
			}
			perEvent(b, channels)
		})
	}
}

func perEvent(b *testing.B, events int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

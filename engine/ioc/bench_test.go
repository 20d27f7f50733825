package ioc

import (
	"fmt"
	"io"
	"net"
	"testing"

	"varve.dev/varve/engine/ca/proto"
)

// BenchmarkTurn patches and writes a turn of doubles to nowhere.
func BenchmarkTurn(b *testing.B) {
	for _, kind := range []string{"ramp", "sine", "noise", "alarm", "enum", "string"} {
		b.Run(kind, func(b *testing.B) {
			const channels = 10_000
			s := offline(b, Config{Channels: channels, Kinds: []string{kind}})
			c := newCircuit(s, io.Discard)
			subscribed(b, s, c, proto.TIME)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.send(c.last + 1); err != nil {
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

// BenchmarkLoopback sends events as fast as a reader that discards them takes
// them: an operation is one event.
func BenchmarkLoopback(b *testing.B) {
	for _, channels := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint(channels), func(b *testing.B) {
			s := start(b, Config{Channels: channels, Kinds: []string{"ramp"}})
			conn, err := net.Dial("tcp4", s.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			go subscribeAll(conn, channels)
			buf := make([]byte, 256<<10)
			const frame = proto.HeaderSize + 24
			for n := 0; n < channels*(2*frame+32); { // until all have subscribed
				got, err := conn.Read(buf)
				if err != nil {
					b.Fatal(err)
				}
				n += got
			}
			b.SetBytes(frame)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N*frame; {
				got, err := conn.Read(buf)
				if err != nil {
					b.Fatal(err)
				}
				n += got
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// subscribeAll asks for updates of all RAMPs of a server that has but them.
func subscribeAll(conn net.Conn, channels int) {
	var req []byte
	digits := max(minDigits, len(fmt.Sprint(channels-1)))
	for i := range channels {
		id := uint32(i + 1)
		req = proto.AppendCreateChan(req, fmt.Sprintf("SIM:RAMP:%0*d", digits, i), id)
		req = proto.AppendEventAdd(req, proto.Double.In(proto.TIME), 1, id, id, maskValue)
	}
	_, _ = conn.Write(req) // if it fails, so does the reader
}

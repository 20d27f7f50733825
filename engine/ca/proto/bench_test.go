package proto

import (
	"testing"

	"varve.dev/varve/engine/sample"
)

func BenchmarkReadFrameAndDecodeDouble(b *testing.B) {
	s := sample.Sample{Time: EpicsEpoch * 1e9, Word: 1}
	msg := AppendEvent(nil, Double.In(TIME), false, &s, nil, 1)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	var h Header
	for b.Loop() {
		payload, _, err := ReadFrame(msg, &h, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := DecodeTime(&s, DBR(h.Type), h.Count, false, payload, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendDouble(b *testing.B) {
	s := sample.Sample{Time: EpicsEpoch * 1e9, Word: 1}
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendEvent(buf[:0], Double.In(TIME), false, &s, nil, 1)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeDoubleArray(b *testing.B) {
	s := sample.Sample{Bytes: make([]byte, 8*1000)}
	payload := AppendValue(nil, Double.In(TIME), true, &s, nil)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	var scratch []byte
	for b.Loop() {
		var err error
		if scratch, err = DecodeTime(&s, Double.In(TIME), 1000, true, payload, scratch); err != nil {
			b.Fatal(err)
		}
	}
}

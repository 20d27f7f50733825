package proto

import (
	"errors"
	"testing"

	"varve.dev/varve/engine/sample"
)

// FuzzFrames reads frames like a circuit, and decodes every frame in each way in which a
// client or a server decodes it.
func FuzzFrames(f *testing.F) {
	s := sample.Sample{Time: EpicsEpoch * 1e9, Bytes: []byte("12345678")}
	for native := String; native <= Double; native++ {
		f.Add(AppendEvent(nil, native.In(TIME), false, &s, nil, 1), false)
		f.Add(AppendEvent(nil, native.In(TIME), true, &s, nil, 1), true)
		f.Add(AppendReadReply(nil, native.In(CTRL), false, &s, nil, 1), false)
	}
	f.Add(AppendError(nil, 1, StatusBadType, Header{Command: CmdEventAdd}, "text"), false)
	f.Add(AppendEventAdd(nil, Double.In(TIME), 1, 2, 3, 6), false)
	f.Add(AppendHeader(nil, Header{Command: CmdEventAdd, Size: 1 << 31, Count: 1 << 28}), true)
	f.Fuzz(func(t *testing.T, b []byte, array bool) {
		var scratch []byte
		for {
			var h Header
			payload, n, err := ReadFrame(b, &h, 1<<16)
			switch {
			case errors.Is(err, ErrShort):
				if n <= len(b) {
					t.Fatalf("ReadFrame needs %d bytes, but there are already %d", n, len(b))
				}
				return
			case err != nil:
				return
			case n < HeaderSize || n > len(b):
				t.Fatalf("ReadFrame found a frame of %d bytes in %d bytes", n, len(b))
			}
			scratch = decodeAll(&h, payload, array, scratch)
			b = b[n:]
		}
	})
}

func decodeAll(h *Header, payload []byte, array bool, scratch []byte) []byte {
	var s sample.Sample
	scratch, _ = DecodeTime(&s, DBR(h.Type), h.Count, array, payload, scratch)
	_ = DecodeMetadata(new(sample.Metadata), DBR(h.Type), payload)
	_, _ = ParseError(h, payload)
	_, _ = ParseEventMask(payload)
	_ = Text(payload)
	return scratch
}

// FuzzScalarRoundTrip checks that every value is the same, bit for bit, after it is encoded
// and decoded.
func FuzzScalarRoundTrip(f *testing.F) {
	f.Add(uint16(6), uint64(1)<<63, uint32(5), uint16(3))
	f.Fuzz(func(t *testing.T, native uint16, word uint64, secs uint32, severity uint16) {
		typ := DBR(native % numNative).In(TIME)
		want := sample.Sample{Time: UnixNanos(secs, 7), Tag: sample.MakeTag(sample.Severity(severity), 9)}
		switch typ.Native() {
		case String:
			want.Bytes = []byte{}
		case Char:
			want.Word = uint64(uint8(word))
		case Short:
			want.Word = uint64(int64(int16(word)))
		case Enum:
			want.Word = uint64(uint16(word))
		case Long:
			want.Word = uint64(int64(int32(word)))
		case Float:
			want.Word = uint64(uint32(word))
		case Double:
			want.Word = word
		}
		var got sample.Sample
		if _, err := DecodeTime(&got, typ, 1, false, AppendValue(nil, typ, false, &want, nil), nil); err != nil {
			t.Fatal(err)
		}
		if !got.Same(&want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

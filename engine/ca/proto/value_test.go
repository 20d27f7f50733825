package proto

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/sample"
)

func TestArraysRoundTrip(t *testing.T) {
	le := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for _, c := range []struct {
		native DBR
		value  []byte
		count  uint32
	}{
		{Double, le, 2}, {Float, le, 4}, {Long, le, 4}, {Short, le, 8}, {Enum, le, 8}, {Char, le, 16},
		{Char, le[:1], 1}, {Double, nil, 0},
		{String, sample.AppendStrings(nil, "", "one", strings.Repeat("x", 39)), 3},
	} {
		t.Run(fmt.Sprintf("%v %d", c.native, c.count), func(t *testing.T) {
			typ := c.native.In(TIME)
			want := sample.Sample{Time: EpicsEpoch * 1e9, Bytes: c.value}
			msg := AppendEvent(nil, typ, true, &want, nil, 1)
			var h Header
			payload, _, err := ReadFrame(msg, &h, 1<<20)
			if err != nil || h.Count != c.count {
				t.Fatalf("got count %d, %v", h.Count, err)
			}
			var got sample.Sample
			if _, err := DecodeTime(&got, typ, h.Count, true, payload, []byte("scratch")); err != nil {
				t.Fatal(err)
			}
			if !got.Same(&want) {
				t.Errorf("got %x, want %x", got.Bytes, want.Bytes)
			}
		})
	}
}

func TestTruncatedValuesAreErrors(t *testing.T) {
	for native := String; native <= Double; native++ {
		typ := native.In(TIME)
		payload := AppendValue(nil, typ, false, &sample.Sample{}, nil)
		for n := range typ.PayloadSize(1) {
			var s sample.Sample
			_, err := DecodeTime(&s, typ, 1, false, payload[:n], nil)
			cut := native == String && n >= typ.ValueOffset() // a string may end early
			if errors.Is(err, ErrTruncated) == cut {
				t.Errorf("payload of %v with %d bytes: %v", typ, n, err)
			}
		}
		ctrl := native.In(CTRL)
		payload = AppendValue(nil, ctrl, false, &sample.Sample{}, nil)
		for n := range ctrl.ValueOffset() {
			if err := DecodeMetadata(new(sample.Metadata), ctrl, payload[:n]); !errors.Is(err, ErrTruncated) {
				t.Errorf("payload of %v with %d bytes: %v", ctrl, n, err)
			}
		}
	}
}

func TestScalarWithoutElementsIsAnError(t *testing.T) {
	var s sample.Sample
	if _, err := DecodeTime(&s, Double.In(TIME), 0, false, make([]byte, 16), nil); !errors.Is(err, ErrTruncated) {
		t.Errorf("got %v", err)
	}
}

func TestTimeOutsideItsRange(t *testing.T) {
	for _, c := range []struct {
		unix        int64
		secs, nanos uint32
	}{
		{EpicsEpoch*1e9 + 5, 0, 5},
		{0, 0, 0},
		{math.MinInt64, 0, 0},
		{math.MaxInt64, math.MaxUint32, 999999999},
	} {
		if s, n := EpicsTime(c.unix); s != c.secs || n != c.nanos {
			t.Errorf("EpicsTime(%d) = %d, %d", c.unix, s, n)
		}
	}
	if got := UnixNanos(1, 1_500_000_000); got != (EpicsEpoch+2)*1e9+5e8 {
		t.Errorf("a time stamp with more than a second of nanoseconds is %d", got)
	}
}

func TestUnitsInLatin1BecomeUTF8(t *testing.T) {
	payload := AppendValue(nil, Double.In(CTRL), false, &sample.Sample{}, &sample.Metadata{Units: "\xb0C"})
	var m sample.Metadata
	if err := DecodeMetadata(&m, Double.In(CTRL), payload); err != nil || m.Units != "°C" {
		t.Errorf("got units %q, %v", m.Units, err)
	}
}

func TestLabelsAreAtMostSixteen(t *testing.T) {
	payload := AppendValue(nil, Enum.In(CTRL), false, &sample.Sample{}, nil)
	for n, want := range map[uint16]int{0: 0, 16: 16, 17: 16, 0xffff: 0} {
		payload[4], payload[5] = byte(n>>8), byte(n)
		var m sample.Metadata
		if err := DecodeMetadata(&m, Enum.In(CTRL), payload); err != nil || len(m.Labels) != want {
			t.Errorf("payload with %d states: got %d labels, %v", n, len(m.Labels), err)
		}
	}
}

func TestTypesHaveTheNamesOfEPICSBase(t *testing.T) {
	for typ, want := range map[DBR]string{
		0: "DBR_STRING", 7: "DBR_STS_STRING", 20: "DBR_TIME_DOUBLE", 24: "DBR_GR_ENUM", 34: "DBR_CTRL_DOUBLE", 35: "DBR(35)",
	} {
		if typ.String() != want {
			t.Errorf("type %d has the name %v, want %s", uint16(typ), typ, want)
		}
	}
}

func TestErrorHasTheFailedRequest(t *testing.T) {
	req := Header{Command: CmdReadNotify, Type: 34, Count: 1, P1: 3, P2: 5}
	var h Header
	payload, _, err := ReadFrame(AppendError(nil, 7, StatusBadType, req, "no such type"), &h, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseError(&h, payload)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Failure{Status: StatusBadType, Request: req, Text: "no such type"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ParseError(&h, payload[:15]); !errors.Is(err, ErrTruncated) {
		t.Errorf("ParseError of an incomplete header: %v", err)
	}
}

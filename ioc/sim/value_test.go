package sim

import (
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
)

// value returns the value of a PV. Waves have 250 elements.
func value(k Kind, index int, tick int64) sample.Sample {
	return NewSet("SIM", Kinds(), 1, 250).Value(PV{k, int32(index)}, tick)
}

func TestValues(t *testing.T) {
	minor, major := sample.MakeTag(sample.Minor, statusHigh), sample.MakeTag(sample.Major, statusHiHi)
	for _, c := range []struct {
		kind  Kind
		index int
		tick  int64
		want  float64
		tag   sample.Tag
	}{
		{Ramp, 0, 7, 7, 0},
		{Ramp, 3, 7, 10, 0},
		{Sine, 0, 25, 10, 0},
		{Sine, 25, 50, -10, 0},
		{Alarm, 0, 0, 100, major},
		{Alarm, 0, 10, 90, major},
		{Alarm, 0, 11, 89, minor},
		{Alarm, 0, 20, 80, minor},
		{Alarm, 0, 21, 79, 0},
		{Alarm, 50, 50, 0, 0},
		{Alarm, 0, 399, 99, major},
		{Long, 1, math.MaxInt32, math.MinInt32, 0},
		{Enum, 0, 7, 0, 0},
		{Enum, 0, 8, 1, 0},
		{Enum, 1, 8, 2, sample.MakeTag(sample.Minor, statusState)},
		{Enum, 0, 24, 3, sample.MakeTag(sample.Major, statusState)},
		{Enum, 0, 32, 0, 0},
	} {
		s := value(c.kind, c.index, c.tick)
		if got := sample.Float(c.kind.Type(), s.Word); math.Abs(got-c.want) > 1e-12 || s.Tag != c.tag {
			t.Errorf("%v %d at tick %d: got %v %v %v, want %v", c.kind, c.index, c.tick, got, s.Tag.Severity(), s.Tag.StatusName(), c.want)
		}
	}
	wave := value(Wave, 3, 150).Bytes
	for i := range 250 {
		if got, want := sample.Word(sample.Float64, wave, i), value(Sine, 3, 150+int64(i)).Word; got != want || len(wave) != 8*250 {
			t.Fatalf("element %d of %d bytes is %x, want %x", i, len(wave), got, want)
		}
	}
	if got := string(value(String, 2, 40).Bytes); got != "value 42" {
		t.Errorf("got string %q", got)
	}
}

func TestNoiseHasTheCodesOfAnADC(t *testing.T) {
	for index := range 50 {
		seen := map[float64]bool{}
		low, high := math.Inf(1), math.Inf(-1)
		for tick := range int64(1000) {
			v := sample.Float(sample.Float64, value(Noise, index, tick).Word)
			code := math.Round(v * 4096 / 10)
			if v != math.Round(code*1e5/4096)/1e4 || code < 0 || code > 4095 {
				t.Fatalf("%v is not a reading of 12 bits", v)
			}
			seen[v], low, high = true, min(low, v), max(high, v)
		}
		if len(seen) < 30 || high-low > 61*10./4096 {
			t.Errorf("index %d: the noise has %d codes from %v to %v", index, len(seen), low, high)
		}
	}
}

func TestKindsHaveNamesAndMetadata(t *testing.T) {
	set := NewSet("SIM", Kinds(), 1, 250)
	for _, k := range Kinds() {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("%v parses as %v, %v", k, got, err)
		}
		want := 1
		if k == Wave {
			want = 250
		}
		if m := set.Metadata(k); m.Type != k.Type() || m.Count != want || set.Elements(k) != want {
			t.Errorf("%v: type %v, %d elements", k, m.Type, m.Count)
		}
	}
	if m := set.Metadata(Alarm); m.WarnHigh != 80 || m.AlarmHigh != 90 || !math.IsNaN(m.AlarmLow) {
		t.Errorf("limits of ALARM: %+v", m)
	}
	if m := set.Metadata(Ramp); !math.IsNaN(m.WarnHigh) || m.DisplayHigh != 0 {
		t.Errorf("limits of RAMP: %+v", m)
	}
}

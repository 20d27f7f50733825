package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesOfASet(t *testing.T) {
	for _, c := range []struct {
		set  *Set
		want []string
	}{
		{NewSet("SIM", []Kind{Ramp, Enum}, 2, 1),
			[]string{"SIM:RAMP:0000", "SIM:RAMP:0001", "SIM:ENUM:0000", "SIM:ENUM:0001"}},
		{NewSet("L1:X", Kinds(), 1, 1),
			[]string{"L1:X:RAMP:0000", "L1:X:SINE:0000", "L1:X:NOISE:0000", "L1:X:ENUM:0000", "L1:X:ALARM:0000",
				"L1:X:LONG:0000", "L1:X:STRING:0000", "L1:X:WAVE:0000"}},
	} {
		got := slices.Collect(c.set.Names())
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for i, name := range got {
			p, ok := c.set.Find([]byte(name))
			if !ok || int(p.Index) != i%c.set.channels || !strings.Contains(name, p.Kind.String()) {
				t.Errorf("Find(%s) = %v %d, %v", name, p.Kind, p.Index, ok)
			}
		}
	}
}

func TestIndexHasMoreDigitsAboveTenThousandChannels(t *testing.T) {
	for channels, want := range map[int]string{10_000: "SIM:LONG:0042", 10_001: "SIM:LONG:00042", 1_000_000: "SIM:LONG:000042"} {
		set := NewSet("SIM", Kinds(), channels, 1)
		if p, ok := set.Find([]byte(want)); !ok || p != (PV{Long, 42}) {
			t.Errorf("%d channels: Find(%s) = %v, %v", channels, want, p, ok)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	set := NewSet("SIM", []Kind{Ramp}, 20, 1)
	for _, name := range []string{
		"", "SIM", "SIM:RAMP:", "SIM:RAMP:20", "SIM:RAMP:0020", "SIM:RAMP:00001", "SIM:RAMP:+001", "SIM:RAMP:000x",
		"SIM:SINE:0000", "sim:ramp:0000", "SIM:RAMP:0001.DESC", "XSIM:RAMP:0001",
	} {
		if p, ok := set.Find([]byte(name)); ok {
			t.Errorf("Find(%q) = %v", name, p)
		}
	}
	if p, ok := set.Find([]byte("SIM:RAMP:0019.VAL")); !ok || p.Index != 19 {
		t.Errorf("a name with .VAL has index %d, %v", p.Index, ok)
	}
}

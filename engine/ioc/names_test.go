package ioc

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesOfAConfiguration(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want []string
	}{
		{Config{Channels: 2, Kinds: []string{"ramp", "Enum", "RAMP"}},
			[]string{"SIM:RAMP:0000", "SIM:RAMP:0001", "SIM:ENUM:0000", "SIM:ENUM:0001"}},
		{Config{Channels: 1, Prefix: "L1:X"},
			[]string{"L1:X:RAMP:0000", "L1:X:SINE:0000", "L1:X:NOISE:0000", "L1:X:ENUM:0000", "L1:X:ALARM:0000",
				"L1:X:LONG:0000", "L1:X:STRING:0000"}},
	} {
		all, err := c.cfg.Names()
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Collect(all)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for i, name := range got {
			k, index, ok := c.cfg.Lookup(name)
			if !ok || index != i%c.cfg.Channels || !strings.Contains(name, k.String()) {
				t.Errorf("%s is %v %d, %v", name, k, index, ok)
			}
		}
	}
}

func TestDigitsWidenPastTenThousand(t *testing.T) {
	for channels, want := range map[int]string{10_000: "SIM:LONG:0042", 10_001: "SIM:LONG:00042", 1_000_000: "SIM:LONG:000042"} {
		cfg := Config{Channels: channels}
		if k, index, ok := cfg.Lookup(want); !ok || k != Long || index != 42 {
			t.Errorf("%d channels: %s is %v %d, %v", channels, want, k, index, ok)
		}
	}
}

func TestNamesThatNobodyServes(t *testing.T) {
	cfg := Config{Channels: 20, Kinds: []string{"ramp"}}
	for _, name := range []string{
		"", "SIM", "SIM:RAMP:", "SIM:RAMP:20", "SIM:RAMP:0020", "SIM:RAMP:00001", "SIM:RAMP:+001", "SIM:RAMP:000x",
		"SIM:SINE:0000", "sim:ramp:0000", "SIM:RAMP:0001.DESC", "XSIM:RAMP:0001",
	} {
		if k, index, ok := cfg.Lookup(name); ok {
			t.Errorf("%q is %v %d", name, k, index)
		}
	}
	if _, index, ok := cfg.Lookup("SIM:RAMP:0019.VAL"); !ok || index != 19 {
		t.Errorf(".VAL: %d, %v", index, ok)
	}
}

func TestWrongConfigurationsNameTheCause(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "0 channels"},
		{Config{Channels: 1, Rate: 1e6}, "a rate of 1e+06 Hz"},
		{Config{Channels: 1, Rate: 1e-9}, "a rate of 1e-09 Hz"},
		{Config{Channels: 1, Kinds: []string{"saw"}}, `unknown kind of PV "saw": want one of ramp, sine`},
		{Config{Channels: 1, Prefix: "A B"}, `the prefix "A B"`},
		{Config{Channels: 1, MaxLag: -1}, "a lag of -1ns"},
		{Config{Channels: 1, Listen: "nowhere"}, `"nowhere"`},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
}

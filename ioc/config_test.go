package ioc

import (
	"slices"
	"strings"
	"testing"
)

func TestKindsOfAConfiguration(t *testing.T) {
	all, err := Config{Channels: 1, Kinds: []string{"ramp", "Enum", "RAMP"}}.Names()
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(all); !slices.Equal(got, []string{"SIM:RAMP:0000", "SIM:ENUM:0000"}) {
		t.Errorf("got names %v", got)
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
		{Config{Channels: 1, Elements: 1 << 30}, "waves of 1073741824 elements"},
		{Config{Channels: 1, Listen: "127.0.0.1:0", PVAListen: "elsewhere"}, `"elsewhere"`},
		{Config{Channels: 1, Listen: "127.0.0.1:0", PVAListen: "127.0.0.1:0", PVASearch: "else"}, "else"},
		{Config{Channels: 1, Listen: "127.0.0.1:0", Beacons: []string{"noport"}}, `"noport"`},
		{Config{Channels: 1, Listen: "nowhere"}, `"nowhere"`},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("configuration %+v: got %v, want %q", c.cfg, err, c.want)
		}
	}
}

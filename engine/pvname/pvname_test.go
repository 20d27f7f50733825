package pvname

import (
	"fmt"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"SR01:PRES": "SR01:PRES", "ca://SR01:PRES": "SR01:PRES", "pva://SR01:PRES": "SR01:PRES", "SR01:PRES.VAL": "SR01:PRES",
		"ca://SR01:PRES.VAL": "SR01:PRES", "SR01:PRES.VAL$": "SR01:PRES.VAL$", "SR01:PRES.DESC": "SR01:PRES.DESC",
		" SR01:PRES\t": "SR01:PRES", "SR01:INTERVAL": "SR01:INTERVAL", "ca://pva://X": "pva://X", ".VAL": "",
	} {
		if got := Canonical(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestScheme(t *testing.T) {
	for in, want := range map[string]string{
		"SR01:PRES": "", "ca://SR01:PRES": "ca", " pva://SR01:PRES.VAL": "pva", "ca://pva://X": "ca", "http://X": "", "CA://X": "",
	} {
		if got := Scheme(in); got != want {
			t.Errorf("%q has the scheme %q, want %q", in, got, want)
		}
	}
}

func TestRecord(t *testing.T) {
	for in, want := range map[string]string{
		"SR01:PRES": "SR01:PRES", "SR01:PRES.HIGH": "SR01:PRES", "SR01:PRES.VAL$": "SR01:PRES", `SR01:PRES.{"dbnd":{"abs":1.5}}`: "SR01:PRES",
		"SR:C03-BI{BPM:1}X-I.EGU": "SR:C03-BI{BPM:1}X-I",
	} {
		if got := Record(in); got != want {
			t.Errorf("%q is of the record %q, want %q", in, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, part := range map[string]string{
		"": "empty", "SR 01": "space or control character at byte 2", "SR\x00": "control", "\xff": "UTF-8",
		strings.Repeat("x", MaxLen+1): "257 bytes",
	} {
		if err := Check(name); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want something with %q", name, err, part)
		}
	}
	for _, name := range []string{"SR01-VA:PRES-01.HIHI", "Ätna:Druck", strings.Repeat("x", MaxLen)} {
		if err := Check(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestShardsAreForAllTime fixes the hash: stored journals depend on it.
func TestShardsAreForAllTime(t *testing.T) {
	for name, want := range map[string]int{"SR01:PRES": 16, "": 25, "SIM:RAMP:0000": 58} {
		if got := Shard(name, 64); got != want {
			t.Errorf("%q is in shard %d, want %d", name, got, want)
		}
	}
}

func TestShardsAreEven(t *testing.T) {
	const shards, pvs = 64, 64000
	var load [shards]int
	for i := range pvs {
		load[Shard(fmt.Sprintf("SR%02d-VA:PRES-%04d", i%30, i), shards)]++
	}
	for i, n := range load {
		if n < pvs/shards*8/10 || n > pvs/shards*12/10 {
			t.Errorf("shard %d has %d of %d PVs", i, n, pvs)
		}
	}
}

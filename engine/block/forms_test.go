package block

import (
	"fmt"
	"testing"

	"varve.dev/varve/engine/sample"
)

// valueForm names the form of a run's values, and of the integers in it.
func valueForm(r *sample.Run) string {
	s := takeScratch(max(r.Len(), chunk))
	b := appendWords(nil, r.Type, r.Words, s)
	kind := b[0]
	name := map[byte]string{multiplied: "times", divided: "divided", ordered: "ordered", split: "split", planes: "planes", integers: "", xorPacked: "xor"}[kind&^exceptBit]
	rest := b[1:]
	switch {
	case kind == integers:
		name = ""
	case kind == xorPacked || kind == planes || kind == split:
		return map[byte]string{xorPacked: "xor", planes: "planes", split: "split"}[kind]
	case kind&^exceptBit < multiplied:
		name = fmt.Sprintf("÷10^%d", kind&^exceptBit&^narrowBit)
		if kind&narrowBit != 0 {
			name += " narrow"
		}
	}
	if kind != integers && kind&exceptBit != 0 {
		return name + " with exceptions"
	}
	switch kind {
	case divided:
		rest = rest[8:]
	case multiplied:
		rest = rest[9+8*int(rest[8]):]
	}
	if name != "" {
		name += ", "
	}
	return name + intForm(rest[0])
}

func intForm(b byte) string {
	switch {
	case b&^deltaBit <= 64:
		return []string{"flat", "flat differences"}[b>>7]
	case b == runs:
		return "runs"
	case b == dictOfInt:
		return "dictionary"
	}
	model := []string{"plain", "delta", "linear", "delta2"}[b&3]
	if b&factorBit != 0 {
		model += " with factor"
	}
	if b < binned {
		return model + " frames"
	}
	return model + " bins"
}

// TestChosenForm checks that each kind of column is encoded in the form designed for it.
func TestChosenForm(t *testing.T) {
	all := forms()
	for name, want := range map[string]string{
		"short": "÷10^2, flat", "xor": "xor", "decimals": "÷10^2, flat", "narrow": "÷10^2 narrow, flat", "float32": "÷10^1, flat",
		"steps": "times, flat", "offset": "times, flat", "divided": "divided, flat", "exceptions": "÷10^1 with exceptions",
		"ordered": "ordered, delta2 frames", "split": "split", "planes": "planes", "runs": "runs", "entries": "dictionary",
		"bins": "plain bins", "factor": "plain with factor frames", "squares": "delta2 frames", "patches": "plain frames",
	} {
		if got := valueForm(all[name]); got != want {
			t.Errorf("%s takes the form %q, want %q", name, got, want)
		}
	}
	s := takeScratch(64)
	for name, want := range map[string]string{"short": "flat differences", "jitter": "linear frames", "paused": "delta frames"} {
		if got := intForm(appendTimes(nil, all[name].Times, s)[1]); got != want {
			t.Errorf("the times of %s take the form %q, want %q", name, got, want)
		}
	}
	if b := appendTags(nil, all["alarms"].Tags, s); b[0] != 0 || b[1] != 0 {
		t.Errorf("tags of alarms that come and go are encoded as runs: % x", b)
	}
	for name, want := range map[string]byte{"strings": plainBytes, "texts": s2Bytes, "arrays": columnBytes, "pictures": s2Bytes} {
		if got := appendCompressed(nil, all[name].Bytes, all[name].Type, s)[0]; got != want {
			t.Errorf("the bytes of %s are compressed by %d, want %d", name, got, want)
		}
	}
}

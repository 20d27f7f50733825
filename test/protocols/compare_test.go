package protocols

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/test/program"
)

// precision describes how a format changes numbers.
type precision struct {
	toFloat64 bool // integers of more than 32 bits become float64
	bools     bool // booleans stay booleans instead of becoming 0 or 1
	bits      int  // size of a floating-point number
}

// equal reports whether a value that a client saw equals a value from the archive.
func (p precision) equal(saw, got any) bool {
	switch s := saw.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		return ok && p.equalNumber(s, g)
	case bool:
		if p.bools {
			return got == saw
		}
		return got == json.Number(strconv.Itoa(map[bool]int{true: 1}[s]))
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(s, g, p.equal)
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && maps.EqualFunc(s, g, precision{bools: true, bits: p.bits}.equal)
	case string:
		return got == saw || unwritable(s, got)
	}
	return saw == got
}

// unwritable reports whether two numbers are equal that JSON cannot represent. The archive
// writes NaN as null and an infinity as a number that is too large.
func unwritable(saw string, got any) bool {
	if saw == "NaN" {
		return got == nil
	}
	n, ok := got.(json.Number)
	return ok && (saw == "Infinity" && n == "1e999" || saw == "-Infinity" && n == "-1e999")
}

// equalNumber compares integers digit by digit and all other numbers as floating-point numbers.
func (p precision) equalNumber(saw, got json.Number) bool {
	if saw == got {
		return true
	}
	if isInteger(saw) && isInteger(got) && !p.toFloat64 {
		return false
	}
	s, errSaw := saw.Float64()
	g, errGot := got.Float64()
	return errSaw == nil && errGot == nil && (s == g || p.bits == 32 && float32(s) == float32(g))
}

func isInteger(n json.Number) bool { return !strings.ContainsAny(string(n), ".e") }

// compare fails the test unless the archive returns for each PV what the client saw, in all
// formats. types are the PVs' types in the archive.
func compare(t *testing.T, a *program.Archiver, types map[string]string, saw map[string]seen) {
	t.Helper()
	counts := map[string]int{}
	for pv, s := range saw {
		counts[pv] = len(s.Updates)
	}
	await(t, a, counts)
	packed := readRaw(t, a, flat(types))
	for _, pv := range slices.Sorted(maps.Keys(saw)) {
		t.Run(strings.ReplaceAll(pv, ":", "."), func(t *testing.T) {
			want, n := saw[pv], readNative(t, a, pv)
			if len(n.Runs) != 1 || n.Runs[0].Type != types[pv] {
				t.Fatalf("the archive has runs of types %v, want %s", n.types(), types[pv])
			}
			p := precision{bits: 64}
			if strings.HasPrefix(types[pv], "float32") || types[pv] == "struct" {
				p.bits = 32
			}
			compareUpdates(t, "/api/v1", want.Updates, n.updates(), p)
			compareUpdates(t, "getData.json", want.Updates, readJSON(t, a, pv), p)
			if types[pv] != "struct" {
				p.toFloat64 = true
				compareUpdates(t, "getData.raw", want.Updates, unpack(packed[pv], types[pv]), p)
			}
			compareMetadata(t, &want.Metadata, &n.Metadata)
		})
	}
}

// unpack converts bool, int8 and uint8 values from the binary format. The format stores them as
// arrays of unsigned bytes, and a scalar as an array with one element.
func unpack(updates []update, typ string) []update {
	elem := strings.TrimSuffix(typ, "[]")
	if elem != "bool" && elem != "int8" && elem != "uint8" {
		return updates
	}
	for i, u := range updates {
		list, _ := u.Value.([]any)
		for k, v := range list {
			n, _ := v.(json.Number)
			if b, err := n.Int64(); err == nil && elem == "int8" {
				list[k] = json.Number(strconv.Itoa(int(int8(b))))
			}
		}
		if elem == typ && len(list) == 1 {
			updates[i].Value = list[0]
		}
	}
	return updates
}

// flat returns the PVs that are not structures. Clients of the Archiver Appliance can read them.
func flat(types map[string]string) (pvs []string) {
	for pv, typ := range types {
		if typ != "struct" {
			pvs = append(pvs, pv)
		}
	}
	slices.Sort(pvs)
	return pvs
}

// types returns the types of the runs.
func (n *native) types() (types []string) {
	for _, r := range n.Runs {
		types = append(types, r.Type)
	}
	return types
}

// await waits until the archive has the expected number of samples of each PV. It returns
// after at most a minute, because the later comparison reports missing samples.
func await(t *testing.T, a *program.Archiver, counts map[string]int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		maps.DeleteFunc(counts, func(pv string, n int) bool { return len(readJSON(t, a, pv)) >= n })
		if len(counts) == 0 {
			return
		}
	}
}

func compareUpdates(t *testing.T, format string, saw, got []update, p precision) {
	t.Helper()
	if len(got) != len(saw) {
		t.Errorf("%s has %d samples, but the client saw %d: %.500s", format, len(got), len(saw), fmt.Sprint(got))
	}
	for i := range min(len(saw), len(got)) {
		s, g := saw[i], got[i]
		if g.Time != s.Time || g.Severity != s.Severity || g.Status != s.Status && g.Status >= 0 || !p.equal(s.Value, g.Value) {
			t.Errorf("%s: sample %d is %s, but the client saw %s", format, i, short(g), short(s))
		}
	}
}

// short describes an update briefly.
func short(u update) string {
	return fmt.Sprintf("%.500s (time %d, severity %d, status %d)", fmt.Sprint(u.Value), u.Time, u.Severity, u.Status)
}

func compareMetadata(t *testing.T, saw, got *metadata) {
	t.Helper()
	if got.Units != saw.Units || got.Precision != saw.Precision || !slices.Equal(got.Labels, saw.Labels) ||
		!maps.Equal(got.Properties, saw.Properties) {
		t.Errorf("metadata are %+v, but the client saw %+v", got, saw)
	}
	for name := range maps.Keys(merged(saw.Limits, got.Limits)) {
		s, known := saw.Limits[name]
		g, kept := got.Limits[name]
		if known != kept || math.Abs(s-g) > 0 {
			t.Errorf("the limit %s is %v (present: %v), but the client saw %v (present: %v)", name, g, kept, s, known)
		}
	}
}

// merged returns a map with the keys of both maps.
func merged(a, b map[string]float64) map[string]float64 {
	m := maps.Clone(a)
	if m == nil {
		m = map[string]float64{}
	}
	maps.Copy(m, b)
	return m
}

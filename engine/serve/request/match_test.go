package request

import (
	"slices"
	"strings"
	"testing"
)

// TestPatternsAreBounded checks that patterns that would take too long are refused with an error
// that says the limit, and that the largest ones are not.
func TestPatternsAreBounded(t *testing.T) {
	repeated := func(s string, n int) []string { return slices.Repeat([]string{s}, n) }
	regex := func(s string) func() error { return func() error { _, err := Regexp(s); return err } }
	globs := func(s ...string) func() error { return func() error { _, err := Globs(s...); return err } }
	for name, c := range map[string]struct {
		do   func() error
		want string // part of the error; empty if there is none
	}{
		"a long expression":           {regex(strings.Repeat("(a|b)*", 290)), "at most 256"},
		"an expression that explodes": {regex(`(\pL{30}|.{30}){30}`), "at most 1000"},
		"nested repetitions":          {regex("((.{1,10}){1,10}){1,10}"), "at most 1000"},
		"many repetitions":            {regex(strings.Repeat(".{1000}", 36)), "at most 1000"},
		"a usual expression":          {regex("SR(0[1-9]|[12][0-9]|3[0-2])-VA:PRES-[0-9]{2}[.:]?.*"), ""},
		"the longest expression":      {regex(strings.Repeat("a", maxPattern)), ""},
		"a long glob":                 {globs("*" + strings.Repeat("a", maxPattern)), "at most 256"},
		"a long glob, in any case":    {func() error { _, err := GlobFold("*" + strings.Repeat("a", maxPattern)); return err }, "at most 256"},
		"many globs":                  {globs(repeated("*", 12_000)...), "at most 100"},
		"the most globs":              {globs(repeated("SR*", maxGlobs)...), ""},
		"many names":                  {globs(repeated("SR:U", 12_000)...), ""},
	} {
		err := c.do()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
}

func TestGlobsMatchNamesAndPatterns(t *testing.T) {
	m, err := Globs("SR:U.VAL", "BR*", "X?Z")
	if err != nil {
		t.Fatal(err)
	}
	for pv, want := range map[string]bool{"SR:U": true, "SR:UU": false, "BR:I": true, "XYZ": true, "XZ": false} {
		if m(pv) != want {
			t.Errorf("%s matches: %v", pv, m(pv))
		}
	}
}

// TestGlobFoldIgnoresCase checks that a pattern and a name match in upper and lower case, and nothing else.
func TestGlobFoldIgnoresCase(t *testing.T) {
	for pattern, want := range map[string][]string{
		"*curr*": {"SR:CURRENT", "sr:current", "Sr:Curr"}, "sR:?": {"SR:I", "sr:i"}, "sr:i": {"SR:I", "sr:i"}, "ca://sr:i.VAL": {"SR:I", "sr:i"}, "*BÜHNE": {"bühne"}, "*": {"SR:CURRENT", "sr:current", "Sr:Curr", "SR:I", "sr:i", "bühne"},
	} {
		m, err := GlobFold(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, pv := range []string{"SR:CURRENT", "sr:current", "Sr:Curr", "SR:I", "sr:i", "bühne"} {
			if m(pv) != slices.Contains(want, pv) {
				t.Errorf("%s matches %s: %t", pattern, pv, m(pv))
			}
		}
	}
}

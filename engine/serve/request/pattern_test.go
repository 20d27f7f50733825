package request

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/nameindex"
)

// check compares what a pattern of a search says of names with what it must select.
func check(t *testing.T, text string, p nameindex.Pattern, names []string, selects func(name string) bool) (selected int) {
	t.Helper()
	for _, name := range names {
		want := selects(name)
		if got := p.Match(name); got != want {
			t.Fatalf("%q selects %q: %t, want %t", text, name, got, want)
		}
		if !want {
			continue
		}
		selected++
		if len(p.Prefixes) > 0 && !slices.ContainsFunc(p.Prefixes, func(s string) bool { return strings.HasPrefix(name, s) }) {
			t.Fatalf("%q selects %q, which has none of the prefixes %q", text, name, p.Prefixes)
		}
		if !strings.Contains(name, p.Contains) || isASCII(name) && !strings.Contains(strings.ToLower(name), p.ContainsFold) {
			t.Fatalf("%q selects %q, which has no text %q%q", text, name, p.Contains, p.ContainsFold)
		}
	}
	return selected
}

func pick(rng *rand.Rand, most int, from ...string) string {
	var b strings.Builder
	for range rng.IntN(most + 1) {
		b.WriteString(from[rng.IntN(len(from))])
	}
	return b.String()
}

// randomNames returns names of letters that are equal to others if case counts as equal: k, K and the sign of Kelvin are.
func randomNames(rng *rand.Rand) (names []string) {
	for range 40 {
		names = append(names, pick(rng, 6, "A", "a", "B", ":", "SR", "sr", "ü", "Ü", "K", "k", "K", "ſ", "-", "\uFFFD", "\xff", "\n"))
	}
	return names
}

// TestPatternsOfExpressionsSayWhatTheySelect compares random expressions with package regexp.
func TestPatternsOfExpressionsSayWhatTheySelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	atoms := []string{
		"A", "a", "B", ":", "SR", "ü", "K", "k", ".*", ".", ".+", "[AB]", "[A-Z]", "[^A]", "(?i)", "(?i:sr)", "(?i:a)", "A*", "B+", "A?", "(SR|sr)", "(A|)",
		"(?:A|B:)+", `\b`, "^", "$", "(?s).*", "(?m)^", `\x{FFFD}`, "A{2}", "A{0,2}", `\:`, "(S)", "s", "(?U)A*", "[kK]", "|", "()",
	}
	selected := 0
	for range 5_000 {
		text := pick(rng, 5, atoms...)
		p, err := RegexpPattern(text)
		if err != nil {
			continue // such as a flag before a repetition
		}
		selected += check(t, text, p, randomNames(rng), regexp.MustCompile("^(?:"+text+")$").MatchString)
	}
	if selected < 2_500 {
		t.Errorf("only %d names were selected", selected)
	}
}

// TestPatternsOfGlobsSayWhatTheySelect compares random lists of globs and names with Glob and GlobFold.
func TestPatternsOfGlobsSayWhatTheySelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	selected := 0
	for range 5_000 {
		var texts []string
		for range 1 + rng.IntN(3) {
			texts = append(texts, pick(rng, 5, "A", "a", "B", ":", "SR", "ü", "K", "k", "*", "?", "-", ".VAL", "ca://"))
		}
		p, err := GlobsPattern(texts...)
		if err != nil {
			t.Fatal(err)
		}
		names := randomNames(rng)
		selected += check(t, strings.Join(texts, ","), p, names, func(name string) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return Glob(text)(name) })
		})
		fold, err := GlobFoldPattern(texts[0])
		if err != nil {
			t.Fatal(err)
		}
		m, _ := GlobFold(texts[0])
		selected += check(t, texts[0], fold, names, m)
	}
	if selected < 2_500 {
		t.Errorf("only %d names were selected", selected)
	}
}

// TestSearchesNeedNotCompareEachName makes sure that usual patterns say enough to find their names fast.
func TestSearchesNeedNotCompareEachName(t *testing.T) {
	for text, want := range map[string]nameindex.Pattern{
		"SR-C12:PS:.*":              {Prefixes: []string{"SR-C12:PS:"}, Contains: "SR-C12:PS:"},
		"SR-C12.*Current-I":         {Prefixes: []string{"SR-C12"}, Contains: "Current-I"},
		"(SR|BR)-C0[1-2]:.*":        {Prefixes: []string{"SR-C01:", "SR-C02:", "BR-C01:", "BR-C02:"}, Contains: "-C0"},
		".*:Q[FD][0-9]:Dose-I":      {Contains: ":Dose-I"},
		"(?i).*qf1:current.*":       {ContainsFold: "qf1:current"},
		"(ca:)?SR.*":                {Prefixes: []string{"ca:SR", "SR"}, Contains: "SR"},
		"(.*PRES)+x":                {Contains: "PRES"},
		".*[0-9]{3}.*":              {},
		"[A-Z]{2}.*":                {},
		"(SR|BR|LT)(.*:I|.*:V)":     {Prefixes: []string{"SR", "BR", "LT"}},
		"SR01-VA:PRES-[0-1]{2}.?.*": {Prefixes: []string{"SR01-VA:PRES-00", "SR01-VA:PRES-01", "SR01-VA:PRES-10", "SR01-VA:PRES-11"}, Contains: "SR01-VA:PRES-"},
	} {
		p, err := RegexpPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want.Prefixes)
		if !slices.Equal(p.Prefixes, want.Prefixes) || p.Contains != want.Contains || p.ContainsFold != want.ContainsFold {
			t.Errorf("%s has the prefixes %q and the text %q%q, want %q and %q%q", text, p.Prefixes, p.Contains, p.ContainsFold, want.Prefixes, want.Contains, want.ContainsFold)
		}
	}
	globs, err := GlobsPattern("SR-C12:*:Current-I*", "BR.VAL")
	if err != nil || !slices.Equal(globs.Prefixes, []string{"SR-C12:", "BR"}) {
		t.Errorf("globs have the prefixes %q, %v", globs.Prefixes, err)
	}
	if glob, err := GlobsPattern("SR-?12:*Current-I*"); err != nil || glob.Contains != "Current-I" {
		t.Errorf("a glob has the text %q, %v", glob.Contains, err)
	}
}

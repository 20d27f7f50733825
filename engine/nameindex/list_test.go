package nameindex

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// letters make names that begin alike, contain each other, and differ in case only. K is the sign of Kelvin, which is a k in
// lower case.
var letters = []string{"A", "a", "B", ":", "SR", "sr", "ü", "K", "0"}

func randomName(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(6) {
		b.WriteString(letters[rng.IntN(len(letters))])
	}
	return b.String()
}

func randomNames(rng *rand.Rand, n int) []string {
	names := make([]string, rng.IntN(n+1))
	for i := range names {
		names[i] = randomName(rng)
	}
	return names
}

func mustList(t testing.TB, names []string) *list {
	t.Helper()
	l, err := newList(slices.Clone(names))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *list) all() (all []string) {
	for i := range l.len() {
		all = append(all, l.at(i))
	}
	return all
}

// randomPattern returns a pattern and what it selects, in the simplest words.
func randomPattern(rng *rand.Rand) (Pattern, func(name string) bool) {
	p := Pattern{}
	if rng.IntN(3) > 0 {
		for range 1 + rng.IntN(3) {
			name := randomName(rng)
			p.Prefixes = append(p.Prefixes, name[:min(len(name), 1+rng.IntN(2))])
		}
	}
	if rng.IntN(3) == 0 {
		p.After = randomName(rng)
	}
	text := ""
	switch rng.IntN(3) {
	case 0:
		text = randomName(rng)
		p.Contains = text
	case 1:
		if fold := lowerASCII(randomName(rng)); isASCII(fold) {
			p.ContainsFold = fold
		}
	}
	p.Match = func(name string) bool {
		return (len(p.Prefixes) == 0 || slices.ContainsFunc(p.Prefixes, func(s string) bool { return strings.HasPrefix(name, s) })) &&
			strings.Contains(name, text) && strings.Contains(strings.ToLower(name), p.ContainsFold)
	}
	return p, func(name string) bool { return name > p.After && p.Match(name) }
}

// TestSearchFindsWhatAScanFinds compares a search with a comparison of each name, for random names and patterns.
func TestSearchFindsWhatAScanFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 3000 {
		names := randomNames(rng, 60)
		if rng.IntN(2) == 0 {
			names = slices.DeleteFunc(names, func(s string) bool { return !isASCII(s) })
		}
		v := View{mustList(t, names)}
		p, selects := randomPattern(rng)
		hidden := randomName(rng)[:1]
		sees := func(name string) bool { return !strings.HasSuffix(name, hidden) }
		var got []string
		for name, err := range v.Search(t.Context(), p, sees) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		slices.Sort(names)
		want := slices.DeleteFunc(slices.Compact(names), func(s string) bool { return !selects(s) || !sees(s) })
		if !slices.Equal(got, want) {
			t.Fatalf("prefixes %q, text %q or %q, after %q in %q: found %q, want %q", p.Prefixes, p.Contains, p.ContainsFold, p.After, v.all.all(), got, want)
		}
		found += len(got)
	}
	if found < 3000 {
		t.Errorf("only %d names were found: the patterns select too few", found)
	}
}

// TestListsChangeAsSetsDo adds and removes random names, also those that are, or are not, in the list.
func TestListsChangeAsSetsDo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		names, added, removed := randomNames(rng, 20), randomNames(rng, 10), randomNames(rng, 10)
		removed = slices.DeleteFunc(removed, func(s string) bool { return slices.Contains(added, s) })
		l := mustList(t, names)
		got, err := l.with(slices.Clone(added), slices.Clone(removed))
		if err != nil {
			t.Fatal(err)
		}
		all := slices.DeleteFunc(append(names, added...), func(s string) bool { return slices.Contains(removed, s) })
		if want := mustList(t, all); !got.same(want) {
			t.Fatalf("%q with %q without %q is %q, want %q", l.all(), added, removed, got.all(), want.all())
		}
		has := got.finder()
		for _, name := range slices.Concat(all, removed, added, names) {
			if want := slices.Contains(all, name); got.has(name) != want || has(name) != want {
				t.Fatalf("%q has %q: %t, and by its hash %t", got.all(), name, got.has(name), has(name))
			}
		}
	}
}

// TestATextThatIsPartOfTwoNamesIsInNeither searches for texts that the end of a name and the beginning of the next one make.
func TestATextThatIsPartOfTwoNamesIsInNeither(t *testing.T) {
	v := View{mustList(t, []string{"AB", "CA", "CAB"})} // ABCACAB
	for text, want := range map[string]string{"BC": "", "ACA": "", "CA": "CA CAB", "AB": "AB CAB", "B": "AB CAB", "ABCACAB": ""} {
		var got []string
		for name := range v.Search(t.Context(), Pattern{Contains: text}, nil) {
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is in %q, want %q", text, got, want)
		}
	}
}

package promapi

import "testing"

// FuzzParse checks that no expression makes the parser panic, and that a selector has a name or a
// condition.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`A`, `{"A-B"}`, `avg_over_time({__name__=~"A|B"}[1h30m])`, `1+1`, "`", `{'it\'s'}`, `A{`, `rate(A[5m])`, "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parse(text)
		if err == nil && !e.isNumber && e.selector.name == "" && len(e.selector.match) == 0 {
			t.Errorf("%q selects all PVs", text)
		}
		if err == nil && (e.function == "") != (e.window == 0) {
			t.Errorf("%q has the function %q and a window of %d ns", text, e.function, e.window)
		}
	})
}

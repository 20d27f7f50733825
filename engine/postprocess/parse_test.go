package postprocess

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]float64{
		"mean": {900}, "mean_600": {600}, " mean_600 ": {600}, "optimized": {1000}, "optimized_800": {800}, "deadBand": {1}, "deadBand_0.25": {0.25},
		"deadBand_1e-3": {1e-3}, "ignoreflyers": {900, 3}, "ignoreflyers_60": {60, 3}, "flyers_60_2.5": {60, 2.5}, "ncount": {0}, "ncount_60": {60}, "nth_4": {4},
		"meanSample_60": {60}, "optimizedSample_5": {5},
	} {
		f := parse(t, text)
		if len(f.args) != len(want) || f.args[0] != want[0] || f.args[len(want)-1] != want[len(want)-1] || f.String() != strings.TrimSpace(text) {
			t.Errorf("%q is %s with %v", text, f, f.args)
		}
	}
	const known = "; the known post-processors are caplotbinning, count, deadBand, errorbar, firstFill,"
	for text, says := range map[string]string{
		"":                   `unknown post-processor ""` + known,
		"average_60":         `unknown post-processor "average"` + known,
		"Mean":               `unknown post-processor "Mean"`,
		"meanest":            `unknown post-processor "meanest"`,
		"mean_0":             `post-processor mean_0: width in seconds "0" is not a whole number from 1 to 2147483647`,
		"mean_-5":            `width in seconds "-5" is not`,
		"mean_1.5":           `width in seconds "1.5" is not`,
		"mean_":              `width in seconds "" is not`,
		"mean_NaN":           `is not a whole number`,
		"mean_0x10":          `is not a whole number`,
		"mean_9999999999":    `is not a whole number`,
		"mean_60_2":          `post-processor mean_60_2 has 2 parameters; mean takes width in seconds`,
		"flyers_60_2_3":      `flyers takes width in seconds, number of deviations`,
		"flyers_60_x":        `number of deviations "x" is not a number of at least 0`,
		"deadBand_-1":        `deadband "-1" is not a number of at least 0`,
		"deadBand_NaN":       `deadband "NaN" is not`,
		"deadBand_Inf":       `deadband "Inf" is not`,
		"optimized_10000000": `number of points "10000000" is not a whole number from 1 to 1000000`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q gives %v, want %s", text, err, says)
		}
	}
}

func TestParseCall(t *testing.T) {
	for _, c := range []struct{ text, op, pv, says string }{
		{"mean(X)", "mean", "X", ""},
		{"mean_600(SR:A_B.VAL)", "mean_600", "SR:A_B.VAL", ""},
		{" mean_600 ( X ) ", "mean_600", "X", ""},
		{"ignoreflyers(X, 600, 2.5)", "ignoreflyers_600_2.5", "X", ""},
		{"ignoreflyers_600(X,2.5)", "ignoreflyers_600_2.5", "X", ""},
		{`mean_60(X.{"dbnd":{"abs":1,"rel":2}})`, "mean_60", `X.{"dbnd":{"abs":1,"rel":2}}`, ""},
		{`mean(X.{"arr":[1,2]},60)`, "mean_60", `X.{"arr":[1,2]}`, ""},
		{"mean_60(SR(01):X)", "mean_60", "SR(01):X", ""},
		{"mean_60(max_5(X))", "mean_60", "max_5(X)", ""},
		{"mean_60(X", "", "", `the parentheses of "mean_60(X" do not match`},
		{"mean_60(X))", "", "", "do not match"},
		{"mean_60((X)", "", "", "do not match"},
		{"mean_60X)", "", "", "do not match"},
		{"mean_60(X)(", "", "", "do not match"},
		{"mean_60)X(", "", "", "do not match"},
		{"mean_60(X).VAL", "", "", `"mean_60(X).VAL" is neither a known PV nor a post-processor of one`},
		{"mean_60(a)b(c)", "", "", "is neither a known PV nor a post-processor of one"},
		{"mean_60()", "", "", "post-processor mean_60 has no PV; write mean_60(PV)"},
		{"mean_60(,5)", "", "", "post-processor mean_60_5 has 2 parameters"},
		{"SR(01)", "", "", `unknown post-processor "SR"`},
		{"(X)", "", "", `unknown post-processor ""`},
		{"mean_x(X)", "", "", `post-processor mean_x: width in seconds "x"`},
	} {
		f, pv, err := ParseCall(c.text)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s gives %v, want %s", c.text, err, c.says)
			continue
		}
		if err == nil && (f.String() != c.op || pv != c.pv) {
			t.Errorf("%s is %s of %q", c.text, f, pv)
		}
	}
}

// FuzzParseCall checks that an accepted call has a PV, and that parsing its text again gives
// the same call.
func FuzzParseCall(f *testing.F) {
	for _, text := range []string{"mean_600(X)", "flyers(X,60,2.5)", `deadBand_1e-3(X.{"a":[1,2]})`, "mean_(x", "a(b(c)d)", "_1(,)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		f, pv, err := ParseCall(text)
		if err != nil {
			return
		}
		if pv == "" || !IsCall(text) {
			t.Fatalf("%q is %s without a PV", text, f)
		}
		again, same, err := ParseCall(f.String() + "(" + pv + ")")
		if err != nil || again.String() != f.String() || same != pv {
			t.Fatalf("%q is %s of %q, and parsed again %v of %q: %v", text, f, pv, again, same, err)
		}
	})
}

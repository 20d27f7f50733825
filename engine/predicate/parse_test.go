package predicate

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for text, pvs := range map[string]string{
		"SR:I > 0.5":                            "SR:I",
		"SR:I>0.5 and SR:I<=2e3":                "SR:I",
		"ca://SR:I.VAL = 1 OR SR:I = 2":         "SR:I",
		"not (A < 1 or B >= -1) and C != 'x'":   "A B C",
		"SR{PS:1-2}[3]/x between -1 and +1":     "SR{PS:1-2}[3]/x",
		"severity(A) >= MAJOR and A == 'it''s'": "A",
		`"and" > 1 and "a ""b"" <c>" = 1`:       `and a "b" <c>`,
		"A = inf":                               "A",
	} {
		p, err := Parse(text)
		if err != nil || strings.Join(p.PVs, " ") != pvs {
			t.Errorf("%s: %v %v", text, p, err)
		}
	}
}

// TestErrorsShowTheirPlace checks that an error says where it is and what would be right.
func TestErrorsShowTheirPlace(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", `at character 1, after "": found the end; a condition begins with the name of a PV`},
		{"SR:I", `at character 5, after "SR:I": found the end; <, <=, >, >=, =, != or between must follow`},
		{"SR:I > ", `at character 8, after "SR:I > ": found the end; a number must follow`},
		{"SR:I > open", `at character 8, after "SR:I > ": found "open"; a number must follow, or a text in single quotes`},
		{"SR:I > 'x'", "at character 8"},
		{"SR:I > 1 AND", "at character 13"},
		{"SR:I > 1 B < 2", `at character 10, after "SR:I > 1 ": found "B < 2"; and, or, or the end must follow`},
		{"(SR:I > 1", ") must close the parenthesis"},
		{"0.5 < SR:I", `at character 1, after "": found "0.5 < SR:I"; a condition begins with the name of a PV`},
		{"SR:I ! 1", "write != or not"},
		{"SR:I = 'x", "the closing quote ' is missing"},
		{"'SR:I' = 1", "names of PVs are in double quotes"},
		{"SR:I between 2 and 1", `at character 20, after "SR:I between 2 and ": found "1"; the second number must not be below the first`},
		{"SR:I between 2 or 3", "between takes two numbers"},
		{"severity SR:I = MAJOR", "write severity(PV)"},
		{"severity(SR:I) = HIGH", "a severity is NO_ALARM, MINOR, MAJOR or INVALID"},
		{"SR:I = nan", "a number must follow"},
		{"SR:Ä > 1 und", `at character 10, after "SR:Ä > 1 ": found "und"`},
		{strings.Repeat("A > 1 and ", 30) + "x", `at character 302, after "… > 1 and A > 1 and x"`},
		{strings.Repeat("(", 60) + "A > 1", "at most 50 parentheses and not may be nested"},
		{strings.Repeat("not ", 60) + "A > 1", "at most 50 parentheses and not may be nested"},
		{strings.Repeat("A > 1 and ", 64) + "A > 1", "a predicate may have 64 conditions"},
	} {
		_, err := Parse(c.text)
		if at := (*SyntaxError)(nil); !errors.As(err, &at) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.40s: the error is %v, which does not say %s", c.text, err, c.says)
		}
	}
	var many []string
	for i := range MaxPVs + 1 {
		many = append(many, "PV"+strings.Repeat("x", i)+" > 1")
	}
	if _, err := Parse(strings.Join(many, " or ")); err == nil || !strings.Contains(err.Error(), "may have 16 PVs") {
		t.Errorf("many PVs: %v", err)
	}
	if _, err := Parse(strings.Repeat(" ", maxLength) + "A > 1"); err == nil || !strings.Contains(err.Error(), "may have 4096") {
		t.Errorf("a long text: %v", err)
	}
}

// FuzzParse checks that a predicate either has an error within its text, or can be evaluated.
func FuzzParse(f *testing.F) {
	f.Add("not (A < 1 or B >= -1) and C != 'x' and severity(\"a b\") >= MAJOR or D between 1 and 2")
	f.Add("((A=1")
	f.Add("'\"")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if at := (*SyntaxError)(nil); errors.As(err, &at) {
			if at.At < 0 || at.At > len(text) || at.Want == "" || len(err.Error()) > 1000 {
				t.Errorf("%q: the error is %v", text, err)
			}
		}
		if err != nil {
			return
		}
		if len(p.PVs) == 0 || len(p.PVs) > MaxPVs || len(p.conditions) > maxConditions {
			t.Errorf("%q has %d PVs and %d conditions", text, len(p.PVs), len(p.conditions))
		}
		all := make([]results, len(p.conditions))
		for i, c := range p.conditions {
			all[i] = c.eval(&value{})
		}
		if r := p.root.eval(all); r != results(Unknown) {
			t.Errorf("%q is %b without any value", text, r)
		}
	})
}

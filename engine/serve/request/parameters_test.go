package request

import (
	"strings"
	"testing"
)

func TestParameters(t *testing.T) {
	known := []string{"start", "end", "count"}
	q, err := Parameters("start=1&end=a%20b&count", known...)
	if err != nil || q.Get("end") != "a b" || !q.Has("count") {
		t.Errorf("the parameters are %v, %v", q, err)
	}
	for raw, says := range map[string]string{
		"starts=1": "did you mean start?", "COUNT=1": "did you mean count?", "en=1": "did you mean end?",
		strings.Repeat("x", 1000) + "=1": "known ones are start, end, count", "start=1&start=1": "occurs 2 times", "start=%zz": "cannot be read",
	} {
		if _, err := Parameters(raw, known...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q returns %v, which does not say %q", raw, err, says)
		}
	}
}

func TestKnownParameters(t *testing.T) {
	known := Known{Once: []string{"from", "to"}, Repeated: []string{"pv"}, Ignored: []string{"donotchunk"}}
	q, err := known.Parse("pv=A&pv=B&from=x&donotchunk")
	if err != nil || len(q["pv"]) != 2 {
		t.Errorf("the parameters are %v, %v", q, err)
	}
	for raw, says := range map[string]string{
		"form=1": "did you mean from? The known ones are pv, from, to", "from=1&from=2": "occurs 2 times", "donotchunk&donotchunk": "occurs 2 times",
	} {
		if _, err := known.Parse(raw); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s returns %v, which does not say %q", raw, err, says)
		}
	}
	if _, err := (Known{}).Parse("x=1"); err == nil || !strings.Contains(err.Error(), "takes no parameters") {
		t.Errorf("a call without parameters returns %v", err)
	}
}

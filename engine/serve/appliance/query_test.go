package appliance

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/postprocess"
)

func TestErrorsOfQueriesSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		file, query string
		code        int
		says        string
	}{
		{"getData.json", "pv=X", 0, ""},
		{"getData.raw", "pv=X&donotchunk=&retiredPVTemplate=Y&from=2025-12-01T00:00:00-07:00", 0, ""},
		{"getData.json", "pv=X&pv=Y", 0, ""},
		{"getDataForPVs.json", "pv=X,Y", 0, ""},
		{"getData.mat", "pv=X", http.StatusNotFound, "getData.mat is not supported; use one of csv, json, qw, raw, txt"},
		{"getData", "pv=X", http.StatusNotFound, "is not supported"},
		{"getDataAtTime", "", http.StatusNotFound, "getDataAtTime is not supported"},
		{"getData.json", "", http.StatusBadRequest, "parameter pv: the name of a PV is required"},
		{"getData.csv", "pv=X&pv=Y", http.StatusBadRequest, "parameter pv: getData.csv takes a single PV"},
		{"getData.json", "pv=mean_600(X)", 0, ""},
		{"getData.json", "pv=X&pp=optimized_500", 0, ""},
		{"getData.json", "pv=X&pp=average_5", http.StatusBadRequest, `parameter pp: unknown post-processor "average"; the known post-processors are caplotbinning, count,`},
		{"getData.json", "pv=X&from=today", http.StatusBadRequest, "parameter from"},
		{"getData.json", "pv=X&to=1.1.2026", http.StatusBadRequest, "parameter to"},
		{"getData.json", "pv=X&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", http.StatusBadRequest, "parameter from: 2026-01-02T00:00:00Z is after the parameter to"},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		_, code, err := parseQuery(c.file, q, time.Unix(0, newYear))
		if code != c.code || (err == nil) != (c.code == 0) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("parseQuery of %s?%s returns %d, %v", c.file, c.query, code, err)
		}
	}
}

func TestSplitNames(t *testing.T) {
	got := splitNames([]string{`A,B.{"dbnd":{"d":1,"x":2}},C`, "D", ",", "flyers(E,60,2),F"})
	if want := []string{"A", `B.{"dbnd":{"d":1,"x":2}}`, "C", "D", "flyers(E,60,2)", "F"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
}

// FuzzQuery checks that parseQuery either refuses a request or returns a PV, a format and a
// range.
func FuzzQuery(f *testing.F) {
	f.Add("getData.json", "pv=X&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00+01:00&fetchLatestMetadata=true")
	f.Add("getData.qw", "pv=mean_600(X)&pp=x")
	f.Add("getDataForPVs.raw", "pv=a,b,{,},c")
	f.Fuzz(func(t *testing.T, file, raw string) {
		q, _ := url.ParseQuery(raw)
		a, code, err := parseQuery(file, q, time.Unix(0, newYear))
		if (err != nil) != (code != 0) {
			t.Fatalf("code %d with error %v", code, err)
		}
		if err == nil && (len(a.targets) == 0 || encoders[a.ext] == nil || a.from > a.to) {
			t.Fatalf("accepted %+v", a)
		}
		for _, target := range a.targets {
			if target.err == nil && (target.pv == "" && target.text != "" || postprocess.IsCall(target.text) && target.op == nil) {
				t.Fatalf("accepted %+v", target)
			}
		}
	})
}

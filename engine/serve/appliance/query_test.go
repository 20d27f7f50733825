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
		{"getData.flx", "pv=X", http.StatusNotImplemented, "it was for Adobe Flex; use one of csv"},
		{"getData.xls", "pv=X", http.StatusNotFound, "getData.xls is not supported; use one of csv, jplot, json, mat, qw, raw, svg, txt"},
		{"getData.mat", "pv=X&pv=Y", 0, ""},
		{"getData.json", "pv=X&ca_count=100&ca_how=0&donotchunk", 0, ""},
		{"getData.json", "pv=X&form=2026-01-01T00:00:00Z", http.StatusBadRequest, `parameter "form" is unknown; did you mean from?`},
		{"getData.json", "pv=X&from=-1h&from=-2h", http.StatusBadRequest, "parameter from: it occurs 2 times"},
		{"getData.json", "pv=X&usereduced=false&fetchLatestMetadata=TRUE", 0, ""},
		{"getData.json", "pv=X&usereduced=1", http.StatusBadRequest, `parameter usereduced: "1" is neither true nor false`},
		{"getData.json", "pv=X&fetchLatestMetadata=yes", http.StatusBadRequest, `parameter fetchLatestMetadata: "yes" is neither true nor false`},
		{"getData.json", "pv=X&timeranges=-4h,-3h,-3h,-1h", 0, ""},
		{"getData.json", "pv=X&timeranges=-4h,-3h,-2h", http.StatusBadRequest, "parameter timeranges: 3 times are not 1 to 100 pairs"},
		{"getData.json", "pv=X&timeranges=-4h,-2h,-3h,-1h", http.StatusBadRequest, "range 2: it begins before the range before it ends"},
		{"getData.json", "pv=X&timeranges=-4h,-5h", http.StatusBadRequest, "range 1: parameter from"},
		{"getData.json", "pv=X&timeranges=-4h,-3h&from=-4h", http.StatusBadRequest, "parameter timeranges: it replaces from and to"},
		{"getData.json", "pv=X&timeranges=" + strings.Repeat("-1h,", 201) + "-1h", http.StatusBadRequest, "202 times are not 1 to 100 pairs"},
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
	f.Add("getData.mat", "pv=X&timeranges=-4h,-3h,-2h,-1h&usereduced=false&donotchunk")
	f.Fuzz(func(t *testing.T, file, raw string) {
		q, _ := url.ParseQuery(raw)
		a, code, err := parseQuery(file, q, time.Unix(0, newYear))
		if (err != nil) != (code != 0) {
			t.Fatalf("code %d with error %v", code, err)
		}
		if err == nil && (len(a.targets) == 0 || formats[a.ext].encoder == nil || a.from > a.to || len(a.ranges) == 0) {
			t.Fatalf("accepted %+v", a)
		}
		for _, target := range a.targets {
			if target.err == nil && (target.pv == "" && target.text != "" || postprocess.IsCall(target.text) && target.op == nil) {
				t.Fatalf("accepted %+v", target)
			}
		}
	})
}

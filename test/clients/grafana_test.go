package clients

import (
	"encoding/binary"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// grafanaOperators are the operators of the Archiver Appliance's data source for Grafana (version 2.1, July
// 2026), as its editor lists them. raw and last are not sent.
var grafanaOperators = []string{
	"raw", "last", "firstSample", "lastSample", "firstFill", "lastFill", "mean", "min", "max", "count", "ncount", "nth", "median", "std",
	"jitter", "ignoreflyers", "flyers", "variance", "popvariance", "kurtosis", "skewness",
}

// TestGrafanaDataSourceRequests sends the requests that the source of that data source sends, and applies its
// rules to the answers. It does not run the data source, which needs the SDK of Grafana.
func TestGrafanaDataSourceRequests(t *testing.T) {
	pvs := described(shorts())
	p := &pvs[0]
	u := listen(t, handlerOf(t, openStore(t), pvs, readIn))
	var version struct{ Version string }
	if err := json.Unmarshal([]byte(fetch(t, u, "/retrieval/bpl/getVersion")), &version); err != nil || version.Version == "" {
		t.Errorf("the test of the data source reads %+v: %v", version, err)
	}
	var names []string
	found := fetch(t, u, "/retrieval/bpl/getMatchingPVs?limit=100&regex="+url.QueryEscape("T:S.*"))
	if err := json.Unmarshal([]byte(found), &names); err != nil || !slices.Equal(names, []string{p.name}) {
		t.Errorf("the search reads %s: %v", found, err)
	}
	from, to := time.Unix(0, newYear-5e9).UTC(), time.Unix(0, newYear+5e9).UTC()
	for _, operator := range grafanaOperators {
		pv, start := operator+"_2("+p.name+")", from
		if operator == "raw" || operator == "last" {
			pv = p.name
		}
		if operator == "last" {
			start = to
		}
		quick := readQuick(t, u, p, pv, start, to)
		if n := readChunks(t, u, p, pv, start, to); n != quick {
			t.Errorf("%s: the browser reads %d samples, and the back end of Grafana %d", operator, quick, n)
		}
		want := map[string]int{"raw": 10, "last": 1, "nth": 5, "ncount": 1, "flyers": 0, "ignoreflyers": 10}
		if n, known := want[operator]; known && quick != n || quick == 0 && operator != "flyers" {
			t.Errorf("%s has %d samples, want %d", operator, quick, n)
		}
	}
}

// readQuick reads getData.qw as the part of the data source in the browser does. It returns the number of samples.
func readQuick(t *testing.T, u *url.URL, p *pv, pv string, from, to time.Time) int {
	t.Helper()
	const iso = "2006-01-02T15:04:05.000Z"
	text := fetch(t, u, "/retrieval/data/getData.qw?pv="+url.QueryEscape(pv)+"&from="+from.Format(iso)+"&to="+to.Format(iso))
	var all []struct {
		Meta struct {
			Name     string
			Waveform bool
		}
		Data []struct {
			Millis int64
			Val    *float64
		}
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) > 1 {
		t.Fatalf("%s: getData.qw returns %s: %v", pv, text, err)
	}
	if len(all) == 0 {
		return 0
	}
	if all[0].Meta.Name != p.name || all[0].Meta.Waveform {
		t.Errorf("%s: meta is %+v", pv, all[0].Meta)
	}
	last := int64(0)
	for i, d := range all[0].Data {
		if d.Millis < last {
			t.Errorf("%s: sample %d is %+v, before %d ms", pv, i, d, last)
		}
		last = d.Millis
	}
	return len(all[0].Data)
}

// readChunks reads getData.raw as the back end of the data source does. It returns the number of samples.
func readChunks(t *testing.T, u *url.URL, p *pv, pv string, from, to time.Time) int {
	t.Helper()
	const iso = "2006-01-02T15:04:05.000-07:00"
	local := time.FixedZone("", -8*3600)
	q := url.Values{"pv": {pv}, "from": {from.In(local).Format(iso)}, "to": {to.In(local).Format(iso)}, "donotchunk": {""}}
	return countSamples(t, pv, p.name, fetch(t, u, "/retrieval/data/getData.raw?"+q.Encode()))
}

// countSamples counts the samples of a raw answer, by the rules of the data source and of pbrawclient, which
// Phoebus uses: a line with the name and the year begins each chunk, and an empty line ends it.
func countSamples(t *testing.T, pv, name, text string) (n int) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Fatalf("%s: getData.raw ends with %q", pv, text[max(0, len(text)-20):])
	}
	begins := true
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case line == "":
			begins = true
		case !begins:
			n++
		default:
			if begins = false; !describesChunk(line, name, 2025) && !describesChunk(line, name, 2026) {
				t.Errorf("%s: a chunk begins with %q", pv, line)
			}
		}
	}
	return n
}

// describesChunk reports whether the first line of a chunk has the name of a PV (field 2) and a year (field 3, the
// last one that the server writes).
func describesChunk(line, name string, year uint64) bool {
	return strings.Contains(line, "\x12"+string(rune(len(name)))+name) && strings.HasSuffix(line, "\x18"+string(binary.AppendUvarint(nil, year)))
}

package clients

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// timeOf returns a time in ns since 1970.
func timeOf(text string) int64 {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return t.UnixNano()
}

// readIn is when the tests of this file read: some years before the oldest sample expires.
func readIn() time.Time { return time.Unix(0, timeOf("2026-06-01T00:00:00Z")) }

// yearTimes are on both sides of two new years and of a leap day, up to the last nanosecond.
var yearTimes = []string{
	"2023-12-31T23:59:58.5Z", "2023-12-31T23:59:59.999999999Z", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000001Z",
	"2024-02-28T23:59:59.999999999Z", "2024-02-29T00:00:00Z", "2024-02-29T12:00:00.25Z", "2024-02-29T23:59:59.999999999Z",
	"2024-03-01T00:00:00Z", "2024-12-31T00:00:00Z", "2024-12-31T23:59:59.999999999Z", "2025-01-01T00:00:00Z",
}

// years is a PV with samples at yearTimes. The samples up to noon of the leap day are in a retention tier of
// ten years, and those from then on in the tier that is kept forever. The sample at noon is in both, as while a
// PV migrates. Each sample is a block.
func years() pv {
	p := newPV("T:YEARS", sample.Float64)
	for i, text := range yearTimes {
		v := 1.25 * float64(i)
		p.add(timeOf(text), sample.Severity(i%4), uint16(i), sample.Sample{Word: math.Float64bits(v)}, v)
	}
	seam := timeOf(yearTimes[6])
	p.buckets = func(at int64) (all []store.Bucket) {
		if at <= seam {
			all = append(all, store.Month.Of(at).In(store.Keep10y))
		}
		if at >= seam {
			all = append(all, store.Month.Of(at))
		}
		return all
	}
	return p
}

const yearsFrom, yearsTo = "2023-12-01T00:00:00Z", "2025-02-01T00:00:00Z"

// TestClientsReadAcrossYearsAndTiers reads a range with two new years, a leap day and the seam of two retention
// tiers with every client and in every format.
func TestClientsReadAcrossYearsAndTiers(t *testing.T) {
	pvs := described(years())
	p := &pvs[0]
	u := listen(t, handlerOf(t, openStore(t), pvs, readIn))
	host, port := hostPort(t, u)
	t.Run("clients of the Appliance", func(t *testing.T) {
		var r result
		python(t, &r, "testdata/read.py", host, port, yearsFrom, yearsTo, p.name)
		g := r.PVs[p.name]
		checkEvents(t, "getData.raw", p, g.Samples.Raw)
		checkEvents(t, "getData.json", p, g.Samples.JSON)
		checkAapy(t, "aapy's JsonFetcher", p, &g.AapyJSON)
		checkAapy(t, "aapy's PbFetcher", p, g.AapyRaw)
		checkFrame(t, "pyarchappl, json", p, g.FrameJSON)
		checkFrame(t, "pyarchappl, raw", p, g.FrameRaw)
	})
	t.Run("programs for data analysis", func(t *testing.T) {
		var found map[string]map[string]series
		python(t, &found, "testdata/tables.py", u.String(), yearsFrom, yearsTo, p.name)
		for _, client := range tableClients {
			s := found[client][p.name]
			checkSeries(t, client, p, &s)
		}
	})
	t.Run("CSV", func(t *testing.T) { checkYearsCSV(t, u, p) })
	t.Run("raw", func(t *testing.T) { checkYearsOfChunks(t, u, p) })
}

func fetch(t *testing.T, u *url.URL, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s returns %s %s: %v", path, res.Status, text, err)
	}
	return string(text)
}

func checkYearsCSV(t *testing.T, u *url.URL, p *pv) {
	span := "&from=" + yearsFrom + "&to=" + yearsTo
	var want strings.Builder
	for i, at := range p.run.Times {
		tag := p.run.Tags[i]
		fmt.Fprintf(&want, "%d,%v,%d,%d,%d\n", at/1e9, p.run.Float(i), tag.Severity(), tag.Status(), at%1e9)
	}
	got := strings.ReplaceAll(fetch(t, u, "/retrieval/data/getData.csv?pv="+p.name+span), ".0,", ",")
	if got != want.String() {
		t.Errorf("getData.csv is\n%s, want\n%s", got, want.String())
	}
	rows, err := csv.NewReader(strings.NewReader(fetch(t, u, "/api/v1/samples?format=csv&pv="+p.name+span))).ReadAll()
	if err != nil || len(rows) != len(p.values)+1 {
		t.Fatalf("the CSV of /api/v1 has %d rows: %v", len(rows), err)
	}
	columns := map[string]int{}
	for k, name := range rows[0] {
		columns[name] = k
	}
	for i, row := range rows[1:] {
		at, err := time.Parse(time.RFC3339Nano, row[columns["time"]])
		v, wrong := strconv.ParseFloat(row[columns["value"]], 64)
		if err != nil || wrong != nil || at.UnixNano() != p.run.Times[i] || v != p.run.Float(i) {
			t.Errorf("row %d of the CSV of /api/v1 is %v: %v", i, row, err)
		}
	}
}

// checkYearsOfChunks checks that a raw answer has a chunk for each year, which begins with the name and the year.
func checkYearsOfChunks(t *testing.T, u *url.URL, p *pv) {
	text := fetch(t, u, "/retrieval/data/getData.raw?pv="+p.name+"&from="+yearsFrom+"&to="+yearsTo)
	chunks := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	want := map[int]int{2023: 2, 2024: 9, 2025: 1}
	if len(chunks) != len(want) {
		t.Fatalf("the answer has %d chunks", len(chunks))
	}
	for i, chunk := range chunks {
		year := 2023 + i
		begin, _, _ := strings.Cut(chunk, "\n")
		if n := strings.Count(chunk, "\n"); !describesChunk(begin, p.name, uint64(year)) || n != want[year] {
			t.Errorf("chunk %d, of %d, has %d samples and begins with %q", i, year, n, begin)
		}
	}
}

// rolled is a PV whose samples of 2023 and of most of 2024 have expired, so that only rollups of an hour
// summarize them. Its value is constant in an hour.
func rolled() (p pv, expired *sample.Run, means map[int64]float64) {
	p, expired, means = newPV("T:ROLLED", sample.Float64), &sample.Run{Type: sample.Float64}, map[int64]float64{}
	for k, text := range []string{
		"2023-12-31T22:00:00Z", "2023-12-31T23:00:00Z", "2024-01-01T00:00:00Z", "2024-02-28T23:00:00Z", "2024-02-29T00:00:00Z",
		"2024-02-29T23:00:00Z", "2024-03-01T00:00:00Z", "2024-12-31T23:00:00Z", "2025-01-01T00:00:00Z",
	} {
		hour, v := timeOf(text), 10+float64(k)
		means[hour/1e9+1800] = v
		for i := range int64(6) {
			s := sample.Sample{Time: hour + i*600e9, Word: math.Float64bits(v)}
			if hour < timeOf("2024-12-18T00:00:00Z") {
				expired.Append(&s)
			} else {
				p.add(s.Time, sample.NoAlarm, 0, s, v)
			}
		}
	}
	return p, expired, means
}

// rollUp stores the rollups of samples that have expired.
func rollUp(t *testing.T, st store.Store, pv string, expired *sample.Run) {
	t.Helper()
	level := store.LevelOf(time.Hour, store.Forever)
	err := st.AddChannel(t.Context(), store.Channel{
		PV: pv, Levels: []store.Level{level}, Starts: []store.Bucket{store.Hour.Of(expired.Times[0]).In(store.Keep1d)},
	})
	if err != nil {
		t.Fatal(err)
	}
	acc := rollup.NewAccumulator(int64(level.Every()))
	bins := acc.Add(nil, expired, 0, expired.Len())
	bins = acc.Close(bins, math.MaxInt64)
	for len(bins) > 0 {
		tile := rollup.Tile{Level: level, Tile: level.Tile(bins[0].Start)}
		tile.Since, tile.Through = tile.Start(), tile.End()
		n := 0
		for n < len(bins) && bins[n].Start < tile.End() {
			n++
		}
		tile.Bins, bins = bins[:n], bins[n:]
		row := store.Rollup{PV: pv, Level: level, Tile: tile.Tile, Stamp: tile.Through, Blob: rollup.Append(nil, &tile)}
		if err := st.PutRollups(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClientsReadRollupsAcrossYears reads means of an hour across two new years and a leap day: of rollups where
// samples have expired, and of samples after that.
func TestClientsReadRollupsAcrossYears(t *testing.T) {
	p, expired, means := rolled()
	pvs := described(p)
	st := openStore(t)
	h := handlerOf(t, st, pvs, readIn)
	rollUp(t, st, p.name, expired)
	u := listen(t, h)
	host, port := hostPort(t, u)
	var r postProcessed
	python(t, &r, "testdata/postprocessors.py", host, port, "2023-12-31T00:00:00Z", "2025-01-02T00:00:00Z", p.name, "meanSample_3600")
	checkEvents(t, "the samples that have not expired", &pvs[0], r.All)
	got := r.PostProcessors["meanSample_3600"]
	if len(got.Raw) != len(means) {
		t.Fatalf("meanSample_3600 is %+v, want %v", got.Raw, means)
	}
	for i, e := range got.Raw {
		if v, found := means[int64(e.Secs)]; !found || e.Val != v || e.Nanos != 0 {
			t.Errorf("mean %d is %+v, want %v", i, e, means)
		}
		for what, v := range map[string]any{
			"aapy by JSON": got.AapyJSON.Values[i][0], "aapy by raw": got.AapyRaw.Values[i][0],
			"pyarchappl by JSON": got.FrameJSON.Values[i], "pyarchappl by raw": got.FrameRaw.Values[i],
		} {
			if !equal(e.Val, v) {
				t.Errorf("%s has the mean %v for bin %d, want %v", what, v, i, e.Val)
			}
		}
		if got.FrameRaw.Millis[i] != int64(e.Secs)*1000 || math.Abs(got.AapyRaw.Times[i]-e.Secs) > 1e-6 {
			t.Errorf("bin %d is at %d ms for pyarchappl and at %v s for aapy, want %v", i, got.FrameRaw.Millis[i], got.AapyRaw.Times[i], e.Secs)
		}
	}
}

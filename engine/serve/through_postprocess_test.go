package serve

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/through"
)

// throughs are the addresses by which an archive can be read through to.
func (r *rig) throughs() map[string]through.Address {
	r.t.Helper()
	parse := func(text string) *url.URL {
		u, err := url.Parse(text)
		r.check(err)
		return u
	}
	return map[string]through.Address{
		"appliance":           {URL: parse(r.url + "/retrieval")},
		"JSON archive access": {URL: parse(r.url + "/archive-access/api/1.0"), JSON: true, Key: 1},
	}
}

// waves returns floats at irregular times in [from, to), in seconds since the new year.
func waves(from, to int64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for s := from; s < to; s += 3 + (s*s)%11 {
		sev := sample.NoAlarm
		if s%13 == 0 {
			sev = sample.Minor
		}
		r.Append(&sample.Sample{Time: newYear + s*second + s%7, Word: math.Float64bits(10 * math.Sin(float64(s)/40)), Tag: sample.MakeTag(sev, uint16(sev))})
	}
	return r
}

// postProcessors returns the names of all post-processors, with their variants.
func (r *rig) postProcessors() (all []string) {
	r.t.Helper()
	const before = "the known post-processors are "
	_, text := r.get("/retrieval/data/getData.json?pv=nonsense(X)&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:01Z")
	_, list, found := strings.Cut(strings.TrimSpace(text), before)
	if !found {
		r.t.Fatalf("the error does not list the post-processors: %s", text)
	}
	for _, name := range strings.Split(list, ", ") {
		all = append(all, name, name+"Sample")
	}
	return all
}

// TestPostProcessorsOverTheSeam applies every post-processor to ranges around the seam of two archives. The
// answers must be those of an archive that has all samples in one place, but for the last digits of sums: the runs
// of samples, whose sums are added, have other lengths.
func TestPostProcessorsOverTheSeam(t *testing.T) { overTheSeam(t, 1) }

// TestLong_PostProcessorsOverTheSeam applies each post-processor to each range.
func TestLong_PostProcessorsOverTheSeam(t *testing.T) { overTheSeam(t, 5) }

// overTheSeam applies each post-processor, with each width of its bins, to a number of ranges, which take turns.
func overTheSeam(t *testing.T, ranges int) {
	one, older := newRig(t), newRig(t)
	const begin, seam, end = -3600, 1234, 4800
	all := waves(begin, end)
	first := 0
	for all.Times[first] < newYear+seam*second {
		first++
	}
	part := func(i, j int) *sample.Run {
		r := &sample.Run{Type: all.Type}
		r.AppendRange(all, i, j)
		return r
	}
	half := 0
	for all.Times[half] < newYear { // a block does not reach over the change of the year
		half++
	}
	for _, r := range []*rig{one, older} {
		r.put("X", part(0, half), 1)
	}
	one.put("X", part(half, all.Len()), 2)
	older.put("X", part(half, first+20), 2) // the older archive captures for a while after the seam
	at := func(s int64) string { return time.Unix(0, newYear+s*second).UTC().Format(time.RFC3339) }
	for kind, address := range older.throughs() {
		own := newRigThroughAt(t, address)
		own.put("X", part(first-1, all.Len()), 1) // the first value of the subscription is older than the seam
		own.connect("X", newYear+seam*second)
		applied := 0
		spans := [][2]int64{{begin - 100, end + 100}, {-50, seam + 50}, {seam - 3, seam + 3}, {seam, seam + 600}, {begin, seam - 1}}
		turn := 0
		for _, name := range one.postProcessors() {
			for _, width := range []string{"", "_60", "_7"} {
				for range ranges {
					span := spans[turn%len(spans)]
					turn++
					path := fmt.Sprintf("/retrieval/data/getData.csv?pv=%s%s(X)&from=%s&to=%s", name, width, at(span[0]), at(span[1]))
					code, want := one.get(path)
					got, text := own.get(path)
					if code == 200 {
						applied++
					}
					if got != code {
						t.Fatalf("%s: %s: %d %.300s, want %d %.300s", kind, path, got, text, code, want)
					}
					compareLines(t, kind+": "+path, text, want)
				}
			}
		}
		if applied < 60*ranges {
			t.Errorf("only %d answers are compared", applied)
		}
	}
}

// compareLines compares two answers in CSV, number by number.
func compareLines(t *testing.T, name, got, want string) {
	t.Helper()
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",\"[]\n", r) })
	}
	a, b := split(got), split(want)
	if len(a) != len(b) {
		t.Fatalf("%s:\n%.1000s\nwant\n%.1000s", name, got, want)
	}
	for i := range a {
		x, failed := strconv.ParseFloat(a[i], 64)
		y, _ := strconv.ParseFloat(b[i], 64)
		if a[i] != b[i] && (failed != nil || !(math.Abs(x-y) <= 1e-9*max(1, math.Abs(y)))) {
			t.Fatalf("%s: field %d is %s, want %s", name, i, a[i], b[i])
		}
	}
}

// TestPostProcessorsOverTheSeamWhereSamplesHaveExpired reads an older archive, then rollups, then samples.
func TestPostProcessorsOverTheSeamWhereSamplesHaveExpired(t *testing.T) {
	older := newRig(t)
	from := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano()
	expired := store.Hour.Of(from).In(store.Keep1d)
	until := expired.Span().Last().End()
	seconds := func(first, end int64) *sample.Run {
		r := &sample.Run{Type: sample.Float64}
		for s := first; s < end; s++ {
			r.Append(&sample.Sample{Time: from + s*second, Word: math.Float64bits(float64(s))})
		}
		return r
	}
	older.put("X", seconds(-3600, 60), 1)
	for kind, address := range older.throughs() {
		own := newRigThroughAt(t, address)
		own.rollUp("X", store.LevelOf(time.Minute, store.Forever), seconds(0, 3601)) // the last bin is not complete
		own.check(own.store.AddChannel(t.Context(), store.Channel{PV: "X", Starts: []store.Bucket{expired}}))
		own.connect("X", from+60*second)
		last := &sample.Run{Type: sample.Float64}
		for s := range int64(600) {
			last.Append(&sample.Sample{Time: until + s*second, Word: math.Float64bits(float64(s))})
		}
		own.put("X", last, 1)
		at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
		for op, value := range map[string]func(bin int) float64{
			"countSample_600": func(int) float64 { return 600 },
			"minSample_600":   func(bin int) float64 { return float64(bin*600 - 3600) },
			"meanSample_600":  func(bin int) float64 { return float64(bin*600-3600) + 299.5 },
		} {
			code, text := own.get("/retrieval/data/getData.csv?pv=" + op + "(X)&from=" + at(from-3600*second) + "&to=" + at(until+599*second))
			var want strings.Builder
			for bin := range 12 {
				fmt.Fprintf(&want, "%d,%.1f,0,0,0\n", from/second-3600+int64(bin)*600+300, value(bin))
			}
			fmt.Fprintf(&want, "%d,%.1f,0,0,0\n", until/second+300, value(6))
			if code != 200 || text != want.String() {
				t.Errorf("%s: %s: %d\n%s\nwant\n%s", kind, op, code, text, want.String())
			}
		}
	}
}

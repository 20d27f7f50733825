package clients

import (
	"math"
	"net/url"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// postProcessed is the output of postprocessors.py.
type postProcessed struct {
	All   []event `json:"all"` // without a post-processor
	Wrong struct {
		Code int    `json:"code"`
		Text string `json:"text"`
	} `json:"wrong"`
	PostProcessors map[string]*struct {
		AapyJSON  aapy    `json:"aapyJSON"`
		AapyRaw   aapy    `json:"aapyRaw"`
		FrameJSON *frame  `json:"frameJSON"`
		FrameRaw  *frame  `json:"frameRaw"`
		Raw       []event `json:"raw"`
	} `json:"post_processors"`
}

// TestClientsReadThroughPostProcessors reads the record of a real IOC with and without
// post-processors. It checks that the results of the post-processors follow from the raw
// samples.
func TestClientsReadThroughPostProcessors(t *testing.T) {
	ioc := epics.StartIOC(t, `record(calc, "T:COUNT") { field(SCAN, ".1 second") field(INPA, "T:COUNT") field(CALC, "A+1") }`)
	groups := t.TempDir()
	program.WriteGroup(t, groups, "count", program.Group("count", "", "T:COUNT"))
	a := program.Standalone(t, ioc.ClientEnv(), "-f", groups, "--data", t.TempDir())
	a.AwaitConnected(1) // until the group is applied, the PV is unknown
	start := time.Now()
	var from, to time.Time
	program.Eventually(t, "samples of four whole seconds are archived", func() bool {
		events := a.Events("T:COUNT", start)
		if len(events) < 2 {
			return false
		}
		// The range begins and ends at an odd second. Bins of two seconds begin at even
		// seconds, so no bin begins at the end of the range. Such a bin would be empty, and
		// would repeat the values of the bin before it.
		from = time.Unix(0, events[0].Time).UTC().Truncate(2 * time.Second).Add(3 * time.Second)
		to = from.Add(4 * time.Second)
		return time.Unix(0, events[len(events)-1].Time).After(to.Add(time.Second / 2))
	})
	u, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, port := hostPort(t, u)
	var r postProcessed
	python(t, &r, "testdata/postprocessors.py", host, port, from.Format(time.RFC3339), to.Format(time.RFC3339), "T:COUNT",
		"mean_1", "optimized_2", "lastSample_1", "ncount")

	if r.Wrong.Code != 400 || r.Wrong.Text[:33] != `unknown post-processor "average";` {
		t.Errorf("an unknown post-processor: got %+v", r.Wrong)
	}
	checkMean(t, &r, from.Unix(), to.Unix())
	checkOptimized(t, &r)
	checkLast(t, &r)
	if got := r.PostProcessors["ncount"]; len(got.Raw) != 1 || got.Raw[0].Val != float64(len(r.All)-1) || !equal(got.Raw[0].Val, got.FrameRaw.Values[0]) {
		t.Errorf("ncount is %+v for %d samples, the first of which is before the range", got.Raw, len(r.All))
	}
}

// checkMean compares the results of mean_1 with the means of the samples in each second. aapy
// omits bins whose time is after the range.
func checkMean(t *testing.T, r *postProcessed, from, to int64) {
	t.Helper()
	got := r.PostProcessors["mean_1"]
	for at := from; at < to; at++ {
		sum, n := 0.0, 0.0
		for _, e := range r.All {
			if int64(e.Secs) == at {
				sum, n = sum+e.Val.(float64), n+1
			}
		}
		i := int(at - from + 1) // the first bin has the sample before the range
		if n == 0 || len(got.Raw) <= i {
			t.Fatalf("second %[2]d has %[1]v samples, and there are %[3]d means", n, at, len(got.Raw))
		}
		if e := got.Raw[i]; e.time() != at*1e9+5e8 || math.Abs(e.Val.(float64)-sum/n) > 1e-9 {
			t.Errorf("the mean of second %d is %+v, want %v", at, e, sum/n)
		}
		for what, v := range map[string]any{
			"aapy by JSON": got.AapyJSON.Values[i][0], "aapy by raw": got.AapyRaw.Values[i][0],
			"pyarchappl by JSON": got.FrameJSON.Values[i], "pyarchappl by raw": got.FrameRaw.Values[i],
		} {
			if !equal(got.Raw[i].Val, v) {
				t.Errorf("%s has mean %v for second %d, want %v", what, v, at, got.Raw[i].Val)
			}
		}
	}
}

// checkOptimized checks the statistics of optimized_2. Each bin's mean must lie between its
// minimum and its maximum, and the counts of all bins must add up to the number of samples.
func checkOptimized(t *testing.T, r *postProcessed) {
	t.Helper()
	got := r.PostProcessors["optimized_2"]
	total := 0.0
	for i, e := range got.Raw {
		stats, ok := e.Val.([]any)
		if !ok || len(stats) != 5 {
			t.Fatalf("a bin has %v, want five statistics", e.Val)
		}
		for what, v := range map[string]any{
			"aapy by JSON": any(got.AapyJSON.Values[i]), "pyarchappl by JSON": got.FrameJSON.Values[i], "pyarchappl by raw": got.FrameRaw.Values[i],
		} {
			if !equal(e.Val, v) {
				t.Errorf("%s has the bin %v, want %v", what, v, e.Val)
			}
		}
		total += stats[4].(float64)
		if mean := stats[0].(float64); mean < stats[2].(float64) || mean > stats[3].(float64) {
			t.Errorf("the mean of a bin is not between its minimum and maximum: %v", stats)
		}
	}
	if total != float64(len(r.All)) {
		t.Errorf("bins count %v samples, want %d", total, len(r.All))
	}
}

// checkLast checks that each result of lastSample_1 is one of the raw samples.
func checkLast(t *testing.T, r *postProcessed) {
	t.Helper()
	for i, e := range r.PostProcessors["lastSample_1"].Raw {
		if !slices.Contains(r.All, e) {
			t.Errorf("sample %d of lastSample is %+v, which is not a raw sample", i, e)
		}
	}
}

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

// postProcessed is what postprocessors.py prints.
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

// Clients read a real IOC's record through post-processors, and get what follows from the
// samples that they get without.
func TestClientsReadThroughPostProcessors(t *testing.T) {
	ioc := epics.StartIOC(t, `record(calc, "T:COUNT") { field(SCAN, ".1 second") field(INPA, "T:COUNT") field(CALC, "A+1") }`)
	groups := t.TempDir()
	program.WriteGroup(t, groups, "count", program.Group("count", "", "T:COUNT"))
	a := program.Standalone(t, ioc.ClientEnv(), "-f", groups, "--data", t.TempDir())
	start := time.Now()
	var from, to time.Time
	program.Eventually(t, "there are samples of four whole seconds", func() bool {
		events := a.Events("T:COUNT", start)
		if len(events) < 2 {
			return false
		}
		// An odd second: bins of two seconds begin at even ones, so none begins at to,
		// which would be empty and be filled with the one before.
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
		t.Errorf("an unknown post-processor gives %+v", r.Wrong)
	}
	checkMean(t, &r, from.Unix(), to.Unix())
	checkOptimized(t, &r)
	checkLast(t, &r)
	if got := r.PostProcessors["ncount"]; len(got.Raw) != 1 || got.Raw[0].Val != float64(len(r.All)-1) || !equal(got.Raw[0].Val, got.FrameRaw.Values[0]) {
		t.Errorf("ncount is %+v, of %d samples and one before", got.Raw, len(r.All))
	}
}

// checkMean compares with the means of the samples in each second. aapy leaves out the
// bins whose time is after the range.
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
		i := int(at - from + 1) // the first is for the sample before the range
		if n == 0 || len(got.Raw) <= i {
			t.Fatalf("%v samples at %d, %d means", n, at, len(got.Raw))
		}
		if e := got.Raw[i]; e.time() != at*1e9+5e8 || math.Abs(e.Val.(float64)-sum/n) > 1e-9 {
			t.Errorf("the mean of %d is %+v, want %v", at, e, sum/n)
		}
		for what, v := range map[string]any{
			"aapy by JSON": got.AapyJSON.Values[i][0], "aapy by raw": got.AapyRaw.Values[i][0],
			"pyarchappl by JSON": got.FrameJSON.Values[i], "pyarchappl by raw": got.FrameRaw.Values[i],
		} {
			if !equal(got.Raw[i].Val, v) {
				t.Errorf("%s has the mean %v of %d, want %v", what, v, at, got.Raw[i].Val)
			}
		}
	}
}

// checkOptimized compares the statistics of bins: their counts are all samples.
func checkOptimized(t *testing.T, r *postProcessed) {
	t.Helper()
	got := r.PostProcessors["optimized_2"]
	total := 0.0
	for i, e := range got.Raw {
		stats, ok := e.Val.([]any)
		if !ok || len(stats) != 5 {
			t.Fatalf("a bin has %v", e.Val)
		}
		for what, v := range map[string]any{
			"aapy by JSON": any(got.AapyJSON.Values[i]), "pyarchappl by JSON": got.FrameJSON.Values[i], "pyarchappl by raw": got.FrameRaw.Values[i],
		} {
			if !equal(e.Val, v) {
				t.Errorf("%s has %v in a bin, want %v", what, v, e.Val)
			}
		}
		total += stats[4].(float64)
		if mean := stats[0].(float64); mean < stats[2].(float64) || mean > stats[3].(float64) {
			t.Errorf("a bin has %v", stats)
		}
	}
	if total != float64(len(r.All)) {
		t.Errorf("bins count %v samples of %d", total, len(r.All))
	}
}

// checkLast compares with the samples themselves.
func checkLast(t *testing.T, r *postProcessed) {
	t.Helper()
	for i, e := range r.PostProcessors["lastSample_1"].Raw {
		if !slices.Contains(r.All, e) {
			t.Errorf("sample %d of lastSample is %+v, which is none", i, e)
		}
	}
}

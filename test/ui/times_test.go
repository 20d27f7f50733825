package ui

import (
	"fmt"
	"iter"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve"
)

// The archive in which times are measured, and how often each is.
const (
	timedLanes   = 8
	timedSamples = 1_000_000 // per plot, one per second
	timedNames   = 1_000_000
	timedRuns    = 3
)

// clockStart starts a measurement in the page: its end is the first frame after a condition holds. The page measures
// with its own clock, so what the test does between does not count.
const clockStart = `(() => {
	window.timed = (name, start, done) => new Promise((end) => {
		const look = () => {
			if (!done()) return requestAnimationFrame(look);
			requestAnimationFrame(() => { // the frame with the change is on the screen
				end(performance.measure(name, { start, end: performance.now() }).duration);
			});
		};
		look();
	});
	window.drawn = (lanes) => document.querySelector(".page[data-state=ready]") && document.querySelectorAll(".value[data-rows]").length === lanes
		&& document.querySelectorAll(".lane-plot canvas").length === lanes;
	return 0 })()`

// report has the times of each step, in ms.
type report struct {
	steps []string
	times map[string][]float64
}

func (r *report) add(step string, ms float64) {
	if r.times[step] == nil {
		r.steps = append(r.steps, step)
	}
	r.times[step] = append(r.times[step], ms)
}

// String returns a table with the median and the largest time of each step.
func (r *report) String() string {
	var b strings.Builder
	b.WriteString("| step | median | largest |\n|---|---|---|\n")
	for _, step := range r.steps {
		list := slices.Sorted(slices.Values(r.times[step]))
		fmt.Fprintf(&b, "| %s | %.0f ms | %.0f ms |\n", step, list[len(list)/2], list[len(list)-1])
	}
	return b.String()
}

// timedPVs yields the names that are searched.
func timedPVs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range timedNames {
			if !yield(fmt.Sprintf("SR%02d:DEVICE%06d:VALUE", i%40, i)) {
				return
			}
		}
	}
}

// fillTimed stores the data of the report.
func (a *archive) fillTimed() (pvs string) {
	a.t.Helper()
	for lane := range timedLanes {
		pv := fmt.Sprintf("TIMED:%d", lane)
		const part = 4096
		for from := int64(0); from < timedSamples; from += part {
			a.put(pv, floats(from, min(from+part, timedSamples), 1, func(s float64) float64 { return 100*float64(lane) + math.Sin(s/5000) + 0.1*math.Sin(s) }))
		}
		a.metadata(pv, sample.Metadata{Units: fmt.Sprintf("unit%d", lane)})
		pvs += "&pv=" + pv
	}
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: a.store, Shards: 4, Captured: timedPVs}, Channels: nobody{}, Gatherer: reg, Metrics: serve.NewMetrics(reg), Registerer: reg, Reads: 8,
		Ready: func() error { return nil }, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	a.check(err)
	a.server.Config.Handler = h
	return pvs
}

// TestLong_Times prints how long a user waits for a plot and a search, as the browser measures it by
// performance.measure. It asserts only that each step ends: machines differ. VARVE_UI_TIMES=1 runs it.
func TestLong_Times(t *testing.T) {
	if os.Getenv("VARVE_UI_TIMES") == "" {
		t.Skip("this test prints times: set VARVE_UI_TIMES=1")
	}
	a := newArchive(t)
	all := a.fillTimed()
	const span = "&utc=1&from=2026-01-01T12:00:00.000Z&to=2026-01-13T01:46:40.000Z"
	r := &report{times: map[string][]float64{}}
	p := open(t, a.server.URL+"/")
	for range timedRuns {
		for _, c := range []struct {
			name, pvs string
			lanes     int
		}{{"one lane of 1 M samples", "&pv=TIMED:0", 1}, {"8 lanes of 1 M samples", all, timedLanes}} {
			p.run(chromedp.Navigate("about:blank"), chromedp.Navigate(a.server.URL+"/?"+c.pvs[1:]+span), chromedp.Evaluate(clockStart, nil))
			var ms float64
			p.eval(fmt.Sprintf(`timed("first plot", 0, () => drawn(%d))`, c.lanes), &ms)
			r.add(c.name+": first plot after opening the page", ms)
			p.timeStep(r, c.name+": zoom in", c.lanes, chromedp.KeyEvent("+"))
			p.timeStep(r, c.name+": move", c.lanes, chromedp.KeyEvent(kb.ArrowRight))
			x, y := p.point("unit0", 0.5, 0.5)
			p.timeStep(r, c.name+": zoom by the wheel to raw samples", c.lanes,
				input.DispatchMouseEvent(input.MouseWheel, x, y).WithDeltaY(-math.Log(1000)/math.Log(1.0015)).WithDeltaX(0))
		}
		p.run(chromedp.Navigate(a.server.URL+"/"), chromedp.Evaluate(clockStart, nil))
		p.wait(`document.querySelector(".page[data-state=empty]")`)
		p.run(chromedp.Evaluate(`window.result = new Promise((end) => document.querySelector(".search input").addEventListener("input", () => {
			const start = performance.now();
			requestAnimationFrame(() => end(timed("search", start, () => document.querySelector(".found li"))));
		}, { once: true })); 0`, nil))
		p.run(chromedp.Focus(".search input"), input.InsertText("DEVICE99999"))
		var ms float64
		p.eval(`window.result`, &ms)
		r.add("search for a part of a name in 1 M names", ms)
	}
	t.Logf("times of %d runs:\n%s", timedRuns, r)
}

// timeStep measures the time from a key or the wheel to the first frame with the data of the new range.
func (p *page) timeStep(r *report, name string, lanes int, action chromedp.Action) {
	p.t.Helper()
	p.run(chromedp.Evaluate(`{ const from = document.querySelector(".page").dataset.from;
		window.result = new Promise((end) => {
			const begin = (e) => {
				removeEventListener("keydown", begin, true); removeEventListener("wheel", begin, true);
				const start = performance.now();
				end(timed("step", start, () => document.querySelector(".page").dataset.from !== from && drawn(`+fmt.Sprint(lanes)+`)));
			};
			addEventListener("keydown", begin, true); addEventListener("wheel", begin, true);
		}) }; 0`, nil), action)
	var ms float64
	p.eval(`window.result`, &ms)
	r.add(name, ms)
}

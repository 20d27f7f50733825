package ui

import (
	"fmt"
	"iter"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
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

// report has the times of each step, in ms, by what is plotted.
type report struct {
	steps []string
	times map[string]map[string][]float64
}

func (r *report) add(step, of string, ms float64) {
	if r.times[step] == nil {
		r.steps = append(r.steps, step)
		r.times[step] = map[string][]float64{}
	}
	r.times[step][of] = append(r.times[step][of], ms)
}

// The columns of the report.
const (
	onePV    = "one PV"
	eightPVs = "eight PVs"
)

// String returns a table in Markdown with the median of each step and, in parentheses, the largest time.
func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| ms: median (largest) | %s | %s |\n|---|---|---|\n", onePV, eightPVs)
	for _, step := range r.steps {
		fmt.Fprintf(&b, "| %s |", step)
		for _, of := range []string{onePV, eightPVs} {
			if list := slices.Sorted(slices.Values(r.times[step][of])); len(list) > 0 {
				fmt.Fprintf(&b, " %.0f (%.0f) |", list[len(list)/2], list[len(list)-1])
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// conditions describes the machine and the browser.
func (p *page) conditions() string {
	var agent string
	p.eval(`navigator.userAgent.match(/Chrom\S+/)[0]`, &agent)
	average := "not known"
	if load, err := os.ReadFile("/proc/loadavg"); err == nil { // only Linux has it
		average, _, _ = strings.Cut(string(load), " ")
	}
	text := fmt.Sprintf("%d runs, %s, %s, %d cores, load average after the runs %s", timedRuns, agent, runtime.Version(), runtime.NumCPU(), average)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				text += ". THE ARCHIVE RAN WITH THE RACE DETECTOR, which makes it several times slower"
			}
		}
	}
	return text
}

// timedPVs returns the names that are searched.
func timedPVs() []string {
	list := make([]string, timedNames)
	for i := range list {
		list[i] = fmt.Sprintf("SR%02d:DEVICE%06d:VALUE", i%40, i)
	}
	return list
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
	names, reg := timedPVs(), prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: a.store, Shards: 4, Captured: func() iter.Seq[string] { return slices.Values(names) }}, Channels: nobody{}, Gatherer: reg, Metrics: serve.NewMetrics(reg), Registerer: reg, Reads: 8,
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
	r := &report{times: map[string]map[string][]float64{}}
	p := open(t, a.server.URL+"/")
	for range timedRuns {
		for _, c := range []struct {
			name, pvs string
			lanes     int
		}{{onePV, "&pv=TIMED:0", 1}, {eightPVs, all, timedLanes}} {
			p.run(chromedp.Navigate("about:blank"), network.ClearBrowserCache(), chromedp.Navigate(a.server.URL+"/?"+c.pvs[1:]+span), chromedp.Evaluate(clockStart, nil))
			var ms float64
			p.eval(fmt.Sprintf(`timed("first plot", 0, () => drawn(%d))`, c.lanes), &ms)
			r.add("first plot after opening the page, with an empty cache", c.name, ms)
			p.timeStep(r, "zoom in by a key", c.name, c.lanes, chromedp.KeyEvent("+"))
			p.timeStep(r, "move by a key", c.name, c.lanes, chromedp.KeyEvent(kb.ArrowRight))
			x, y := p.point("unit0", 0.5, 0.5)
			p.timeStep(r, "zoom to raw samples by the wheel", c.name, c.lanes,
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
		r.add("search for a part of a name in 1 M names", onePV, ms)
	}
	_, _ = fmt.Fprintf(os.Stdout, "%s:\n\n%s\n", p.conditions(), r) // without the indentation of Logf
}

// timeStep measures the time from a key or the wheel to the first frame with the data of the new range.
func (p *page) timeStep(r *report, step, of string, lanes int, action chromedp.Action) {
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
	r.add(step, of, ms)
}

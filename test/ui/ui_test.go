// Package ui tests the web UI in Chromium, against an archive with known data:
//
//	pebble ◀── known data        Chromium ──▶ serve ──▶ UI, /api/v1 ──▶ pebble
//	                                 ▲
//	                        test ────┘ clicks, keys; waits for states of the page
package ui

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

const (
	hour = "&from=2026-01-01T12:00:00.000Z&to=2026-01-01T13:00:00.000Z&utc=1"
	// drawn is what the first plot holds of its first PV.
	drawn = `(() => { const { u, traces } = document.querySelector(".lane-plot").plot, s = traces()[0].series;
		return { mode: s.mode, rows: s.rows, lo: u.scales.x.min, hi: u.scales.x.max, low: u.scales.y.min, high: u.scales.y.max,
			x: [...s.x], value: s.value && [...s.value], min: s.min && [...s.min], max: s.max && [...s.max], count: s.count && [...s.count] } })()`
)

type plot struct {
	Mode                      string
	Rows                      int
	Lo, Hi, Low, High         float64
	X, Value, Min, Max, Count []float64
}

func (p *page) drawn() (d plot) {
	p.t.Helper()
	p.eval(drawn, &d)
	return d
}

// TestSearchPlotZoom searches a PV by a part of its name, plots it, and zooms until its raw samples
// are drawn.
func TestSearchPlotZoom(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?"+hour[1:])
	p.wait(`document.querySelector(".page[data-state=empty]")`)
	p.run(chromedp.SendKeys(`.search input`, "CURR"))
	p.wait(`document.querySelectorAll(".found li").length === 2`)
	p.run(chromedp.KeyEvent(kb.Enter))
	p.ready(1)
	d := p.drawn()
	samples := 0.0
	for _, n := range d.Count {
		samples += n
	}
	if d.Mode != "bins" || samples != 3300 || d.Hi-d.Lo != 3600e3 {
		t.Fatalf("the plot of an hour has %s with %g samples from %g to %g", d.Mode, samples, d.Lo, d.Hi)
	}
	p.checkEnvelope(d)
	p.drag("mA", 0.75, 0.8, 0)
	p.wait(`document.querySelector(".value[data-mode=samples]")`)
	p.ready(1)
	raw := p.drawn()
	if span := raw.Hi - raw.Lo; math.Abs(span-180e3) > 10e3 {
		t.Errorf("dragging over a twentieth of an hour shows %g ms", span)
	}
	p.checkRaw(raw, "SR:CURRENT")
	p.shoot("raw")
	p.run(chromedp.Evaluate("history.back()", nil))
	p.wait(`document.querySelector(".value[data-mode=bins]")`)
	p.ready(1)
	if back := p.drawn(); back.Lo != d.Lo || back.Hi != d.Hi {
		t.Errorf("back shows %g to %g", back.Lo, back.Hi)
	}
}

// checkEnvelope checks that each raw sample is between the minimum and the maximum of its bin.
func (p *page) checkEnvelope(d plot) {
	p.t.Helper()
	times, values := p.archived("SR:CURRENT", d.Lo, d.Hi)
	for i, at := range times {
		k := len(d.X) - 1
		for k >= 0 && d.X[k] > at {
			k--
		}
		if k < 0 || values[i] < d.Min[k] || values[i] > d.Max[k] {
			p.t.Fatalf("the sample %g at %f is outside of the envelope", values[i], at)
		}
	}
}

// checkRaw checks that the plot holds the samples that the archive has.
func (p *page) checkRaw(d plot, pv string) {
	p.t.Helper()
	times, values := p.archived(pv, d.Lo, d.Hi)
	if len(times) != d.Rows {
		p.t.Fatalf("the plot has %d samples, and the archive %d", d.Rows, len(times))
	}
	for i := range times {
		if math.Abs(d.X[i]-times[i]) > 1e-3 || d.Value[i] != values[i] {
			p.t.Fatalf("sample %d is %g at %f, in the archive %g at %f", i, d.Value[i], d.X[i], values[i], times[i])
		}
	}
}

// archived returns the samples of a PV as /api/v1/samples has them. Times are in ms since 1970.
func (p *page) archived(pv string, lo, hi float64) (times, values []float64) {
	p.t.Helper()
	var got struct{ Times, Values []float64 }
	p.eval(fmt.Sprintf(`fetch("api/v1/samples?pv=%s&from=" + new Date(%f).toISOString() + "&to=" + new Date(%f).toISOString()).then((r) => r.json())
		.then((a) => a.runs.flatMap((r) => r.samples)).then((s) => ({ times: s.map((s) => Date.parse(s.time)), values: s.map((s) => s.value) }))`,
		url.QueryEscape(pv), lo, hi), &got)
	if len(got.Times) == 0 {
		p.t.Fatalf("the archive has no samples of %s", pv)
	}
	return got.Times, got.Values
}

// TestGapShowsItsCause checks the note over a gap, the list of gaps, and that nothing is drawn in it.
func TestGapShowsItsCause(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	p.hover("mA", 1300.0/3600, 0.3)
	p.wait(`document.querySelector(".note[data-kind=disconnected]")`)
	var note struct{ Text, Writer, Value, Row string }
	p.eval(`({ text: document.querySelector(".note").innerText, writer: document.querySelector(".note").dataset.writer,
		value: document.querySelector(".value strong").innerText, row: document.querySelector(".gaps tr[data-kind=disconnected]").innerText })`, &note)
	for _, want := range []string{"connection reset", "no server answers (10.0.0.255:5064)", "connected again (10.0.0.8:5064)", "5 min"} {
		if !strings.Contains(note.Text, want) || !strings.Contains(note.Row, want) {
			t.Errorf("the note is %q and the row is %q, want %q", note.Text, note.Row, want)
		}
	}
	if note.Writer != writer.String() || note.Value != "no data" {
		t.Errorf("the writer is %s and the value is %s", note.Writer, note.Value)
	}
	p.shoot("gap")
	if hatched, line := p.colored(1300), p.colored(600); hatched || !line {
		t.Errorf("the line is drawn in the gap: %v; outside: %v", hatched, line)
	}
	p.hover("mA", 2405.0/3600, 0.3)
	p.wait(`document.querySelector(".note[data-kind=overrun]")?.innerText.includes("9 samples lost: the IOC dropped updates")`)
}

// colored reports whether the columns of pixels at a time, in s after begin, have one with about the
// full color of the first trace. Hatching is fainter.
func (p *page) colored(s float64) (has bool) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(() => { const { u } = document.querySelector(".lane-plot").plot, c = u.ctx.canvas;
		const x = Math.round(u.valToPos(%f, "x", true)), d = u.ctx.getImageData(x - 3, 0, 7, c.height).data;
		for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 180 && Math.abs(d[i] - 0x5c) + Math.abs(d[i + 1] - 0xc8) + Math.abs(d[i + 2] - 0xff) < 60) return true;
		return false })()`, float64(begin)/1e6+s*1e3), &has)
	return has
}

// TestURLIsTheState checks that a reload, and a copied link, show the same plot.
func TestURLIsTheState(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT&pv=SR:MODE&pv=SR:LIFETIME&log=h"+hour)
	p.ready(3)
	p.shoot("explore-dark")
	p.run(chromedp.Click(`[aria-label="Zoom in"]`))
	p.wait(`document.querySelector("[data-span='1800000']")`)
	p.ready(3)
	const view = `({ url: location.href, lanes: [...document.querySelectorAll(".lane-plot")].map((l) => [l.dataset.lane, l.plot.u.scales.x.min, l.plot.u.scales.x.max,
		l.plot.u.scales.y.min, l.plot.u.scales.y.max, l.plot.u.scales.y.distr, l.plot.traces().map((t) => [t.pv, t.color, t.series.rows, t.breaks.length])]),
		values: [...document.querySelectorAll(".value")].map((v) => v.innerText), times: [...document.querySelectorAll(".time input")].map((i) => i.value) })`
	var before, after map[string]any
	p.eval(view, &before)
	p.run(chromedp.Reload())
	p.ready(3)
	p.eval(view, &after)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("before the reload:\n%v\nafter it:\n%v", before, after)
	}
	p.run(chromedp.Click(`[aria-label="Light colours"]`))
	p.wait(`document.documentElement.dataset.theme === "light"`)
	p.ready(3)
	p.shoot("explore-light")
}

// TestLiveJoinsTheArchive checks that a live plot has each sample once, also after its connection was
// lost.
func TestLiveJoinsTheArchive(t *testing.T) {
	a := newArchive(t)
	var now float64
	p := open(t, a.server.URL)
	p.eval("Date.now()", &now)
	next := 0
	put := func(n int) {
		r := &sample.Run{Type: sample.Float64}
		for range n {
			at := int64(now)*1e6 - 60*second + int64(next)*second/4
			r.Append(&sample.Sample{Time: at, Word: math.Float64bits(float64(next))})
			next++
		}
		a.put("LIVE", r)
	}
	put(40)
	p.run(chromedp.Navigate(a.server.URL + "/?pv=LIVE&from=-5m&to=now"))
	p.ready(1)
	for range 2 {
		put(20)
		p.wait(fmt.Sprintf(`document.querySelector(".value").dataset.rows === "%d"`, next))
		a.server.CloseClientConnections()
	}
	put(20)
	p.wait(fmt.Sprintf(`document.querySelector(".value").dataset.rows === "%d"`, next))
	for i, v := range p.drawn().Value {
		if v != float64(i) {
			t.Fatalf("sample %d has the value %g", i, v)
		}
	}
}

// TestPathPrefix checks that the page works behind a proxy that removes a prefix of its path.
func TestPathPrefix(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.prefixed.URL+"/archive/?pv=SR:CURRENT"+hour)
	p.ready(1)
	p.run(chromedp.SendKeys(`.search input`, "LIFE"))
	p.wait(`document.querySelectorAll(".found li").length === 1`)
	p.run(chromedp.KeyEvent(kb.Enter))
	p.ready(2)
	var path string
	p.eval("location.pathname", &path)
	if path != "/archive/" {
		t.Errorf("the path is %s", path)
	}
}

// TestUnknownPV checks what the page says of a PV that the archive does not know, and that it draws
// the other one.
func TestUnknownPV(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURREN&pv=SR:LIFETIME"+hour)
	p.wait(`document.querySelector(".value[data-error]")?.innerText.includes("similar names are SR:CURRENT")`)
	p.wait(`document.querySelector(".value[data-pv='SR:LIFETIME']").dataset.rows === "60"`)
}

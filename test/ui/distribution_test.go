package ui

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

// distribution is what the plot of a distribution holds.
type distribution struct {
	Edges, Counts []float64
	Width, Left   float64
	T, X, Y       []float64
	Alone         float64
	Text          string
}

// distribution waits for the plot of a distribution and returns it.
func (p *page) distribution(kind string) (d distribution) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector(".distribution[data-kind=%s][data-state=ready] .distribution-plot")?.plot`, kind))
	p.eval(`({ ...document.querySelector(".distribution-plot").plot.data, text: document.querySelector(".distribution").innerText })`, &d)
	return d
}

const windowed = "&window=2026-01-01T12:10:00.000Z/2026-01-01T12:30:00.000Z" + hour

// TestHistogram shows how often values of a window occur, by keys, and compares the bars with the samples of the
// archive.
func TestHistogram(t *testing.T) {
	a := newArchive(t)
	a.fill()
	odd := &sample.Run{Type: sample.Float64}
	for i, v := range []float64{math.NaN(), 1, math.Inf(-1), 1} {
		odd.Append(&sample.Sample{Time: begin + 900*second + int64(i)*second, Word: math.Float64bits(v)})
	}
	a.put("HIST:ODD", odd)
	text := &sample.Run{Type: sample.String}
	text.Append(&sample.Sample{Time: begin + 900*second, Bytes: []byte("Ready")})
	a.put("HIST:TEXT", text)
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+windowed)
	p.ready(1)
	p.run(chromedp.Focus(`//button[text()="Histogram"]`), chromedp.KeyEvent(kb.Enter))
	p.wait(`location.search.includes("show=histogram")`)
	d := p.distribution("histogram")
	from := float64(begin)/1e6 + 600e3
	_, values := p.archived("SR:CURRENT", from, from+1200e3+1)
	want := make([]float64, len(d.Counts))
	for _, v := range values {
		k := len(want) - 1
		for k > 0 && v < d.Edges[k]-1e-9 {
			k--
		}
		want[k]++
	}
	total, moved := 0.0, 0.0
	for i := range want {
		total += d.Counts[i]
		moved += math.Abs(d.Counts[i] - want[i])
	}
	// A value at an edge may be on either side of it.
	if len(values) != 901 || total != 901 || moved > 4 || len(d.Counts) < 5 {
		t.Errorf("the bars have %v, want %v of %d samples", d.Counts, want, len(values))
	}
	p.shoot("histogram")
	p.run(chromedp.Navigate(a.server.URL + "/?pv=SR:MODE&show=histogram" + windowed))
	if d = p.distribution("histogram"); fmt.Sprint(d.Edges, d.Counts) != "[-0.5 0.5] [1 1]" {
		t.Errorf("the states have the bars %v from %v", d.Counts, d.Edges) // the state before the window is no sample of it
	}
	p.run(chromedp.Navigate(a.server.URL + "/?pv=HIST:ODD&show=histogram" + windowed))
	if d = p.distribution("histogram"); fmt.Sprint(d.Counts, d.Left) != "[2] 2" || !strings.Contains(d.Text, "2 samples with NaN or ±Inf do not count") {
		t.Errorf("values that are not finite: %+v", d)
	}
	p.run(chromedp.Navigate(a.server.URL + "/?pv=HIST:TEXT&show=histogram" + windowed))
	p.wait(`document.querySelector(".distribution[data-state=failed] [role=alert]")?.innerText.includes("HIST:TEXT cannot be shown: its values are not numbers")`)
}

// TestXY plots one PV over another, and compares the points with the samples of both: a value holds until the next
// sample or gap.
func TestXY(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT:REF&pv=SR:CURRENT"+windowed)
	p.ready(2)
	p.run(chromedp.Focus(`//button[text()="x–y plot"]`), chromedp.KeyEvent(kb.Enter))
	d := p.distribution("xy")
	from := float64(begin) / 1e6
	refT, refV := p.archived("SR:CURRENT:REF", from, from+1800e3+1)
	curT, curV := p.archived("SR:CURRENT", from, from+1800e3+1)
	held := func(times, values []float64, at float64) float64 {
		k := len(times) - 1
		for times[k] > at {
			k--
		}
		return values[k]
	}
	points := 0
	for s := 600; s <= 1800; s++ {
		at := from + float64(s)*1e3
		if s >= 1200 && s < 1500 {
			continue // the gap
		}
		if points == len(d.T) || d.T[points] != at || d.X[points] != held(refT, refV, at) || d.Y[points] != held(curT, curV, at) {
			t.Fatalf("at %d s the plot does not have the values of both PVs", s)
		}
		points++
	}
	if points != len(d.T) || d.Alone != 10 {
		t.Errorf("the plot has %d points, want %d; %g times have one value", len(d.T), points, d.Alone)
	}
	p.shoot("xy")
	p.run(chromedp.SetValue(`//label[starts-with(., "x ")]/select`, "SR:CURRENT"))
	p.wait(`location.search.includes("show=xy&of=SR:CURRENT&of=SR:CURRENT")`)
	if d = p.distribution("xy"); len(d.T) == 0 || fmt.Sprint(d.X) != fmt.Sprint(d.Y) {
		t.Errorf("a PV over itself has %d points", len(d.T))
	}
	p.run(chromedp.Reload())
	if again := p.distribution("xy"); len(again.T) != len(d.T) {
		t.Errorf("after a reload the plot has %d points, before it %d", len(again.T), len(d.T))
	}
}

package ui

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

// arrays returns an array each 30 s in [from, to), in s after begin. Element k of array i is a function of both.
func arrays(from, to int64, elements int, of func(i, k int) float64) *sample.Run {
	r := &sample.Run{Type: sample.Float64.Array()}
	for s := from; s < to; s += 30 {
		var b []byte
		for k := range elements {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(of(int(s/30), k)))
		}
		r.Append(&sample.Sample{Time: begin + s*second, Bytes: b})
	}
	return r
}

// stripes is 0 in the lower half of an array and 1 in the upper one; after half an hour it is the other way round.
func stripes(i, k int) float64 {
	if (i < 60) == (k < 4) {
		return 0
	}
	return 1
}

// fillArrays stores an hour of arrays with a gap from 20 to 25 minutes.
func (a *archive) fillArrays() {
	a.put("SR:PROFILE", arrays(0, 1200, 8, stripes))
	a.put("SR:PROFILE", arrays(1500, 3600, 8, stripes))
	a.metadata("SR:PROFILE", sample.Metadata{Units: "V"})
	for _, m := range []sample.Mark{
		{Time: begin - second, Kind: sample.Connected, Text: "10.0.0.7:5064"}, {Time: begin + 1200*second, Kind: sample.Disconnected, Text: "10.0.0.7:5064: connection reset"},
		{Time: begin + 1500*second, Kind: sample.Connected, Text: "10.0.0.7:5064"},
	} {
		a.mark("SR:PROFILE", m)
	}
}

// heatOf is what the first plot holds of its arrays, and what the archive has of the same range, as text.
const heatOf = `(async () => { const { traces } = document.querySelector(".lane-plot").plot, h = traces()[0].heat, d = document.querySelector(".page").dataset;
	const q = "api/v1/arrays?pv=" + traces()[0].pv + "&from=" + new Date(+d.from).toISOString() + "&to=" + new Date(+d.to).toISOString() + "&points=1000&cells=512";
	const a = await fetch(q).then((r) => r.json());
	const columns = Array.from({ length: h.rows }, (_, i) => [new Date(h.x[i]).toISOString(), ...h.max.slice(i * h.cells, i * h.cells + Math.ceil(h.length[i] / h.group))]);
	return { drawn: JSON.stringify(columns), archived: JSON.stringify(a.time.map((t, i) => [new Date(t).toISOString(), ...a.max[i]])), rows: h.rows, cells: h.cells, elements: h.elements, group: h.group } })()`

type heat struct {
	Drawn, Archived              string
	Rows, Cells, Elements, Group int
}

// TestHeatMap checks the heat map of arrays: it holds what the archive has, its colours are those of the values, and
// it has none in a gap.
func TestHeatMap(t *testing.T) {
	a := newArchive(t)
	a.fillArrays()
	p := open(t, a.server.URL+"/?pv=SR:PROFILE"+hour)
	p.ready(1)
	var h heat
	p.eval(heatOf, &h)
	if h.Drawn != h.Archived || h.Rows != 110 || h.Cells != 8 || h.Elements != 8 || h.Group != 1 {
		t.Errorf("the heat map has %d arrays of %d elements: %s\nthe archive has %s", h.Rows, h.Elements, h.Drawn, h.Archived)
	}
	const low, high = "68,1,84", "253,231,37" // the ends of viridis
	for _, c := range []struct {
		at, element float64
		want        string
	}{{600, 1.5, low}, {600, 6.5, high}, {3000, 1.5, high}, {3000, 6.5, low}, {1785, 1.5, low}, {1815, 1.5, high}} {
		if got := p.pixel(c.at, c.element); got != c.want {
			t.Errorf("at %g s, element %g has the colour %s, want %s", c.at, c.element, got, c.want)
		}
	}
	if got := p.pixel(1350, 6.5); got == low || got == high {
		t.Errorf("the gap has the colour %s", got)
	}
	p.text(".value", "heat map: 110 arrays")
	p.text(".colors", "from 0 to 1 V")
	p.hover("other SR:PROFILE", 0.1, 0.5)
	p.text(".value strong", "8 elements, 0 … 1")
	p.hover("other SR:PROFILE", 1300.0/3600, 0.5)
	p.text(".note[data-kind=disconnected]", "connection reset")
	p.shoot("heat-map")
	p.run(chromedp.KeyEvent("+"))
	p.expect(900, 2700)
	p.eval(heatOf, &h)
	if h.Drawn != h.Archived || h.Rows == 0 {
		t.Errorf("after a zoom, the heat map has %s\nthe archive has %s", h.Drawn, h.Archived)
	}
}

// pixel returns red, green and blue of the first plot at a time in s after begin, and a value of its axis.
func (p *page) pixel(s, v float64) (rgb string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(() => { const { u } = document.querySelector(".lane-plot").plot;
		return [...u.ctx.getImageData(Math.round(u.valToPos(%f, "x", true)), Math.round(u.valToPos(%f, "y", true)), 1, 1).data].slice(0, 3).join() })()`, float64(begin)/1e6+s*1e3, v), &rgb)
	return rgb
}

// TestArraySlider checks that the slider shows one array, by the keyboard, and that the array is in the URL.
func TestArraySlider(t *testing.T) {
	a := newArchive(t)
	a.put("SR:RAMP", arrays(0, 3600, 3, func(i, k int) float64 { return float64(100*i + k) }))
	p := open(t, a.server.URL+"/?pv=SR:RAMP"+hour)
	p.ready(1)
	p.text(".array", "2026-01-01 12:59:30, 3 elements, 11900 … 11902")
	p.run(chromedp.Focus(".array input"), chromedp.KeyEvent(kb.ArrowLeft))
	p.text(".array", "2026-01-01 12:59:00, 3 elements, 11800 … 11802")
	p.wait(`location.search.includes("at=2026-01-01T12:59:00.000Z")`)
	p.run(chromedp.KeyEvent(kb.Home))
	p.text(".array", "2026-01-01 12:00:00, 3 elements, 0 … 2")
	p.run(chromedp.KeyEvent(kb.ArrowRight))
	p.text(".array", "2026-01-01 12:00:30, 3 elements, 100 … 102")
	p.run(chromedp.Reload())
	p.ready(1)
	p.text(".array", "2026-01-01 12:00:30, 3 elements, 100 … 102")
	var scale []float64
	p.eval(`(() => { const { u } = document.querySelector(".array .distribution-plot").plot; return [u.scales.x.min, u.scales.x.max, u.scales.y.min, u.scales.y.max] })()`, &scale)
	if scale[0] != 0 || scale[1] != 3 || scale[2] >= 100 || scale[2] < 99 || scale[3] <= 102 || scale[3] > 103 {
		t.Errorf("the plot of the array has the scales %v", scale)
	}
	p.shoot("array-slider")
}

// TestLongArrays checks that an array of a million elements is reduced to cells that contain its extremes, and that NaN
// and infinities neither hide the others nor stop the page.
func TestLongArrays(t *testing.T) {
	a := newArchive(t)
	const peak = 777_777
	a.put("WIDE", arrays(60, 120, 1_000_000, func(i, k int) float64 {
		if k == peak {
			return float64(i)
		}
		return 0
	}))
	odd := [][]float64{{math.NaN(), 1}, {math.Inf(1), 2}, {math.Inf(-1), 3}, {math.NaN(), math.NaN()}}
	a.put("ODD", arrays(0, 120, 2, func(i, k int) float64 { return odd[i][k] }))
	a.put("EMPTY", arrays(0, 60, 0, nil))
	p := open(t, a.server.URL+"/?pv=WIDE&pv=ODD&pv=EMPTY"+hour)
	p.ready(3)
	p.text(".value[data-pv=WIDE]", "a cell shows the largest of ")
	p.text(".value[data-pv=WIDE] strong", "1,000,000 elements, 0 … 3")
	var cells []float64
	p.eval(`(() => { const h = document.querySelector("[data-lane='other WIDE']").plot.traces()[0].heat, at = Math.floor(777777 / h.group);
		return [h.rows, h.elements, h.cells, h.max[at], h.max[h.cells + at], h.max[at + 1], h.min[at]] })()`, &cells)
	if cells[0] != 2 || cells[1] != 1e6 || cells[2] > 512 || cells[3] != 2 || cells[4] != 3 || cells[5] != 0 || cells[6] != 0 {
		t.Errorf("the arrays, elements, cells and values are %v", cells)
	}
	p.text(".value[data-pv=ODD] .colors", "from 1 to 3")
	p.text(".value[data-pv=EMPTY]", "not drawn")
	p.shoot("long-arrays")
}

// TestElementUnderThePointer checks that the page says which element is under the pointer, with its value, and that it
// names the range of elements if a cell has several.
func TestElementUnderThePointer(t *testing.T) {
	a := newArchive(t)
	a.put("SR:RAMP", arrays(0, 3600, 3, func(i, k int) float64 { return float64(100*i + k) }))
	a.metadata("SR:RAMP", sample.Metadata{Units: "V"})
	a.put("SR:WIDE", arrays(0, 3600, 4096, func(_, k int) float64 { return float64(k) }))
	p := open(t, a.server.URL+"/?pv=SR:RAMP&pv=SR:WIDE"+hour)
	p.ready(2)
	p.text(".value[data-pv='SR:RAMP'] .element", "Point at an element to see its value.")
	for _, c := range []struct {
		at, element float64
		want        string
	}{{45, 0.5, "element 0: 100 V"}, {45, 2.5, "element 2: 102 V"}, {3015, 1.5, "element 1: 10001 V"}} {
		p.hover("other SR:RAMP", c.at/3600, 1-c.element/3)
		p.text(".value[data-pv='SR:RAMP'] .element", c.want)
	}
	p.text(".value[data-pv='SR:WIDE'] .element", "Point at an element to see its value.")
	var group float64
	p.eval(`document.querySelector("[data-lane='other SR:WIDE']").plot.traces()[0].heat.group`, &group)
	if group < 2 {
		t.Fatalf("a cell has %g elements", group)
	}
	p.hover("other SR:WIDE", 0.5, 1-1.5*group/4096)
	const cell = `document.querySelector(".value[data-pv='SR:WIDE'] .element").innerText.match(/^elements (\d+) to (\d+): \1 … \2$/)` // each element has its number as value
	p.wait(cell)
	var ends []float64
	p.eval(cell+`.slice(1).map(Number)`, &ends)
	if ends[0] > 3*group || math.Mod(ends[0], group) != 0 || ends[1] != ends[0]+group-1 { // the pointer is at whole pixels
		t.Errorf("the pointer is over the elements %v of cells of %g", ends, group)
	}
	p.text(".value[data-pv='SR:RAMP'] .element", "Point at an element to see its value.")
	p.shoot("heat-pointer")
}

// TestLogarithmicColours checks the colours of a heat map with a logarithmic scale: each factor is one step, values up to
// 0 are darkest, the setting is in the URL, and it concerns one PV.
func TestLogarithmicColours(t *testing.T) {
	a := newArchive(t)
	decades := []float64{-5, 0, 1, 10, 100}
	a.put("SR:DECADES", arrays(0, 3600, len(decades), func(_, k int) float64 { return decades[k] }))
	a.put("SR:BELOW", arrays(0, 3600, 2, func(_, k int) float64 { return float64(-k) }))
	p := open(t, a.server.URL+"/?pv=SR:DECADES&pv=SR:BELOW"+hour)
	p.ready(2)
	const low, middle, high = "68,1,84", "33,145,140", "253,231,37" // of viridis
	colours := func(want [5]string) {
		t.Helper()
		for k, w := range want {
			if got := p.pixel(1800, float64(k)+0.5); w != "" && got != w {
				t.Errorf("element %d has the colour %s, want %s", k, got, w)
			}
		}
	}
	p.text(".value[data-pv='SR:DECADES'] .colors", "from -5 to 100")
	colours([5]string{low, "", "", "", high})
	p.run(chromedp.Click(`[aria-label="log colours of SR:DECADES"]`))
	p.text(".value[data-pv='SR:DECADES'] .colors", "logarithmic from 1 to 100; 0 and less are darkest")
	colours([5]string{low, low, low, middle, high})
	p.wait(`location.search.includes("log=colours:SR:DECADES") && document.querySelectorAll("[aria-label^='log colours'][aria-pressed=true]").length === 1`)
	p.shoot("heat-log")
	p.run(chromedp.Reload())
	p.ready(2)
	p.text(".value[data-pv='SR:DECADES'] .colors", "logarithmic from 1 to 100")
	colours([5]string{low, low, low, middle, high})
	p.run(chromedp.Click(`[aria-label="log colours of SR:BELOW"]`))
	p.text(".value[data-pv='SR:BELOW'] .colors", "from -1 to 0; not logarithmic, because no number is above 0")
	p.run(chromedp.Click(`[aria-label="Remove SR:DECADES"]`))
	p.wait(`!location.search.includes("DECADES")`)
}

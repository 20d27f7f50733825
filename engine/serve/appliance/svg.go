package appliance

import (
	"bytes"
	"encoding/xml"
	"math"
	"strconv"
	"time"

	"varve.dev/varve/engine/sample"
)

// Sizes of the plot, in pixels. The margin has the labels.
const (
	plotWidth, plotHeight = 1000, 500
	plotMargin            = 40
)

// colors are the colors of the lines, in order of the PVs.
var colors = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf"}

// svgEncoder writes .svg, a plot of numbers over time. A line holds a value until the next sample.
// Of each column of pixels it keeps the first, lowest, highest and last value, so that its memory
// does not grow with the samples.
type svgEncoder struct {
	from, to int64
	lines    []*plotLine
}

// plotLine is the line of a PV.
type plotLine struct {
	name    string
	columns []plotColumn // in order of time
}

type plotColumn struct {
	x                      int
	first, low, high, last float64
}

func newSVGEncoder(q *dataQuery) encoder { return &svgEncoder{from: q.from, to: q.to} }

func (*svgEncoder) contentType() string     { return "image/svg+xml" }
func (*svgEncoder) begin(dst []byte) []byte { return dst }

func (e *svgEncoder) open(dst []byte, s *series, _ *sample.Run) []byte {
	e.lines = append(e.lines, &plotLine{name: s.name})
	return dst
}

func (e *svgEncoder) samples(dst []byte, r *sample.Run) []byte {
	line := e.lines[len(e.lines)-1]
	for i, t := range r.Times {
		if v := firstNumber(r, i); !math.IsNaN(v) && !math.IsInf(v, 0) {
			line.add(e.x(t), v)
		}
	}
	return dst
}

// x returns the column of a time. Times outside of the range are at its edges.
func (e *svgEncoder) x(t int64) int {
	span := max(e.to-e.from, 1)
	return int(float64(min(max(t-e.from, 0), span)) / float64(span) * plotWidth)
}

func (l *plotLine) add(x int, v float64) {
	if n := len(l.columns); n > 0 && l.columns[n-1].x >= x {
		c := &l.columns[n-1]
		c.low, c.high, c.last = min(c.low, v), max(c.high, v), v
		return
	}
	l.columns = append(l.columns, plotColumn{x, v, v, v, v})
}

// firstNumber returns a value as a number: that of a scalar, or of the first element of an array.
// Values that are not numbers are NaN.
func firstNumber(r *sample.Run, i int) float64 {
	switch size := r.Type.ElemSize(); {
	case r.Type.Fixed():
		return sample.Float(r.Type, r.Words[i])
	case r.Type.IsArray() && size > 0 && len(r.Value(i)) >= size:
		return sample.Float(r.Type.Elem(), sample.Word(r.Type, r.Value(i), 0))
	}
	return math.NaN()
}

func (e *svgEncoder) end(dst []byte) []byte {
	low, high := e.bounds()
	dst = append(dst, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `...)
	dst = strconv.AppendInt(dst, plotWidth+2*plotMargin, 10)
	dst = strconv.AppendInt(append(dst, ' '), plotHeight+2*plotMargin, 10)
	dst = append(dst, "\" font-family=\"sans-serif\" font-size=\"12\">\n"...)
	y := func(v float64) float64 { return plotMargin + plotHeight*(1-fraction(v, low, high)) }
	for i, l := range e.lines {
		dst = l.draw(dst, colors[i%len(colors)], y)
		dst = label(dst, plotMargin+10, plotMargin+15*(i+1), colors[i%len(colors)], l.name)
	}
	dst = label(dst, 0, plotMargin, "black", number(high))
	dst = label(dst, 0, plotMargin+plotHeight, "black", number(low))
	dst = label(dst, plotMargin, 2*plotMargin+plotHeight-10, "black", time.Unix(0, e.from).UTC().Format(time.RFC3339))
	dst = label(dst, plotWidth-plotMargin-50, 2*plotMargin+plotHeight-10, "black", time.Unix(0, e.to).UTC().Format(time.RFC3339))
	return append(dst, "</svg>\n"...)
}

// bounds returns the lowest and the highest value of all lines.
func (e *svgEncoder) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range e.lines {
		for _, c := range l.columns {
			low, high = min(low, c.low), max(high, c.high)
		}
	}
	if low > high {
		return 0, 1
	}
	return low, high
}

// fraction returns where v is between two values, without an overflow for large ones.
func fraction(v, low, high float64) float64 {
	if low == high {
		return 0.5
	}
	return (v/2 - low/2) / (high/2 - low/2)
}

// draw appends the path of the line.
func (l *plotLine) draw(dst []byte, color string, y func(float64) float64) []byte {
	if len(l.columns) == 0 {
		return dst
	}
	dst = append(append(append(dst, `<path fill="none" stroke="`...), color...), `" d="M`...)
	for i, c := range l.columns {
		if i > 0 {
			dst = strconv.AppendInt(append(dst, 'H'), int64(c.x+plotMargin), 10)
			dst = appendY(append(dst, 'V'), y(c.first))
		} else {
			dst = strconv.AppendInt(dst, int64(c.x+plotMargin), 10)
			dst = appendY(append(dst, ' '), y(c.first))
		}
		for _, v := range []float64{c.low, c.high, c.last} {
			if c.low != c.high {
				dst = appendY(append(dst, 'V'), y(v))
			}
		}
	}
	dst = strconv.AppendInt(append(dst, 'H'), plotMargin+plotWidth, 10) // the last value is held
	return append(dst, "\"/>\n"...)
}

func appendY(dst []byte, y float64) []byte { return strconv.AppendFloat(dst, y, 'f', 1, 64) }

func label(dst []byte, x, y int, color, text string) []byte {
	dst = strconv.AppendInt(append(dst, `<text x="`...), int64(x), 10)
	dst = strconv.AppendInt(append(dst, `" y="`...), int64(y), 10)
	dst = append(append(append(dst, `" fill="`...), color...), `">`...)
	var escaped bytes.Buffer
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		panic("BUG: " + err.Error())
	}
	return append(append(dst, escaped.Bytes()...), "</text>\n"...)
}

package ui

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"varve.dev/varve/engine/sample"
)

// binned has, for the plot and for the archive, what a plot of bins holds. A value that is not finite is nil.
type binned struct {
	Mode            string
	Lo, Hi          float64
	X, End, Count   []float64
	Min, Max, Value []*float64
	Times           []float64
	Raw             []*float64
}

// bothOf reads what the first plot holds, and the samples that the archive has in the same range.
const bothOf = `(async () => { const { u, traces } = document.querySelector(".lane-plot").plot, s = traces()[0].series, list = (c) => c && [...c];
	const finite = (c) => c && [...c].map((v) => Number.isFinite(v) ? v : null);
	const { min: lo, max: hi } = u.scales.x, iso = (t) => new Date(t).toISOString();
	const a = await (await fetch("api/v1/samples?pv=" + encodeURIComponent(s.pv) + "&from=" + iso(lo) + "&to=" + iso(hi))).json();
	const raw = a.runs.flatMap((r) => r.samples).filter((s) => Date.parse(s.time) >= lo);
	return { mode: s.mode, lo, hi, x: list(s.x), end: list(s.end), count: list(s.count), min: finite(s.min), max: finite(s.max), value: finite(s.value),
		times: raw.map((s) => Date.parse(s.time)), raw: raw.map((s) => typeof s.value === "number" ? s.value : null) } })()`

// irregular returns samples at irregular times, with jumps, repeated times and values that are not finite.
// Times are whole ms, which the page has exactly.
func irregular(r *rand.Rand, n int) *sample.Run {
	run := &sample.Run{Type: sample.Float64}
	at, v := int64(0), 0.0
	for range n {
		switch r.IntN(20) {
		case 0: // many samples at one time
		case 1:
			at += r.Int64N(20_000)
		default:
			at += 1 + r.Int64N(400)
		}
		word := v
		switch v += r.NormFloat64(); r.IntN(50) {
		case 0:
			v += 100 * r.NormFloat64()
		case 1:
			word = math.NaN()
		case 2:
			word = math.Inf(1 - 2*r.IntN(2))
		}
		run.Append(&sample.Sample{Time: begin + at*1e6, Word: math.Float64bits(word)})
	}
	return run
}

// TestEnvelopeContainsAllSamples plots random parts of random samples, and compares each with all samples that the
// archive has of it: a bin has as many samples as lie in it, and each of them is within its minimum and maximum.
func TestEnvelopeContainsAllSamples(t *testing.T) {
	a := newArchive(t)
	r := rand.New(rand.NewPCG(19, 2))
	const n = 12_000
	run := irregular(r, n)
	first, last := run.Times[0]/1e6, run.Times[n-1]/1e6
	a.put("ENVELOPE:RANDOM", run)
	p := open(t, a.server.URL+"/")
	modes := map[string]int{}
	for _, part := range []float64{1.1, 0.6, 0.4, 0.25, 0.1, 0.01} {
		span := int64(float64(last-first) * part)
		from := first + r.Int64N(max(1, last-first-span))
		iso := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
		p.run(chromedp.Navigate(fmt.Sprintf("%s/?pv=ENVELOPE:RANDOM&utc=1&from=%s&to=%s", a.server.URL, iso(from), iso(from+span))))
		p.ready(1)
		var b binned
		p.eval(bothOf, &b)
		modes[b.Mode]++
		if err := b.check(); err != nil {
			t.Errorf("%s to %s: %v", iso(from), iso(from+span), err)
		}
	}
	if modes["bins"] < 3 || modes["samples"] < 1 {
		t.Errorf("the plots show %v", modes)
	}
}

// check compares the plot with the samples of the archive.
func (b *binned) check() error {
	if len(b.Times) == 0 {
		return errors.New("the archive has no samples")
	}
	if b.Mode == "samples" {
		return b.checkSamples()
	}
	counts := make([]float64, len(b.X))
	k := 0
	for i, at := range b.Times {
		for k < len(b.X) && b.End[k] <= at {
			k++
		}
		if k == len(b.X) || at < b.X[k] {
			if at == b.Hi {
				continue // a bin ends before the end of the range
			}
			return fmt.Errorf("no bin has the sample at %f", at)
		}
		counts[k]++
		v := b.Raw[i]
		if v == nil {
			continue
		}
		if b.Min[k] == nil && b.Max[k] == nil {
			return fmt.Errorf("the bin at %f has no envelope, and the sample %g at %f", b.X[k], *v, at)
		}
		if b.Min[k] != nil && *v < *b.Min[k] || b.Max[k] != nil && *v > *b.Max[k] {
			return fmt.Errorf("the sample %g at %f is outside of the envelope of the bin at %f", *v, at, b.X[k])
		}
	}
	for k := 1; k < len(counts)-1; k++ { // the bins at the ends reach beyond the range
		if counts[k] != b.Count[k] {
			return fmt.Errorf("the bin at %f has %g samples, and the archive %g", b.X[k], b.Count[k], counts[k])
		}
	}
	return nil
}

// checkSamples compares a plot of raw samples. It may begin with the sample that holds at the start of the range.
func (b *binned) checkSamples() error {
	before := len(b.X) - len(b.Times)
	if before < 0 || before > 1 || before == 1 && b.X[0] >= b.Lo {
		return fmt.Errorf("the plot has %d samples, and the archive %d", len(b.X), len(b.Times))
	}
	for i, at := range b.Times {
		got, want := b.Value[i+before], b.Raw[i]
		if b.X[i+before] != at || (got == nil) != (want == nil) || got != nil && *got != *want {
			return fmt.Errorf("sample %d is at %f, in the archive at %f, or its value differs", i, b.X[i+before], at)
		}
	}
	return nil
}

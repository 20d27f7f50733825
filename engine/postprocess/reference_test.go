package postprocess

import (
	"cmp"
	"math"
	"slices"

	"varve.dev/varve/engine/sample"
)

// plain is a sample as the reference sees it: an operand, or a sample of a result.
type plain struct {
	at      int64
	sev     sample.Severity
	v       []float64 // its number, or the numbers of a result
	text    bool      // it is not a number
	chosen  bool      // it is a sample of the operand
	unequal bool      // rounding decides about v, so that only its length is known
}

func (p *plain) isNumber() bool { return !p.text && !math.IsNaN(p.v[0]) }

// request is the application of a post-processor to the samples of a read.
type request struct {
	name     string
	arg      []float64
	samples  []plain // by time
	from, to int64
}

// reference applies a post-processor. It is written from the package comment, which was compared with the
// documentation and the code of the Appliance, and in the plainest way: it
// holds all samples, and looks at all of them for every bin.
func (q *request) reference() []plain {
	width := int64(q.arg[0]) * second
	switch q.name {
	case "nth":
		return q.everyNth(int(q.arg[0]))
	case "ncount":
		return []plain{{at: q.from, v: []float64{float64(len(q.samples))}}}
	case "deadBand":
		return q.deadBand(q.arg[0])
	case "flyers", "ignoreflyers":
		return q.flyers(width, q.arg[1], q.name == "flyers")
	case "firstSample", "lastSample", "firstFill", "lastFill":
		return q.oneOfEachBin(width, q.name[:1] == "l", q.name[len(q.name)-4:] == "Fill")
	case "caplotbinning":
		return q.plot(width)
	case "optimized", "optimizedSample", "optimLastSample", "optimLastSampleSample":
		if len(q.samples) <= int(q.arg[0]) {
			return chosen(q.samples)
		}
		width = max(1, (q.to/second-q.from/second)/int64(q.arg[0])) * second
	}
	return q.summary(width)
}

func chosen(samples []plain) []plain {
	out := slices.Clone(samples)
	for i := range out {
		out[i].chosen = true
	}
	return out
}

// binOf returns the number of the bin of a sample.
func (q *request) binOf(p *plain, width int64) int64 {
	if p.at < q.from {
		return q.from/width - 1
	}
	return p.at / width
}

// bin returns the samples of a bin.
func (q *request) bin(n, width int64) (in []plain) {
	for i := range q.samples {
		if q.binOf(&q.samples[i], width) == n {
			in = append(in, q.samples[i])
		}
	}
	return in
}

// eachBin calls a function for each bin from that of the first sample to the end of the range.
func (q *request) eachBin(width int64, do func(n int64, in []plain)) {
	if len(q.samples) == 0 {
		return
	}
	for n := q.binOf(&q.samples[0], width); n <= q.to/width; n++ {
		do(n, q.bin(n, width))
	}
}

func (q *request) everyNth(n int) (out []plain) {
	for i, p := range q.samples {
		if i%n == 0 {
			out = append(out, p)
		}
	}
	return chosen(out)
}

func (q *request) deadBand(band float64) (out []plain) {
	for _, p := range numbersOf(q.samples, false) {
		finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
		if len(out) > 0 {
			last := out[len(out)-1]
			if finite(p.v[0]) && finite(last.v[0]) && p.sev == last.sev && math.Abs(p.v[0]-last.v[0]) <= band {
				continue
			}
		}
		out = append(out, p)
	}
	return chosen(out)
}

// numbersOf returns the samples that are numbers, with or without NaN.
func numbersOf(samples []plain, withoutNaN bool) (out []plain) {
	for _, p := range samples {
		if !p.text && (!withoutNaN || p.isNumber()) {
			out = append(out, p)
		}
	}
	return out
}

// flyers returns the samples that are far from the mean of the finite numbers in their bin, or the
// others. Infinite numbers are far.
func (q *request) flyers(width int64, limit float64, far bool) (out []plain) {
	q.eachBin(width, func(_ int64, in []plain) {
		in = numbersOf(in, true)
		var finite []float64
		for _, p := range in {
			if !math.IsInf(p.v[0], 0) {
				finite = append(finite, p.v[0])
			}
		}
		m := exactly(finite)
		for _, p := range in {
			if away := math.IsInf(p.v[0], 0) || math.Abs(p.v[0]-m.mean) > limit*math.Sqrt(m.variance(1)); away == far {
				out = append(out, p)
			}
		}
	})
	return chosen(out)
}

func (q *request) oneOfEachBin(width int64, last, fills bool) (out []plain) {
	var one plain
	q.eachBin(width, func(n int64, in []plain) {
		if len(in) > 0 {
			one = in[0]
			if last {
				one = in[len(in)-1]
			}
		} else if !fills {
			return
		}
		p := one
		if fills {
			p.at = n*width + width/2
		}
		out = append(out, p)
	})
	return chosen(out)
}

func (q *request) plot(width int64) (out []plain) {
	q.eachBin(width, func(n int64, in []plain) {
		in = numbersOf(in, false)
		if len(in) == 0 {
			return
		}
		sev := worstOf(in)
		first, last := in[0], in[len(in)-1]
		if len(in) == 1 {
			out = append(out, plain{at: first.at, sev: sev, v: first.v})
			return
		}
		if len(in) == 2 {
			out = append(out, plain{at: first.at, sev: sev, v: first.v}, plain{at: last.at, sev: sev, v: last.v})
			return
		}
		least, greatest := math.NaN(), math.NaN()
		for _, p := range numbersOf(in, true) {
			if math.IsNaN(least) || p.v[0] < least {
				least = p.v[0]
			}
			if math.IsNaN(greatest) || p.v[0] > greatest {
				greatest = p.v[0]
			}
		}
		for i, v := range []float64{first.v[0], least, greatest, last.v[0]} {
			out = append(out, plain{at: n*width + int64(i)*(width/4), sev: sev, v: []float64{v}})
		}
	})
	return out
}

func worstOf(in []plain) sample.Severity {
	return slices.MaxFunc(in, func(a, b plain) int { return cmp.Compare(a.sev, b.sev) }).sev
}

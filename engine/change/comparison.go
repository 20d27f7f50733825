package change

import (
	"cmp"
	"math"
	"slices"

	"varve.dev/varve/engine/rollup"
)

// History is the number of windows before the window before. They show what is normal.
const History = 6

// Kind is the kind of a change.
type Kind string

// The kinds of changes.
const (
	Mean   Kind = "mean"
	Spread Kind = "spread" // standard deviation
	Rate   Kind = "rate"   // samples per second
	Alarm  Kind = "alarm"  // severities, weighted by time
	State  Kind = "state"  // shares of the time in states of an enumeration
	Text   Kind = "text"   // texts that were not seen before
	Gap    Kind = "gap"    // share of the time without updates
	Type   Kind = "type"   // another kind of values
	Begun  Kind = "begun"  // no value before
)

// Reason is a change of one feature of a PV.
type Reason struct {
	Kind  Kind    `json:"kind"`
	Score float64 `json:"score"`
	// Before and After are the feature in the window before and in the window: a value, a rate per
	// second, or a share from 0 to 1. Alarm has the weighted share: 1 is MINOR all the time, 2
	// MAJOR, 4 INVALID.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Normal is the largest change between two neighbouring earlier windows.
	Normal float64 `json:"normal"`
	// State is the state whose share has changed most, and Text a new text or the cause of a gap.
	State *uint32 `json:"state,omitempty"`
	Text  string  `json:"text,omitempty"`
}

// Comparison compares the windows of one PV.
type Comparison struct {
	from, length int64 // of the window
	windows      [History + 2]summary
	cause        string // of the gap in the window
}

// New returns a comparison of the window [from, to), in ns since 1970, with those before it.
func New(from, to int64) *Comparison {
	c := &Comparison{from: from, length: to - from}
	for i := range c.windows {
		c.windows[i].gap = math.NaN()
	}
	return c
}

// Start returns the start of the first window of history, in ns since 1970.
func (c *Comparison) Start() int64 { return c.from - (History+1)*c.length }

// Add adds a bin of the PV. A bin that is not within one window counts for none.
func (c *Comparison) Add(b *rollup.Bin) {
	at := b.Start - c.Start()
	if at < 0 {
		return
	}
	k := at / c.length
	if k < int64(len(c.windows)) && b.End() <= c.Start()+(k+1)*c.length {
		c.windows[k].add(b)
	}
}

func (c *Comparison) window() *summary { return &c.windows[History+1] }
func (c *Comparison) before() *summary { return &c.windows[History] }

// Quiet reports whether there is reason to look for a gap: the PV was silent for a tenth of the window
// or more, and for longer than in the window before.
func (c *Comparison) Quiet() bool {
	w := c.window()
	return !w.known || w.silent > w.all.Width/10 && float64(w.silent) > 1.5*float64(c.before().silent)
}

// SetGap says for which share of the window before, and of the window, no updates arrived, and why.
func (c *Comparison) SetGap(before, after float64, cause string) {
	c.before().gap, c.window().gap, c.cause = before, after, cause
}

// Result returns the reasons, the largest first, and the score of the PV, which is that of the first
// reason. Changes below Least are left out.
func (c *Comparison) Result() (score float64, reasons []Reason) {
	for _, feature := range []func() (Reason, bool){c.begun, c.kind, c.gap, c.mean, c.spread, c.rate, c.alarm, c.states, c.texts} {
		if r, found := feature(); found && r.Score >= Least {
			reasons = append(reasons, r)
		}
	}
	if len(reasons) == 0 {
		return 0, nil
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(b.Score, a.Score) })
	return reasons[0].Score, reasons
}

// Least is the smallest score of a reason: the change is as large as the largest normal one.
const Least = 1

// maxRatio bounds a change in units of what is normal.
const maxRatio = 1000

// scored returns the score of a change, if what is normal is normal, or floor if that is larger.
func scored(change, normal, floor float64) float64 {
	unit := max(normal, floor)
	switch {
	case math.IsNaN(change) || change == 0:
		return 0
	case unit == 0:
		return math.Log2(1 + maxRatio)
	}
	return math.Log2(1 + min(math.Abs(change)/unit, maxRatio))
}

// normal returns the largest difference of a feature between neighbouring windows before the window.
// A difference that is NaN does not count.
func (c *Comparison) normal(difference func(a, b *summary) float64) float64 {
	most := 0.0
	for i := range History {
		if d := math.Abs(difference(&c.windows[i], &c.windows[i+1])); d > most && !math.IsInf(d, 0) {
			most = d
		}
	}
	return most
}

// evidence is how much a change counts that rests on the samples of both windows.
func (c *Comparison) evidence() float64 {
	n := float64(c.before().all.Count + c.window().all.Count)
	return n / (n + 2)
}

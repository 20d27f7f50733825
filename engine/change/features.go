package change

import (
	"math"

	"varve.dev/varve/engine/rollup"
)

// Floors of what is normal.
const (
	// meanFloor is in units of the spread in the window before, and constantFloor of the mean.
	meanFloor     = 0.25
	constantFloor = 1e-6
	// spreadFloor is for the natural logarithm of the spread, and stillSpread the part of the
	// largest spread below which differences do not count.
	spreadFloor = 0.1
	stillSpread = 0.01
	// rateFloor is for twice the square root of the number of samples, whose standard deviation is
	// 1 if samples are random in time.
	rateFloor = 2
	// shareFloor is for shares of time.
	shareFloor = 0.05
)

// begun compares a window with values with one without any.
func (c *Comparison) begun() (r Reason, found bool) {
	b, w := c.before(), c.window()
	if !w.known || b.known && b.all.Covered > 0 || w.all.Covered == 0 {
		return r, false
	}
	return Reason{Kind: Begun, Score: scored(1, 0, shareFloor), After: 1}, true
}

// kind finds another kind of values.
func (c *Comparison) kind() (r Reason, found bool) {
	b, w := c.before(), c.window()
	found = b.known && w.known && (b.all.Kind != w.all.Kind || w.all.Changed)
	return Reason{Kind: Type, Score: scored(1, 0, shareFloor)}, found
}

// gap compares the time without updates.
func (c *Comparison) gap() (Reason, bool) {
	b, w := c.before(), c.window()
	if math.IsNaN(w.gap) || w.gap <= b.gap {
		return Reason{}, false
	}
	return Reason{Kind: Gap, Score: scored(w.gap-b.gap, 0, shareFloor), Before: b.gap, After: w.gap, Text: c.cause}, true
}

// mean compares the means.
func (c *Comparison) mean() (Reason, bool) {
	b, w := c.before(), c.window()
	d := w.mean() - b.mean()
	if math.IsNaN(d) || w.all.Count == 0 { // the value is from before the window
		return Reason{}, false
	}
	normal := c.normal(func(a, b *summary) float64 { return b.mean() - a.mean() })
	floor := constantFloor * max(math.Abs(b.mean()), math.Abs(w.mean()))
	if s := b.spread(); s > 0 {
		floor = max(floor, meanFloor*s)
	}
	return Reason{Kind: Mean, Score: scored(d, normal, floor) * c.evidence(), Before: b.mean(), After: w.mean(), Normal: normal}, true
}

// spread compares the standard deviations.
func (c *Comparison) spread() (Reason, bool) {
	b, w := c.before(), c.window()
	most := 0.0
	for i := range c.windows {
		if s := c.windows[i].spread(); s > most {
			most = s
		}
	}
	difference := func(a, b *summary) float64 {
		return math.Log((b.spread() + stillSpread*most) / (a.spread() + stillSpread*most))
	}
	d := difference(b, w)
	if math.IsNaN(d) || w.all.Count == 0 { // without samples, it is the rate that changed
		return Reason{}, false
	}
	n := float64(min(b.all.Count, w.all.Count))
	floor := max(spreadFloor, 3/math.Sqrt(2*max(n, 1)))
	if w.spread() == 0 { // the samples are equal
		floor = spreadFloor
	}
	normal := c.normal(difference)
	r := Reason{Kind: Spread, Score: scored(d, normal, floor) * c.evidence(), Before: b.spread(), After: w.spread()}
	r.Normal = b.spread() * math.Expm1(min(normal, 100))
	return r, true
}

// rate compares the numbers of samples, at the time in which updates could arrive.
func (c *Comparison) rate() (Reason, bool) {
	b, w := c.before(), c.window()
	if math.IsNaN(w.rate()) || math.IsNaN(b.rate()) {
		return Reason{}, false
	}
	length := float64(c.length) / 1e9
	root := func(s *summary) float64 { return 2 * math.Sqrt(s.rate()*length+0.375) }
	difference := func(a, b *summary) float64 { return root(b) - root(a) }
	normal := c.normal(difference)
	r := Reason{Kind: Rate, Score: scored(difference(b, w), normal, rateFloor) * c.evidence(), Before: b.rate(), After: w.rate()}
	r.Normal = c.normal(func(a, b *summary) float64 { return b.rate() - a.rate() })
	return r, true
}

// alarm compares the severities, weighted by time.
func (c *Comparison) alarm() (Reason, bool) {
	b, w := c.before(), c.window()
	if !b.known || !w.known {
		return Reason{}, false
	}
	weighted := func(s *summary) float64 { return s.alarm / float64(s.all.Width) }
	difference := func(a, b *summary) float64 { return weighted(b) - weighted(a) }
	normal := c.normal(difference)
	return Reason{Kind: Alarm, Score: scored(difference(b, w), normal, shareFloor), Before: weighted(b), After: weighted(w), Normal: normal}, true
}

// states compares the shares of the time in the states of an enumeration.
func (c *Comparison) states() (Reason, bool) {
	b, w := c.before(), c.window()
	if !b.holds(rollup.Choice) || !w.holds(rollup.Choice) {
		return Reason{}, false
	}
	normal := c.normal(func(a, b *summary) float64 {
		if !a.holds(rollup.Choice) || !b.holds(rollup.Choice) {
			return math.NaN()
		}
		d, _ := moved(a, b)
		return d
	})
	d, state := moved(b, w)
	return Reason{Kind: State, Score: scored(d, normal, shareFloor), Before: b.share(state), After: w.share(state), Normal: normal, State: &state}, true
}

// moved returns the share of the time that went to other states, and the state that gained most.
func moved(a, b *summary) (share float64, state uint32) {
	most := math.Inf(-1)
	for _, s := range b.all.States {
		d := b.share(s.State) - a.share(s.State)
		share += max(d, 0)
		if d > most {
			most, state = d, s.State
		}
	}
	return share, state
}

// texts finds texts that no window before had.
func (c *Comparison) texts() (Reason, bool) {
	w := c.window()
	fresh, longest, text, total := int64(0), int64(0), "", int64(0)
	for t, held := range w.texts {
		total += held
		if c.seen(t) {
			continue
		}
		if fresh += held; held > longest || held == longest && t < text {
			longest, text = held, t
		}
	}
	if fresh == 0 || !c.before().holds(rollup.Text) {
		return Reason{}, false
	}
	share := float64(fresh) / float64(total)
	return Reason{Kind: Text, Score: scored(share, 0, shareFloor) * c.evidence(), After: share, Text: text}, true
}

// seen reports whether a window before had a text. A window with too many texts had all of them.
func (c *Comparison) seen(text string) bool {
	for i := range c.windows[:History+1] {
		if _, has := c.windows[i].texts[text]; has || len(c.windows[i].texts) == maxTexts {
			return true
		}
	}
	return false
}

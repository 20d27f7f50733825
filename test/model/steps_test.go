package model

import (
	"cmp"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const tick = int64(time.Second)

var types = []sample.Type{sample.Float64, sample.Float64, sample.Enum, sample.Int32, sample.String, sample.Float64.Array()}

func (w *world) anyType() sample.Type { return types[w.rng.IntN(len(types))] }

var tiers = []store.Tier{store.Forever, store.Keep5y, store.Keep10y}

// anyRetention returns a random retention that keeps all samples of a test.
func (w *world) anyRetention() (r store.Retention) {
	r.Raw = tiers[w.rng.IntN(len(tiers))]
	levels := []time.Duration{10 * time.Second, time.Minute, 20 * time.Minute}
	levels = levels[w.rng.IntN(len(levels)+1):]
	for i, every := range levels {
		r.Levels[i] = store.LevelOf(every, tiers[(i+int(r.Raw))%len(tiers)])
	}
	return r
}

func (w *world) anyChannel() *channel { return w.channels[w.rng.IntN(len(w.channels))] }

func (w *world) anyEngine() *engine { return w.engines[w.rng.IntN(len(w.engines))] }

// someEngines returns one or more of the live engines.
func (w *world) someEngines() (some []*engine) {
	for _, e := range w.engines {
		if w.rng.IntN(2) == 0 {
			some = append(some, e)
		}
	}
	if len(some) == 0 {
		some = append(some, w.anyEngine())
	}
	return some
}

// points returns n random samples of a PV, in the order of their times. The times are at most
// back before now.
func (w *world) points(ch *channel, back time.Duration, n int) (out []point) {
	now := time.Now().UnixNano()
	for range n {
		p := point{typ: ch.typ, time: now - w.rng.Int64N(int64(back)+1), word: uint64(w.rng.IntN(5))}
		if w.rng.IntN(4) == 0 {
			p.time = rollup.Floor(p.time, 10*tick)
		}
		if w.rng.IntN(8) == 0 {
			p.tag = sample.MakeTag(sample.Severity(w.rng.IntN(4)), 17)
		}
		switch {
		case ch.typ == sample.Float64 && w.rng.IntN(40) == 0:
			p.word = math.Float64bits(math.NaN())
		case ch.typ == sample.Float64:
			p.word = math.Float64bits(float64(w.rng.IntN(1000)) / 100)
		case !ch.typ.Fixed():
			p.word, p.bytes = 0, w.text()
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b point) int { return cmp.Compare(a.time, b.time) })
	return out
}

// text returns the bytes of a value. Their number is a multiple of the size of an array
// element. One value in a hundred is too large to be carried forward.
func (w *world) text() string {
	n := 8 * w.rng.IntN(4)
	if w.rng.IntN(100) == 0 {
		n = 24 << 10
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(w.rng.IntN(4))
	}
	return string(b)
}

// put lets engines capture samples.
func (w *world) put(ch *channel, points []point, by ...*engine) {
	ch.sent = append(ch.sent, points...)
	for _, e := range by {
		e.capture(ch, points)
	}
}

// step executes one random step.
func (w *world) step() {
	steps := []struct {
		weight int
		do     func()
	}{
		{30, w.stepCapture}, {6, w.stepLate}, {4, w.stepAgain}, {3, w.stepType}, {10, w.stepFlush}, {5, w.stepPass},
		{14, w.stepCheckpoint}, {4, w.stepTogether}, {6, w.stepTerm}, {3, w.stepFollow}, {4, w.stepLaunch}, {3, w.stepEnd}, {3, w.stepCrash},
		{5, w.stepBreak}, {4, w.stepCut}, {6, w.stepHeal}, {4, w.stepRetention}, {3, w.stepDelete}, {3, w.stepReplay}, {2, w.stepReopen},
		{2, w.stepRelease},
	}
	sum := 0
	for _, s := range steps {
		sum += s.weight
	}
	k := w.rng.IntN(sum)
	for _, s := range steps {
		if k -= s.weight; k < 0 {
			s.do()
			break
		}
	}
	w.updateModel()
	for len(w.engines) == 0 {
		w.did("engine %d starts, because no other engine runs", w.launch().id)
	}
}

func (w *world) stepCapture() {
	ch, by := w.anyChannel(), w.someEngines()
	back := time.Duration(1+w.rng.IntN(20)) * time.Minute
	n := 1 + w.rng.IntN(60)
	switch {
	case w.rng.IntN(40) == 0:
		back, n = 30*time.Minute, 3000+w.rng.IntN(3000)
	case w.away():
		back /= 10
	}
	w.did("%s: %d new samples of %v, captured by %s", ch.name, n, back, names(by))
	time.Sleep(back)
	w.put(ch, w.points(ch, back, n), by...)
}

func (w *world) stepLate() {
	ch, by := w.anyChannel(), w.someEngines()
	late := time.Duration(1+w.rng.IntN([]int{60, 60 * 30}[w.rng.IntN(2)])) * time.Minute
	w.did("%s: samples late by up to %v, captured by %s", ch.name, late, names(by))
	w.put(ch, w.points(ch, late, 1+w.rng.IntN(6)), by...)
}

func (w *world) stepAgain() {
	ch, by := w.anyChannel(), w.someEngines()
	old := slices.DeleteFunc(slices.Clone(ch.sent), func(p point) bool { return p.typ != ch.typ })
	if len(old) == 0 {
		return
	}
	i := w.rng.IntN(len(old))
	old = old[i:min(i+1+w.rng.IntN(20), len(old))]
	for i := range old {
		if w.rng.IntN(3) == 0 { // equal time, but another alarm
			old[i].tag = sample.MakeTag(sample.Minor, uint16(w.rng.IntN(3)))
		}
	}
	w.did("%s: %d repeated samples, captured by %s", ch.name, len(old), names(by))
	w.put(ch, old, by...)
}

func (w *world) stepType() {
	ch := w.anyChannel()
	ch.typ = w.anyType()
	w.did("%s: the type is %v now", ch.name, ch.typ)
}

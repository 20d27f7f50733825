package explore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/change"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const (
	plantedWindow  = 30 * time.Minute
	plantedWindows = change.History + 2
	plantedStep    = 5 * time.Second // between samples
)

// behaviour yields the samples of a PV. t is in s after the start of the history, and changed says
// that the window has begun.
type behaviour func(rng *rand.Rand) func(t float64, changed bool) (s sample.Sample, skip bool)

func number64(v float64, severity sample.Severity) (sample.Sample, bool) {
	return sample.Sample{Word: math.Float64bits(v), Tag: sample.MakeTag(severity, 0)}, false
}

// noisy is noise around a level, with what happens in the window.
func noisy(in func(v, t float64, rng *rand.Rand) float64) behaviour {
	return func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		level, sigma := 100*rng.Float64()-20, 0.1+3*rng.Float64()
		return func(t float64, changed bool) (sample.Sample, bool) {
			v := rng.NormFloat64()
			if changed {
				v = in(v, t, rng)
			}
			return number64(level+sigma*v, sample.NoAlarm)
		}
	}
}

// background are behaviours without a change, with the percentage of PVs.
var background = []struct {
	name    string
	percent int
	make    behaviour
}{
	{"noise", 35, noisy(func(v, _ float64, _ *rand.Rand) float64 { return v })},
	{"daily cycle", 20, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		phase, size := 7*rng.Float64(), 1+10*rng.Float64()
		return func(t float64, _ bool) (sample.Sample, bool) {
			return number64(20+size*math.Sin(t/86400*2*math.Pi+phase)+0.1*rng.NormFloat64(), sample.NoAlarm)
		}
	}},
	{"constant", 15, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		v, every := 100*rng.Float64(), 1+rng.IntN(400)
		n := 0
		return func(float64, bool) (sample.Sample, bool) {
			n++
			s, _ := number64(v, sample.NoAlarm)
			return s, n%every != 1%every
		}
	}},
	{"random walk", 12, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		v := 0.0
		return func(float64, bool) (sample.Sample, bool) {
			v += rng.NormFloat64()
			return number64(v, sample.NoAlarm)
		}
	}},
	{"counter", 8, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		v := math.Floor(1e6 * rng.Float64())
		return func(float64, bool) (sample.Sample, bool) {
			v += float64(rng.IntN(3))
			return number64(v, sample.NoAlarm)
		}
	}},
	{"few samples", 4, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		rate := 0.002 + 0.01*rng.Float64()
		return func(float64, bool) (sample.Sample, bool) {
			s, _ := number64(5+rng.NormFloat64(), sample.NoAlarm)
			return s, rng.Float64() > rate
		}
	}},
	{"flapping alarm", 3, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		return func(float64, bool) (sample.Sample, bool) {
			v := rng.NormFloat64()
			return number64(v, map[bool]sample.Severity{true: sample.Minor}[v > 1])
		}
	}},
	{"states", 3, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		state := uint64(0)
		return func(float64, bool) (sample.Sample, bool) {
			if rng.IntN(20) == 0 {
				state = rng.Uint64N(4)
			}
			return sample.Sample{Word: state}, false
		}
	}},
}

// planted are behaviours with a change, and the reason that the answer must give.
var planted = []struct {
	name string
	want change.Kind
	make behaviour
}{
	{"step of 2 sigma", change.Mean, noisy(func(v, _ float64, _ *rand.Rand) float64 { return v + 2 })},
	{"step of 3 sigma", change.Mean, noisy(func(v, _ float64, _ *rand.Rand) float64 { return v - 3 })},
	{"step of 5 sigma", change.Mean, noisy(func(v, _ float64, _ *rand.Rand) float64 { return v + 5 })},
	{"late step", change.Mean, noisy(func(v, t float64, _ *rand.Rand) float64 {
		return v + map[bool]float64{true: 6}[t > 7.5*plantedWindow.Seconds()]
	})},
	{"twice the noise", change.Spread, noisy(func(v, _ float64, _ *rand.Rand) float64 { return 2 * v })},
	{"three times the noise", change.Spread, noisy(func(v, _ float64, _ *rand.Rand) float64 { return 3 * v })},
	{"five times the noise", change.Spread, noisy(func(v, _ float64, _ *rand.Rand) float64 { return 5 * v })},
	{"a third of the rate", change.Rate, slower(3)},
	{"a tenth of the rate", change.Rate, slower(10)},
	{"no samples", change.Rate, slower(1 << 30)},
	{"stuck at a value", change.Spread, noisy(func(float64, float64, *rand.Rand) float64 { return 0.2 })},
	{"almost stuck", change.Spread, noisy(func(v, _ float64, _ *rand.Rand) float64 { return v / 20 })},
	{"MAJOR", change.Alarm, alarming(sample.Major, 0)},
	{"INVALID", change.Alarm, alarming(sample.Invalid, 0.5)},
	{"MINOR for a half", change.Alarm, alarming(sample.Minor, 0.5)},
	{"drift of 4 sigma", change.Mean, noisy(func(v, t float64, _ *rand.Rand) float64 { return v + 4*(t/plantedWindow.Seconds()-7) })},
	{"drift of 8 sigma", change.Mean, noisy(func(v, t float64, _ *rand.Rand) float64 { return v - 8*(t/plantedWindow.Seconds()-7) })},
	{"fault of a state", change.State, toggling(5)},
	{"frozen state", change.State, toggling(0)},
	{"new setpoint", change.Mean, func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		return func(_ float64, changed bool) (sample.Sample, bool) {
			return number64(42+map[bool]float64{true: 0.5}[changed], sample.NoAlarm)
		}
	}},
}

// slower is noise of which the window has one sample of n.
func slower(n int) behaviour {
	return func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		return func(_ float64, changed bool) (sample.Sample, bool) {
			s, _ := number64(rng.NormFloat64(), sample.NoAlarm)
			return s, changed && rng.IntN(n) != 0
		}
	}
}

// alarming is noise with an alarm from a part of the window on.
func alarming(severity sample.Severity, from float64) behaviour {
	return func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		return func(t float64, _ bool) (sample.Sample, bool) {
			if t > (7+from)*plantedWindow.Seconds() {
				return number64(rng.NormFloat64(), severity)
			}
			return number64(rng.NormFloat64(), sample.NoAlarm)
		}
	}
}

// toggling changes between two states, and is in another state in the window.
func toggling(state uint64) behaviour {
	return func(rng *rand.Rand) func(float64, bool) (sample.Sample, bool) {
		return func(_ float64, changed bool) (sample.Sample, bool) {
			if changed {
				return sample.Sample{Word: state}, false
			}
			return sample.Sample{Word: 1 + rng.Uint64N(2)}, false
		}
	}
}

// plantedArchive stores the rollups of n PVs, of which as many as planted has changed at the start
// of the last window, and with blocks the samples, too.
type plantedArchive struct {
	*archive
	from, to int64
	blocks   []store.Block
	tiles    []store.Rollup
}

func newPlanted(t testing.TB, st store.Store, n int, withBlocks bool) *plantedArchive {
	t.Helper()
	p := &plantedArchive{archive: &archive{t: t, store: st}, from: at + int64(plantedWindows-1)*int64(plantedWindow), to: at + plantedWindows*int64(plantedWindow)}
	for i := range n {
		name, b := "", behaviour(nil)
		if i < len(planted) {
			name, b = fmt.Sprintf("PLANT:%02d", i), planted[i].make
		} else {
			name, b = fmt.Sprintf("BACK:%05d", i), backgroundOf(i).make
		}
		p.add(name, p.samples(b(rand.New(rand.NewPCG(7, uint64(i))))), withBlocks)
		if len(p.tiles) >= 1000 || i == n-1 {
			p.check(st.PutRollups(context.Background(), p.tiles...))
			p.check(st.PutBlocks(context.Background(), p.blocks...))
			p.tiles, p.blocks = p.tiles[:0], p.blocks[:0]
		}
	}
	return p
}

func (p *plantedArchive) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func backgroundOf(i int) (b struct {
	name    string
	percent int
	make    behaviour
}) {
	k := i % 100
	for _, b = range background {
		if k -= b.percent; k < 0 {
			break
		}
	}
	return b
}

func (p *plantedArchive) samples(next func(float64, bool) (sample.Sample, bool)) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for t := at; t < p.to; t += int64(plantedStep) {
		s, skip := next(float64(t-at)/1e9, t >= p.from)
		if s.Word < 16 && s.Word > 0 {
			r.Type = sample.Enum
		}
		if s.Time = t; !skip {
			r.Append(&s)
		}
	}
	return r
}

// add stores a PV with rollups of a minute.
func (p *plantedArchive) add(pv string, r *sample.Run, withBlocks bool) {
	if r.Len() == 0 {
		return
	}
	level := store.LevelOf(time.Minute, store.Forever)
	p.check(p.store.AddChannel(context.Background(), store.Channel{
		PV: pv, Shards: []int{0}, Types: []sample.Type{r.Type}, Starts: []store.Bucket{store.Year.Of(at)}, Levels: []store.Level{level},
	}))
	acc := rollup.NewAccumulator(int64(time.Minute))
	bins := acc.Close(acc.Add(nil, r, 0, r.Len()), math.MaxInt64)
	for len(bins) > 0 {
		tile, n := level.Tile(bins[0].Start), 0
		for n < len(bins) && level.Tile(bins[n].Start) == tile {
			n++
		}
		row := &rollup.Tile{Level: level, Tile: tile, Since: level.Start(tile), Through: p.to, Bins: bins[:n]}
		row.Through = min(row.Through, row.End())
		p.tiles = append(p.tiles, store.Rollup{PV: pv, Level: level, Tile: tile, Stamp: 1000, Blob: rollup.Append(nil, row)})
		bins = bins[n:]
	}
	if withBlocks {
		p.archive.blocks++
		p.blocks = append(p.blocks, store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: store.Year.Of(at), Start: r.Times[0], Writer: store.WriterID{1}, N: p.archive.blocks},
			End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
		})
	}
}

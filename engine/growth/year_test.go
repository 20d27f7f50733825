package growth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// source is a PV of the test, and what the archive knows about it.
type source struct {
	pv        string
	period    time.Duration
	begins    int // the day of its first sample
	retention store.Retention
	next      func() float64

	accs  []*rollup.Accumulator
	bins  [][]rollup.Bin // of the latest tile
	spans map[store.Span]bool
	n     uint32
}

// year is an archive of a year, as a sealer would write it.
type year struct {
	t       *testing.T
	st      *pebble.Store
	begun   int64
	sources []*source
}

const newYear = 1767225600 * int64(time.Second) // 2026-01-01

func levels(all ...store.Level) (out [store.MaxLevels]store.Level) {
	copy(out[:], all)
	return out
}

func newYearOf(t *testing.T) *year {
	st, err := pebble.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	rng := rand.New(rand.NewPCG(7, 7))
	digits := func(v float64) float64 { return math.Round(v*1000)/1000 + 0 } // never -0
	noise := func() float64 { return digits(rng.NormFloat64()) }
	walk := func() func() float64 {
		at := 0.0
		return func() float64 { at = 0.999*at + noise()/10; return digits(at) }
	}
	setpoint := func() func() float64 {
		at := 1.0
		return func() float64 {
			if rng.IntN(20) == 0 {
				at = float64(rng.IntN(100))
			}
			return at
		}
	}
	return &year{t: t, st: st, begun: newYear, sources: []*source{
		{pv: "FAST", period: 30 * time.Second, next: noise, retention: store.Retention{
			Raw: store.Keep90d, Levels: levels(store.LevelOf(time.Minute, store.Keep1y), store.LevelOf(time.Hour, store.Forever)),
		}},
		{pv: "WALK", period: time.Minute, next: walk(), retention: store.Retention{Raw: store.Forever}},
		{pv: "SHORT", period: time.Minute, next: noise, retention: store.Retention{
			Raw: store.Keep7d, Levels: levels(store.LevelOf(5*time.Minute, store.Keep90d)),
		}},
		{pv: "SET", period: 10 * time.Minute, next: setpoint(), retention: store.Retention{Raw: store.Keep1y}},
		{pv: "LATER", period: 30 * time.Second, begins: 12, next: walk(), retention: store.Retention{
			Raw: store.Keep30d, Levels: levels(store.LevelOf(10*time.Minute, store.Forever)),
		}},
	}}
}

// write stores a day of all PVs, and deletes what has expired at its end.
func (y *year) write(number int) {
	from := y.begun + int64(number)*int64(day)
	for _, s := range y.sources {
		if number >= s.begins {
			y.writePV(s, from, from+int64(day))
		}
	}
	y.check(y.st.Expire(y.t.Context(), from+int64(day)))
}

func (y *year) check(err error) {
	if err != nil {
		y.t.Helper()
		y.t.Fatal(err)
	}
}

func (y *year) writePV(s *source, from, to int64) {
	run := &sample.Run{Type: sample.Float64}
	for at := from; at < to; at += int64(s.period) {
		run.Append(&sample.Sample{Time: at, Word: math.Float64bits(s.next())})
	}
	size := layout.ChooseSize(8/s.period.Seconds(), s.retention.Raw.Longest())
	for i := 0; i < run.Len(); {
		b := size.Of(run.Times[i]).In(s.retention.Raw)
		n := i
		for n < run.Len() && run.Times[n] < b.End() {
			n++
		}
		y.list(s, b)
		s.n++
		y.check(y.st.PutBlocks(y.t.Context(), layout.Encode(store.BlockKey{PV: s.pv, Bucket: b, Start: run.Times[i], Writer: store.WriterID{1}, N: s.n}, run, i, n)))
		i = n
	}
	for i, l := range s.retention.Levels {
		if l == 0 {
			break
		}
		if len(s.accs) == i {
			s.accs, s.bins = append(s.accs, rollup.NewAccumulator(int64(l.Every()))), append(s.bins, nil)
		}
		s.bins[i] = y.writeTiles(s, l, s.accs[i].Add(s.bins[i], run, 0, run.Len()))
	}
}

// list adds the bucket to the directory, if its span is not there.
func (y *year) list(s *source, b store.Bucket) {
	if s.spans[b.Span()] {
		return
	}
	if s.spans == nil {
		s.spans = map[store.Span]bool{}
	}
	s.spans[b.Span()] = true
	c := store.Channel{PV: s.pv, Shards: []int{0}, Types: []sample.Type{sample.Float64}, Starts: []store.Bucket{b}}
	for _, l := range s.retention.Levels {
		if l != 0 {
			c.Levels = append(c.Levels, l)
		}
	}
	y.check(y.st.AddChannel(y.t.Context(), c))
}

// writeTiles writes the tiles of some bins, and returns the bins of the latest tile.
func (y *year) writeTiles(s *source, l store.Level, bins []rollup.Bin) []rollup.Bin {
	for {
		n, tile := 0, l.Tile(bins[0].Start)
		for n < len(bins) && l.Tile(bins[n].Start) == tile {
			n++
		}
		row := rollup.Tile{Level: l, Tile: tile, Since: max(l.Start(tile), y.begun+int64(s.begins)*int64(day)), Through: bins[n-1].End(), Bins: bins[:n]}
		y.check(y.st.PutRollups(y.t.Context(), store.Rollup{PV: s.pv, Level: l, Tile: tile, Stamp: row.Through, Blob: rollup.Append(nil, &row)}))
		if n == len(bins) {
			return bins
		}
		bins = bins[n:]
	}
}

// stored returns what the archive holds, by contents and tier.
func (y *year) stored(now int64) map[string]float64 {
	out := map[string]float64{}
	for _, s := range y.sources {
		entry, found, err := y.st.Channel(y.t.Context(), s.pv)
		y.check(err)
		if !found {
			continue
		}
		for b := range store.InUse(entry.Starts, now, now) {
			for blk, err := range y.st.Blocks(y.t.Context(), s.pv, b, math.MinInt64, math.MaxInt64) {
				y.check(err)
				out[fmt.Sprint(store.SampleContents, " ", b.Tier())] += float64(len(blk.Blob))
			}
		}
		for _, l := range entry.Levels {
			for row, err := range y.st.Rollups(y.t.Context(), s.pv, l, l.Tile(y.begun), l.Tile(now)) {
				y.check(err)
				out[fmt.Sprint(store.RollupContents, " ", l.Tier())] += float64(len(row.Blob))
			}
		}
	}
	return out
}

// forecast measures all PVs, and returns what is stored after some time, by contents and tier.
func (y *year) forecast(now int64, after time.Duration) (then map[string]float64, measured map[string]Measured) {
	var all []Stream
	measured = map[string]Measured{}
	for _, s := range y.sources {
		m, err := Measure(y.t.Context(), y.st, s.pv, now, 0)
		y.check(err)
		measured[s.pv] = m
		all = append(all, m.Streams...)
	}
	then = map[string]float64{}
	for _, s := range Sum(all...) {
		then[fmt.Sprint(s.Contents, " ", s.Tier)] = s.At(after)
	}
	return then, measured
}

// TestTheForecastOfAYear fills an archive for a month, predicts its size, and compares the forecast with what the archive
// holds after a month, a quarter and a year. Retention deletes data in the meantime.
func TestTheForecastOfAYear(t *testing.T) {
	y := newYearOf(t)
	number := 0
	until := func(end int) int64 {
		for ; number < end; number++ {
			y.write(number)
		}
		return y.begun + int64(end)*int64(day)
	}
	now := until(31)
	got, measured := y.forecast(now, 0)
	compare(t, "now", got, y.stored(now), 0.1)
	later := map[int]map[string]float64{}
	for _, days := range []int{61, 121, 396} {
		later[days], _ = y.forecast(now, time.Duration(days-31)*day)
	}
	for pv, want := range map[string]time.Duration{"WALK": 30 * day, "SET": 30 * day, "LATER": 19 * day} {
		if m := measured[pv]; m.Span() < want-time.Hour || m.Span() > want {
			t.Errorf("%s was measured for %v, want %v", pv, m.Span(), want)
		}
	}
	if rate := measured["WALK"]; math.Abs(rate.PerSecond()*60-1) > 0.01 {
		t.Errorf("WALK has %g samples/s", rate.PerSecond())
	}
	for _, days := range []int{61, 121, 396} {
		at := until(days)
		compare(t, fmt.Sprintf("day %d", days), later[days], y.stored(at), 0.1)
	}
}

// compare checks that a forecast is close to what is stored, for each tier and for their sum.
func compare(t *testing.T, when string, forecast, stored map[string]float64, within float64) {
	t.Helper()
	sum, want := 0.0, 0.0
	for part, bytes := range stored {
		t.Logf("%s: %s: forecast %.0f KiB, stored %.0f KiB: %+.1f %%", when, part, forecast[part]/1024, bytes/1024, 100*(forecast[part]/bytes-1))
		if math.Abs(forecast[part]-bytes) > within*bytes {
			t.Errorf("%s: %s: the forecast is %.0f bytes, and %.0f are stored", when, part, forecast[part], bytes)
		}
		sum, want = sum+forecast[part], want+bytes
	}
	if math.Abs(sum-want) > within*want || len(forecast) != len(stored) {
		t.Errorf("%s: the forecast is %.0f bytes in %d tiers, and %.0f in %d are stored", when, sum, len(forecast), want, len(stored))
	}
}

// TestANewArchiveIsMeasuredFromItsFirstSample checks that the rates of an archive of hours are not those of a day, and
// that nothing is predicted from minutes.
func TestANewArchiveIsMeasuredFromItsFirstSample(t *testing.T) {
	y := newYearOf(t)
	s := y.sources[1]
	y.writePV(s, newYear+int64(20*time.Hour), newYear+int64(22*time.Hour))
	m, err := Measure(t.Context(), y.st, s.pv, newYear+int64(22*time.Hour+10*time.Minute), 20*time.Minute)
	if err != nil || m.Span() != 119*time.Minute || m.Samples != 120 || len(m.Streams) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if got := m.Streams[0].PerDay; math.Abs(got-24*60/119.0*m.Bytes) > 1 {
		t.Errorf("%g bytes per day from %g bytes in two hours", got, m.Bytes)
	}
	y.writePV(y.sources[3], newYear+int64(20*time.Hour), newYear+int64(20*time.Hour+5*time.Minute))
	for _, pv := range []string{y.sources[3].pv, "UNKNOWN"} {
		if m, err := Measure(t.Context(), y.st, pv, newYear+int64(20*time.Hour+5*time.Minute), 0); err != nil || m.Span() != 0 || m.PerSecond() != 0 || len(m.Streams) != 0 {
			t.Errorf("%s: %+v, %v", pv, m, err)
		}
	}
}

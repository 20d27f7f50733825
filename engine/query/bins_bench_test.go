package query_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

const (
	drawnPV = "SR01:PRES"
	shards  = 16
	start   = 20454 * 86400 * int64(1e9) // 2026-01-01
)

var drawnLevels = []store.Level{
	store.LevelOf(10*time.Second, store.Forever), store.LevelOf(5*time.Minute, store.Forever), store.LevelOf(6*time.Hour, store.Forever),
}

// wave fills a store with the samples and the rollups of a PV, as a sealer does. The PV is a
// slow wave with noise at 1 Hz.
type wave struct {
	testing.TB
	st     store.Store
	n      uint32
	blocks []store.Block
	tiles  []store.Rollup
	bytes  map[store.Level]int
	// pv and from are other than drawnPV and start if they are set.
	pv   string
	from int64
}

func (s *wave) name() string { return cmp.Or(s.pv, drawnPV) }

func (s *wave) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// fill stores samples from start on, one per second.
func (s *wave) fill(span time.Duration) {
	rng := rand.New(rand.NewPCG(1, 1))
	ctx := context.Background()
	start := cmp.Or(s.from, start)
	end := start + int64(span)
	ch := store.Channel{PV: s.name(), Types: []sample.Type{sample.Float64}, Levels: drawnLevels}
	for b := store.Month.Of(start); b.Start() < end; b = b.Next() {
		ch.Starts = append(ch.Starts, b)
	}
	s.check(s.st.AddChannel(ctx, ch))
	sums := make([]*tiler, len(drawnLevels))
	for i, l := range drawnLevels {
		sums[i] = &tiler{wave: s, level: l, acc: rollup.NewAccumulator(int64(l.Every())), since: start}
	}
	r := &sample.Run{}
	for at := start; at < end; {
		r.Reset(sample.Float64)
		for bucket := store.Month.Of(at); r.Len() < 4096 && at < min(end, bucket.End()); at += int64(time.Second) {
			v := math.Round(2000+1000*math.Sin(float64(at/int64(time.Second))/5000)+20*rng.NormFloat64()) / 100
			r.Append(&sample.Sample{Time: at + rng.Int64N(20000), Word: math.Float64bits(v)})
		}
		s.n++
		s.blocks = append(s.blocks, store.Block{
			BlockKey: store.BlockKey{PV: s.name(), Bucket: store.Month.Of(r.Times[0]), Start: r.Times[0], Writer: store.WriterID{1}, N: s.n},
			End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
		})
		s.bytes[0] += len(s.blocks[len(s.blocks)-1].Blob)
		for _, t := range sums {
			t.add(t.acc.Add(t.bins, r, 0, r.Len()))
		}
		if len(s.blocks) >= 512 {
			s.put()
		}
	}
	for _, t := range sums {
		t.cut()
	}
	s.put()
}

func (s *wave) put() {
	s.check(s.st.PutBlocks(context.Background(), s.blocks...))
	s.check(s.st.PutRollups(context.Background(), s.tiles...))
	s.blocks, s.tiles = s.blocks[:0], s.tiles[:0]
}

// tiler cuts the bins of a level into tiles.
type tiler struct {
	*wave
	level store.Level
	acc   *rollup.Accumulator
	bins  []rollup.Bin
	since int64
}

func (t *tiler) add(bins []rollup.Bin) {
	for t.bins = bins; len(t.bins) > 0; {
		tile := t.level.Tile(t.bins[0].Start)
		if t.level.Tile(t.bins[len(t.bins)-1].Start) == tile {
			return
		}
		t.cut()
	}
}

// cut writes the bins of the first tile.
func (t *tiler) cut() {
	if len(t.bins) == 0 {
		return
	}
	tile := t.level.Tile(t.bins[0].Start)
	n := 0
	for n < len(t.bins) && t.level.Tile(t.bins[n].Start) == tile {
		n++
	}
	row := &rollup.Tile{Level: t.level, Tile: tile, Since: max(t.level.Start(tile), t.since), Through: t.bins[n-1].End(), Bins: t.bins[:n]}
	if n < len(t.bins) {
		row.Through = row.End()
	}
	blob := rollup.Append(nil, row)
	t.tiles = append(t.tiles, store.Rollup{PV: t.wave.name(), Level: t.level, Tile: tile, Stamp: 1000, Blob: blob})
	t.bytes[t.level] += len(blob)
	t.bins = append(t.bins[:0], t.bins[n:]...)
}

// countPoints reads a range as 2,000 points and returns the number of points.
func (s *wave) countPoints(from, to int64) (n int) {
	r := &query.Reader{Store: s.st, Shards: shards}
	bins, err := r.Bins(context.Background(), drawnPV, from, to, 2000, query.BinOptions{})
	s.check(err)
	for b, err := range bins.All {
		s.check(err)
		if b.Covered == 0 || b.Count == 0 {
			s.Fatalf("the bin at %v is empty", time.Unix(0, b.Start))
		}
		n++
	}
	return n
}

// BenchmarkPoints reads ranges of a PV of 1 Hz as 2,000 points: three years, or 60 days
// with -short. It reports the disk usage of raw samples and of each level.
func BenchmarkPoints(b *testing.B) {
	span := 3 * 365 * 24 * time.Hour
	if testing.Short() {
		span = 60 * 24 * time.Hour
	}
	st, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	s := &wave{TB: b, st: st, bytes: map[store.Level]int{}}
	s.fill(span)
	b.Logf("raw: %.1f MB, %.2f bytes per sample", float64(s.bytes[0])/1e6, float64(s.bytes[0])/span.Seconds())
	for _, l := range drawnLevels {
		b.Logf("%v: %.1f MB, %.2f bytes per bin", l, float64(s.bytes[l])/1e6, float64(s.bytes[l])/(span/l.Every()).Seconds()/1e9)
	}
	for _, part := range []time.Duration{span, span / 3, 30 * 24 * time.Hour, 24 * time.Hour, time.Hour} {
		b.Run(fmt.Sprintf("%vd", part.Hours()/24), func(b *testing.B) {
			for b.Loop() {
				end := start + int64(span)
				if n := s.countPoints(end-int64(part), end-1); n < 1900 && part > time.Hour {
					b.Fatalf("the read yields %d points", n)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/draw")
		})
	}
}

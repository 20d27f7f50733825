package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const (
	drawnSpan  = 3 * 365 * 24 * time.Hour
	drawnBatch = 2_000_000 // samples between two checkpoints
	drawnTo    = 2000      // pixels
	drawnGoal  = 100       // ms
)

// drawnLevels are the rollup levels of the PV. Each has its own retention tier, and so its own
// table.
var drawnLevels = [...]store.Level{
	store.LevelOf(10*time.Second, store.Keep5y), store.LevelOf(5*time.Minute, store.Keep10y), store.LevelOf(6*time.Hour, store.Forever),
}

// draw stores three years of a PV at 1 Hz, with rollups at three levels. It then measures how
// long it takes to read time ranges of different lengths for a plot that is 2,000 pixels wide.
func (b *bench) draw(ctx context.Context) error {
	return b.withNode(ctx, func(n *node) (err error) {
		l, err := openLoader(ctx, n.addr, "drawn", 1, ampleMemory)
		if err != nil {
			return err
		}
		defer func() { err = firstOf(err, l.close()) }()
		copy(l.retention.Levels[:], drawnLevels[:])
		const pv = "SR01:PRES"
		l.open([]string{pv})
		end := time.Now().UnixNano() / 1e9 * 1e9
		from := end - int64(drawnSpan)
		if err := b.drawnFill(ctx, l, pv, from, end); err != nil {
			return err
		}
		if err := b.drawnSizes(ctx, n); err != nil {
			return err
		}
		r := &query.Reader{Store: l.store, Shards: 1}
		for _, span := range []time.Duration{drawnSpan, drawnSpan / 3, 30 * 24 * time.Hour, 24 * time.Hour, time.Hour} {
			if err := b.drawnRange(ctx, r, pv, end-int64(span), end-1); err != nil {
				return err
			}
		}
		return nil
	})
}

// drawnFill stores one sample per second of a slow wave with noise.
func (b *bench) drawnFill(ctx context.Context, l *loader, pv string, from, to int64) error {
	samples := (to - from) / 1e9
	b.logf("drawing: %d samples of a PV, with 3 levels", samples)
	rng := rand.New(rand.NewPCG(3, 1))
	begun := time.Now()
	for i := range samples {
		v := math.Round(2000+1000*math.Sin(float64(i)/5000)+20*rng.NormFloat64()) / 100
		l.append(pv, &sample.Sample{Time: from + i*1e9 + rng.Int64N(20000), Word: math.Float64bits(v)})
		if (i+1)%drawnBatch == 0 || i == samples-1 {
			if err := l.seal(ctx); err != nil {
				return err
			}
		}
	}
	b.report.rate("draw.write_rate", float64(samples)/time.Since(begun).Seconds(), 0, "")
	return nil
}

// drawnSizes reports the disk space of the raw samples and of each rollup level.
func (b *bench) drawnSizes(ctx context.Context, n *node) error {
	tables := map[string]float64{"block_forever": drawnSpan.Seconds()}
	for _, l := range drawnLevels {
		tables["rollup_"+l.Tier().String()] = float64(drawnSpan / l.Every())
	}
	for _, table := range []string{"block_forever", "rollup_5y", "rollup_10y", "rollup_forever"} {
		if err := n.compact(ctx, "drawn", table); err != nil {
			return err
		}
		size, err := n.size(ctx, "drawn", table)
		if err != nil {
			return err
		}
		b.report.cost("draw."+table, "MB", float64(size)/1e6, 0, "")
		b.report.cost("draw."+table+"_each", "B/sample or bin", float64(size)/tables[table], 0, "")
	}
	return nil
}

// drawnRange reads the bins of a time range several times, and reports the median and the
// longest time.
func (b *bench) drawnRange(ctx context.Context, r *query.Reader, pv string, from, to int64) error {
	span := time.Duration(to + 1 - from)
	times := make([]float64, 9)
	for i := range times {
		begun, n := time.Now(), 0
		bins, err := r.Bins(ctx, pv, from, to, drawnTo, query.BinOptions{})
		if err != nil {
			return err
		}
		for bin, err := range bins.All {
			if err != nil {
				return err
			}
			if bin.Count > 0 {
				n++
			}
		}
		if n < drawnTo/2 {
			return fmt.Errorf("%v of %s have only %d points", span, pv, n)
		}
		times[i] = time.Since(begun).Seconds() * 1e3
	}
	slices.Sort(times)
	name := fmt.Sprintf("draw.%gd", span.Hours()/24)
	if span < 24*time.Hour {
		name = fmt.Sprintf("draw.%gh", span.Hours())
	}
	b.report.cost(name, "ms", times[len(times)/2], drawnGoal, "wanted")
	b.report.cost(name+"_slowest", "ms", times[len(times)-1], 0, "")
	return nil
}

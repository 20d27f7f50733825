package backup

import (
	"fmt"
	"math"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// numbers returns a block of n samples at the start of a bucket.
func numbers(t *testing.T, pv string, b store.Bucket, n int) store.Block {
	t.Helper()
	r := &sample.Run{Type: sample.Float64}
	blk := store.Block{Count: n, Type: sample.Float64, Min: 0, Max: float64(n - 1)}
	for i := range n {
		s := sample.Sample{Time: b.Start() + int64(i)*int64(time.Second), Word: math.Float64bits(float64(i))}
		r.Append(&s)
		blk.Sum += float64(i)
	}
	blk.PV, blk.Bucket, blk.Start, blk.Writer, blk.N, blk.End = pv, b, r.Times[0], store.WriterID{1, 2, 3}, 7, r.Times[n-1]
	blk.Blob = block.AppendStored(nil, r)
	return blk
}

// fill writes rows of all kinds to an archive.
func fill(t *testing.T, st store.Store, pvs int) {
	t.Helper()
	ctx := t.Context()
	now := time.Now().Truncate(time.Microsecond).UnixNano()
	for i := range pvs {
		pv := fmt.Sprintf("F:%03d", i)
		l := store.LevelOf(time.Minute, store.Forever)
		c := store.Channel{
			PV: pv, Shards: []int{i % shards}, Types: []sample.Type{sample.Float64}, Levels: []store.Level{l},
			Starts:  []store.Bucket{store.Day.Of(now - int64(70*24*time.Hour)), store.Year.Of(now - int64(400*24*time.Hour))},
			Deleted: []store.Deleted{{From: 5, To: 6}, {From: 5, To: 6, Done: true}},
		}
		must(t, st.AddChannel(ctx, c))
		must(t, st.PutBlocks(ctx, numbers(t, pv, c.Starts[0], 100), numbers(t, pv, c.Starts[0].Next(), 50), numbers(t, pv, c.Starts[1], 20)))
		tile := l.Tile(c.Starts[0].Start())
		bins := &rollup.Tile{Level: l, Tile: tile, Since: l.Start(tile), Through: l.Start(tile + 1)}
		row := store.Rollup{PV: pv, Level: l, Tile: tile, Stamp: now, Blob: rollup.Append(nil, bins)}
		must(t, st.PutRollups(ctx, row))
		must(t, st.PutMarks(ctx,
			store.PVMark{PV: pv, Writer: store.WriterID{9}, Mark: sample.Mark{Time: now - 10, Kind: sample.Connected, Text: "ioc:5064"}},
			store.PVMark{PV: pv, Writer: store.WriterID{9}, Mark: sample.Mark{Time: 1e18, End: 1e18 + 5, Kind: sample.Lost, Reason: sample.Overflow, Count: 3}}))
		meta := sample.Metadata{Units: "mA", Precision: 3, Type: sample.Float64, Count: 1, Host: "ioc:5064", Labels: []string{"a", "b"},
			Properties: []sample.Property{{Name: "DESC", Value: "beam current"}}, WarnLow: math.NaN()}
		must(t, st.PutMetadata(ctx, store.PVMetadata{PV: pv, Time: now - 20, Metadata: meta}))
	}
	must(t, st.PutMarks(ctx, store.PVMark{PV: names.Register, Mark: sample.Mark{Time: now, Kind: 15, Text: `{"pv":"F:000"}`}},
		store.PVMark{PV: "never:connected", Mark: sample.Mark{Time: now, Kind: sample.Searching, Text: "ioc"}}))
	must(t, st.PutCutoff(ctx, store.Cutoff{Before: 10, At: 20, By: store.WriterID{3}, Size: 30, Limit: 40, Open: true, Settled: 50, Peak: 60}))
	must(t, st.PutCutoffProgress(ctx, store.CutoffProgress{Shard: 1, Cutoff: 10, Buckets: 2, Bytes: 3}))
}

package relocation

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"testing"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// faulty is a store that is away, or in which a block cannot be read.
type faulty struct {
	*pebble.Store
	away    bool // after the next block
	puts    int
	damaged store.BlockKey
}

func (f *faulty) PutBlocks(ctx context.Context, b ...store.Block) error {
	if f.puts++; f.away && f.puts > 1 {
		return errors.New("the store is away")
	}
	return f.Store.PutBlocks(ctx, b...)
}

func (f *faulty) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for blk, err := range f.Store.Blocks(ctx, pv, b, from, to) {
			if blk.BlockKey == f.damaged {
				blk.Blob = []byte{99, 1}
			}
			if !yield(blk, err) {
				return
			}
		}
	}
}

// TestAnErasureThatFailedHalfWayDropsNothing checks that a bucket whose copy failed stays: some samples have no copy. Before
// the next try, one block of the bucket cannot be read any longer.
func TestAnErasureThatFailedHalfWayDropsNothing(t *testing.T) {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	f := &faulty{Store: st, away: true}
	b := store.Day.Of(noon).In(store.Forever)
	for n := range uint32(3) {
		r := &sample.Run{Type: sample.Float64}
		for i := range int64(100) {
			r.Append(&sample.Sample{Time: noon + int64(n)*hour + i*int64(time.Second), Word: uint64(i)})
		}
		blk := layout.Encode(store.BlockKey{PV: "A", Bucket: b, Start: r.Times[0], Writer: store.WriterID{1}, N: n + 1}, r, 0, 100)
		if err := st.PutBlocks(t.Context(), blk); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.AddChannel(t.Context(), store.Channel{
		PV: "A", Starts: []store.Bucket{b}, Types: []sample.Type{sample.Float64},
		Deleted: []store.Deleted{{From: noon, To: noon + 10*int64(time.Second)}},
	}); err != nil {
		t.Fatal(err)
	}
	s := New(Config{
		Store: f, Clock: clock.New(clock.Config{}), CheckLeader: func([]store.Claim) error { return nil },
		Last: func(context.Context, string, int64) (*sample.Run, error) { return nil, nil }, Log: slog.New(slog.DiscardHandler),
	})
	s.Erase("A", store.WriterID{7})
	e := s.erasures[0]
	step := func() error {
		_, err := s.stepErasure(t.Context(), e)
		return err
	}
	if err := step(); err != nil { // begins a pass
		t.Fatal(err)
	}
	if err := step(); err == nil || f.puts != 2 {
		t.Fatalf("the second copy did not fail: %v, %d copies", err, f.puts)
	}
	f.away, f.damaged = false, store.BlockKey{PV: "A", Bucket: b, Start: noon + hour, Writer: store.WriterID{1}, N: 2}
	for range 20 {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	kept := map[int64]bool{}
	for blk, err := range st.Blocks(t.Context(), "A", b, math.MinInt64, math.MaxInt64) {
		r, decoded := s.decodeForErasure(e, &blk)
		if err != nil || decoded != nil {
			t.Fatal(err, decoded)
		}
		for _, at := range r.Times {
			kept[at] = true
		}
	}
	if len(kept) < 289 {
		t.Errorf("the bucket has %d samples, want at least the 289 that are not deleted", len(kept))
	}
}

package relocation

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
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

// TestAnErasureThatNeverDropsDoesNotMultiplyBlocks checks that a bucket does not grow without bound while another sealer writes to
// it: each pass copies the older copies, too.
func TestAnErasureThatNeverDropsDoesNotMultiplyBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := pebble.OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		noon := time.Now().Truncate(24 * time.Hour).Add(12 * time.Hour).UnixNano()
		b := store.Day.Of(noon).In(store.Forever)
		r := &sample.Run{Type: sample.Float64}
		grow := func() { // the other sealer's block
			r.Append(&sample.Sample{Time: noon + int64(r.Len())*int64(time.Second), Word: uint64(r.Len())})
			key := store.BlockKey{PV: "A", Bucket: b, Start: noon, Writer: store.WriterID{1}, N: 1}
			if err := st.PutBlocks(t.Context(), layout.Encode(key, r, 0, r.Len())); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			grow()
		}
		before := r.Clone()
		before.Tags[9] |= sample.CarriedForward
		first := &sample.Run{Type: sample.Float64}
		first.AppendRange(before, 9, 10)
		first.Times[0] = b.Start() - 1
		carried := store.BlockKey{PV: "A", Bucket: b, Start: b.Start(), Writer: store.WriterID{1}, N: 2}
		if err := st.PutBlocks(t.Context(), layout.EncodeCarriedForward(carried, first)); err != nil {
			t.Fatal(err)
		}
		if err := st.AddChannel(t.Context(), store.Channel{
			PV: "A", Starts: []store.Bucket{b}, Types: []sample.Type{sample.Float64},
			Deleted: []store.Deleted{{From: noon, To: noon + 5*int64(time.Second)}},
		}); err != nil {
			t.Fatal(err)
		}
		s := New(Config{
			Store: st, Clock: clock.New(clock.Config{}), CheckLeader: func([]store.Claim) error { return nil },
			Last: func(context.Context, string, int64) (*sample.Run, error) { return nil, nil }, Log: slog.New(slog.DiscardHandler),
		})
		s.Erase("A", store.WriterID{7})
		passes, days := 0, 10
		time.Sleep(24 * time.Hour)
		for range days * 24 * 4 {
			time.Sleep(15 * time.Minute)
			grow()
			for e := s.dueErasure(); e != nil; e = s.dueErasure() {
				was := e.begun
				if _, err := s.stepErasure(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				if e.begun && !was {
					passes++
				}
			}
		}
		blocks := 0
		kept := map[int64]bool{}
		for blk, err := range st.Blocks(t.Context(), "A", b, math.MinInt64, math.MaxInt64) {
			one := new(sample.Run)
			if err := errors.Join(err, scan.Decode(one, &blk)); err != nil {
				t.Fatal(err)
			}
			blocks++
			for _, at := range one.Times {
				kept[at] = true
			}
		}
		if passes < 5 || passes > 24*days/10 || blocks > 2+2*passes {
			t.Errorf("after %d days and %d passes the bucket has %d blocks", days, passes, blocks)
		}
		if want := r.Len() + 1; len(kept) != want {
			t.Errorf("the bucket has %d times, want %d", len(kept), want)
		}
	})
}

package check_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// failingStore is a store that fails some reads of blocks.
type failingStore struct {
	store.Store
	blocks int
	fail   func(n int) bool // reports whether to fail at the n-th block, from 1
}

var errAway = errors.New("no answer")

func (f *failingStore) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for blk, err := range f.Store.Blocks(ctx, pv, b, from, to) {
			f.blocks++
			if f.fail(f.blocks) {
				yield(store.Block{}, errAway)
				return
			}
			if !yield(blk, err) {
				return
			}
		}
	}
}

// TestFailedReadsAreRetried checks that a failed read continues where it stopped. After some
// tries it becomes a finding.
func TestFailedReadsAreRetried(t *testing.T) {
	a := newArchive(t)
	for i := range int64(5) {
		a.must(a.PutBlocks(t.Context(), a.block(noon+hour+10+i)))
	}
	synctest.Test(t, func(t *testing.T) {
		a := &archive{Store: a.Store, t: t}
		r := a.check(&failingStore{Store: a.Store, fail: func(n int) bool { return n == 1 || n == 3 || n == 7 }}, options())
		if a.wrong(r); r.Blocks != 8 {
			t.Errorf("%d blocks counted, of 8", r.Blocks)
		}
		r = a.check(&failingStore{Store: a.Store, fail: func(int) bool { return true }}, options())
		if a.wrong(r, "unreadable: no answer", "unreadable: no answer"); r.Marks != 1 {
			t.Errorf("rows that can be read are missing: %+v", r)
		}
	})
}

// directoryStore is a store that answers reads of its directory only.
type directoryStore struct{ check.Store }

func (directoryStore) Channels(context.Context) iter.Seq2[store.Channel, error] {
	return func(yield func(store.Channel, error) bool) {
		for i := range 1000 {
			if !yield(store.Channel{PV: strconv.Itoa(i)}, nil) {
				return
			}
		}
	}
}

func (directoryStore) Channel(context.Context, string) (store.Channel, bool, error) {
	return store.Channel{}, false, errAway
}

func (directoryStore) Cutoff(context.Context) (store.Cutoff, bool, error) {
	return store.Cutoff{}, false, nil
}

func (directoryStore) Marks(context.Context, string, int64, int64) iter.Seq2[store.PVMark, error] {
	return func(yield func(store.PVMark, error) bool) { yield(store.PVMark{}, errAway) }
}

func (directoryStore) Metadata(context.Context, string, int64, int64) iter.Seq2[store.PVMetadata, error] {
	return func(yield func(store.PVMetadata, error) bool) { yield(store.PVMetadata{}, errAway) }
}

func TestCheckEndsWhenTheStoreIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []check.Progress
		opts := options()
		opts.Progress = func(p check.Progress) { reported = append(reported, p) }
		opts.ProgressEvery = time.Second
		r, err := check.Run(t.Context(), directoryStore{}, opts)
		if !errors.Is(err, check.ErrStoreGone) || !errors.Is(err, errAway) || r.Complete || r.PVs > 50 {
			t.Errorf("%v, after %d PVs", err, r.PVs)
		}
		if len(reported) == 0 || reported[0].Total != 1000 || reported[0].Elapsed != time.Second {
			t.Errorf("progress: %+v", reported)
		}
	})
}

// hourly is an archive with one block of 10 KB in each of 100 hours.
type hourly struct{ directoryStore }

func (hourly) Channel(_ context.Context, pv string) (store.Channel, bool, error) {
	return store.Channel{PV: pv, Starts: []store.Bucket{store.Hour.Of(noon - 100*hour)}, Types: []sample.Type{sample.String}}, true, nil
}

func (hourly) Blocks(_ context.Context, _ string, b store.Bucket, _, _ int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		if b.Start() >= noon {
			return
		}
		r := &sample.Run{Type: sample.String, Times: []int64{b.Start()}, Tags: []sample.Tag{0}, Ends: []uint32{10 << 10}, Bytes: make([]byte, 10<<10)}
		for i := range r.Bytes {
			r.Bytes[i] = byte(i * i * i >> 5)
		}
		yield(store.Block{
			BlockKey: store.BlockKey{Bucket: b, Start: b.Start()}, End: b.Start(), Count: 1, Type: r.Type,
			Min: math.NaN(), Max: math.NaN(), Sum: math.NaN(), Blob: block.Append(nil, r),
		}, nil)
	}
}

func (hourly) Marks(context.Context, string, int64, int64) iter.Seq2[store.PVMark, error] {
	return func(func(store.PVMark, error) bool) {}
}

func (hourly) Metadata(context.Context, string, int64, int64) iter.Seq2[store.PVMetadata, error] {
	return func(func(store.PVMetadata, error) bool) {}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := options()
		opts.Match = func(pv string) bool { return pv == "7" }
		opts.Rate = 50 << 10
		start := time.Now()
		r, err := check.Run(t.Context(), hourly{}, opts)
		want := time.Duration(float64(r.Bytes) / opts.Rate * float64(time.Second))
		if took := time.Since(start); err != nil || r.Samples != 100 || took < want-time.Second || took > want+time.Second {
			t.Errorf("%d samples, %d bytes took %v, want %v; %v", r.Samples, r.Bytes, took, want, err)
		}
	})
}

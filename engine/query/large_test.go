package query

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"testing"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// image returns a sample that is an array of size equal bytes.
func image(at int64, size int, fill byte) typed {
	return typed{sample.Uint8.Array(), sample.Sample{Time: at, Bytes: bytes.Repeat([]byte{fill}, size)}}
}

// TestLargeValues checks that large values are read from memory, journal and blocks like small
// ones, and that a read does not change the memory of an engine.
func TestLargeValues(t *testing.T) {
	a := newArchive(t, 1)
	a.directory(store.Channel{Shards: []int{home()}})
	var all []typed
	for i := range int64(40) {
		size := 300
		if a.rng.IntN(3) > 0 {
			size = 100<<10 + a.rng.IntN(300<<10)
		}
		all = append(all, image(epoch+i/2, size, byte(i))) // two at each time
	}
	a.addToModel(all...)
	for i := range 10 {
		a.block(writer(1), store.Day.Of(epoch), all[i])
	}
	for i := 8; i < 20; i += 4 {
		a.row(writer(2), home(), all[i:i+4]...)
	}
	late := []typed{all[3], all[39], all[25], all[38]} // in order of arrival
	a.held.Runs = []*sample.Run{run(all[18:30]), run(all[30:40]), run(late), run(all[28:33])}
	var before []*sample.Run
	for _, r := range a.held.Runs {
		before = append(before, r.Clone())
	}
	for _, c := range [][2]int64{{-5, 100}, {-5, -1}, {0, 3}, {4, 4}, {5, 14}, {9, 9}, {13, 30}, {19, 19}, {25, 30}} {
		a.expect(epoch+c[0], epoch+c[1])
		if got := a.read(epoch+c[0], epoch+c[1], Options{Inside: true}); len(got) > 0 && got[0].Time < epoch+c[0] {
			t.Errorf("a read inside [%d, %d] yields a sample at %d", c[0], c[1], got[0].Time-epoch)
		}
	}
	for i, r := range a.held.Runs {
		if !bytes.Equal(r.Bytes, before[i].Bytes) || r.Len() != before[i].Len() {
			t.Errorf("the read has changed run %d of the engine", i)
		}
	}
}

// TestCarriedForwardValueElsewhere checks carried-forward samples without their value. A large
// value is not copied into later buckets, so a read must find it in the bucket of its time,
// whatever the size of that bucket.
func TestCarriedForwardValueElsewhere(t *testing.T) {
	value := image(epoch+100, 100<<10, 7)
	elsewhere := image(epoch+100, 0, 0)
	elsewhere.Tag = sample.CarriedForward | sample.Elsewhere
	later := store.Day.Of(epoch + 5*day)
	for name, fill := range map[string]func(*archive){
		"in another bucket":             func(a *archive) { a.block(writer(1), store.Day.Of(epoch), value) },
		"in a bucket of another size":   func(a *archive) { a.block(writer(1), store.Hour.Of(epoch), value) },
		"in a block with other samples": func(a *archive) { a.block(writer(1), store.Day.Of(epoch), image(epoch+50, 9, 1), value) },
		"before a later sample":         func(a *archive) { a.block(writer(2), store.Day.Of(epoch), value, image(epoch+101, 0, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t, 1)
			fill(a)
			a.block(writer(3), later, elsewhere)
			at := later.Start() + 10
			got := a.read(at, at+10, Options{})
			if name == "before a later sample" {
				return // the later sample is not carried forward here, so only check that the read succeeds
			}
			if len(got) != 1 || got[0].key() != value.key() {
				t.Fatalf("the read yields %d samples: %.100v", len(got), got)
			}
			if got := a.read(at, at+10, Options{Inside: true}); len(got) != 0 {
				t.Errorf("the read yields %d samples inside the range", len(got))
			}
		})
	}
	t.Run("in a deleted block", func(t *testing.T) {
		a := newArchive(t, 1)
		a.block(writer(3), later, elsewhere)
		if got := a.read(later.Start()+10, later.Start()+20, Options{}); len(got) != 0 {
			t.Errorf("the read yields %d samples of a deleted value", len(got))
		}
	})
}

// memoryBlocks is a store with blocks in memory.
type memoryBlocks struct {
	store.Store
	blocks []store.Block
}

func (s *memoryBlocks) LastBlock(context.Context, string, store.Bucket, int64) (store.Block, bool, error) {
	return store.Block{}, false, nil
}

func (s *memoryBlocks) Blocks(_ context.Context, _ string, in store.Bucket, _, _ int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for _, b := range s.blocks {
			if b.Bucket == in && !yield(b, nil) {
				return
			}
		}
	}
}

// TestMemoryOfLargeValues checks that a read of large values needs memory for only one value
// besides the store's own copy, regardless of the number of values.
func TestMemoryOfLargeValues(t *testing.T) {
	const n, size = 60, 1 << 20
	a := newArchive(t, 1)
	bucket := store.Day.Of(epoch)
	a.directory(store.Channel{Starts: []store.Bucket{bucket}})
	s := &memoryBlocks{Store: a.store}
	for i := range int64(n) {
		r := run([]typed{image(epoch+i, size, byte(i))})
		s.blocks = append(s.blocks, store.Block{
			BlockKey: store.BlockKey{PV: testPV, Bucket: bucket, Start: epoch + i, Writer: writer(1), N: uint32(i)},
			End:      epoch + i, Count: 1, Type: r.Type, Blob: block.Append(nil, r),
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := 0
	read, err := (&Reader{Store: s, Shards: testShards}).Read(t.Context(), testPV, epoch, epoch+n, Options{})
	a.check(err)
	for r, err := range read.All {
		a.check(err)
		if v := r.Value(0); r.Len() != 1 || len(v) != size || v[size-1] != byte(got) {
			t.Fatalf("run %d has %d samples, and the first has %d bytes", got, r.Len(), len(v))
		}
		got++
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; got != n || used > 3*size {
		t.Errorf("the read of %d values of %d bytes used %d bytes", got, size, used)
	}
}

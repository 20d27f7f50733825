package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func float(at int64, v float64) typed {
	return typed{sample.Float64, sample.Sample{Time: at, Word: math.Float64bits(v)}}
}

func text(at int64, v string) typed {
	return typed{sample.String, sample.Sample{Time: at, Bytes: []byte(v)}}
}

func carriedForward(s typed) typed {
	s.Tag |= sample.CarriedForward
	return s
}

// brief formats samples as times after epoch and values.
func brief(samples []typed) string {
	out := ""
	for _, s := range samples {
		if s.t == sample.Float64 {
			out += fmt.Sprintf("%d:%g ", s.Time-epoch, math.Float64frombits(s.Word))
		} else {
			out += fmt.Sprintf("%d:%s ", s.Time-epoch, s.Bytes)
		}
	}
	return out
}

func (a *archive) reads(from, to int64, want string) {
	a.t.Helper()
	if got := brief(a.read(epoch+from, epoch+to, Options{})); got != want {
		a.t.Errorf("the read of range %d to %d yields %q, want %q", from, to, got, want)
	}
}

func TestUnknownPV(t *testing.T) {
	a := newArchive(t, 1)
	for _, pv := range []string{"NO", testPV} {
		if _, err := a.reader().Read(t.Context(), pv, 0, 1, Options{}); !errors.Is(err, ErrUnknownPV) {
			t.Errorf("reading %s returns %v", pv, err)
		}
	}
	a.held.Known = true // captured, but not yet in the directory
	a.reads(0, 10, "")
}

// TestARemovedPVOfTwoEngines reads a PV that two engines captured for a moment. It is in no group any longer, and its samples are
// not sealed, so the directory does not know its shard.
func TestARemovedPVOfTwoEngines(t *testing.T) {
	a := newArchive(t, 1)
	a.row(writer(1), home()+testShards, float(epoch+1, 1), float(epoch+2, 2))
	a.row(writer(2), home()+testShards, float(epoch+2, 2), float(epoch+3, 3))
	a.check(a.store.PutMarks(t.Context(), store.PVMark{PV: testPV, Mark: sample.Mark{Time: epoch, Kind: sample.Connected}}))
	a.reads(0, 10, "1:1 2:2 3:3 ")
}

// TestMissingSamplesFailTheRead checks that a read fails if it needs samples of an engine that
// does not answer, and no other place has them.
func TestMissingSamplesFailTheRead(t *testing.T) {
	a := newArchive(t, 1)
	a.held = Held{Known: true}
	a.held.Add(Held{Missing: errors.New("later"), MissingFrom: 5})
	a.held.Add(Held{Missing: ErrNoAnswer, MissingFrom: 1})
	a.held.Add(Held{})
	r := a.reader()
	if _, err := r.Read(t.Context(), testPV, 0, 0, Options{}); err != nil {
		t.Errorf("reading samples before the missing ones: %v", err)
	}
	if _, err := r.Read(t.Context(), testPV, 0, 1, Options{}); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("reading the missing samples returns %v", err)
	}
	if _, err := r.Bins(t.Context(), testPV, 0, 1, 1, BinOptions{}); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("reading bins of the missing samples returns %v", err)
	}
}

// TestNamesAreCanonical checks that a read accepts a name in each of its forms.
func TestNamesAreCanonical(t *testing.T) {
	a := newArchive(t, 1)
	a.directory(store.Channel{})
	if _, err := a.reader().Read(t.Context(), "ca://"+testPV+".VAL", 0, 1, Options{}); err != nil {
		t.Error(err)
	}
}

// TestTiesAndTypes checks that samples of equal time stay in order of arrival, and that each
// type has runs of its own.
func TestTiesAndTypes(t *testing.T) {
	a := newArchive(t, 1)
	b := store.Day.Of(epoch)
	a.directory(store.Channel{})
	a.block(writer(1), b, float(epoch+5, 2), float(epoch+5, 1), float(epoch+9, 3))
	a.block(writer(2), b, float(epoch+5, 1), float(epoch+5, 7))
	a.block(writer(1), b, text(epoch+5, "x"), text(epoch+6, "y"))
	a.reads(0, 20, "5:2 5:1 5:x 5:7 6:y 9:3 ")
	a.reads(5, 5, "5:2 5:1 5:x 5:7 ")
	a.reads(6, 8, "6:y ")
	a.reads(10, 20, "9:3 ")
}

// TestLastSampleBeforeTheRange checks that a read finds the last sample before its range in
// every place.
func TestLastSampleBeforeTheRange(t *testing.T) {
	d := func(n int64) store.Bucket { return store.Day.Of(epoch + n*day) }
	last := float(epoch+100, 1)
	for name, fill := range map[string]func(*archive){
		"in the bucket":                      func(a *archive) { a.block(writer(1), d(0), last) },
		"in memory":                          func(a *archive) { a.held.Runs = []*sample.Run{run([]typed{last})} },
		"in the journal":                     func(a *archive) { a.row(writer(1), home(), last) },
		"in a block that continues after it": func(a *archive) { a.block(writer(1), d(0), float(epoch+50, 0), last, float(epoch+9*day/10, 9)) },
		"behind a longer block": func(a *archive) {
			a.block(writer(1), d(0), float(epoch+50, 0), float(epoch+9*day/10, 9))
			a.block(writer(2), d(0), float(epoch+60, 5), last)
		},
		"carried by one of two": func(a *archive) {
			a.block(writer(1), d(0), carriedForward(float(epoch-day, 0)))
			a.block(writer(2), d(0), carriedForward(last), float(epoch+9*day/10, 9))
		},
		"in another size": func(a *archive) {
			a.block(writer(1), store.Hour.Of(epoch), last)
			a.block(writer(1), d(0), float(epoch+20, 5))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t, 1)
			a.directory(store.Channel{})
			fill(a)
			a.reads(200, 300, "100:1 ")
			if got := a.read(epoch+200, epoch+300, Options{Inside: true}); len(got) > 0 {
				t.Errorf("a read of samples inside the range yields %s", brief(got))
			}
		})
	}
}

// TestLastSampleLongBeforeTheRange checks that a read finds the value of a PV that has not
// changed for a long time. The read finds it in one bucket if it was carried forward, and
// further back if no engine captured the PV in between.
func TestLastSampleLongBeforeTheRange(t *testing.T) {
	old := float(epoch, 1)
	for _, c := range []struct {
		size store.BucketSize
		back int64 // days
	}{{store.Hour, 6}, {store.Day, 300}, {store.Month, 3000}, {store.Year, 7000}} {
		a := newArchive(t, 1)
		a.directory(store.Channel{})
		a.block(writer(1), c.size.Of(old.Time), old)
		a.reads(c.back*day, c.back*day, "0:1 ")
		a.block(writer(1), c.size.Of(epoch+20000*day), carriedForward(old))
		a.reads(20000*day, 20000*day+5, "0:1 ")
	}
}

// counting is a store that counts the buckets and the blocks that are read.
type counting struct {
	store.Store
	buckets, blocks int
}

func (c *counting) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	c.buckets++
	return c.Store.LastBlock(ctx, pv, b, at)
}

func (c *counting) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	c.buckets++
	return func(yield func(store.Block, error) bool) {
		for blk, err := range c.Store.Blocks(ctx, pv, b, from, to) {
			c.blocks++
			if !yield(blk, err) {
				return
			}
		}
	}
}

// TestOnlyBucketsInUseAreRead checks a read of a range from long before the first sample to
// years after the last one. It reads no bucket before the first sample and none in another
// year.
func TestOnlyBucketsInUseAreRead(t *testing.T) {
	a := newArchive(t, 1)
	at := store.Year.Of(epoch).End() - 10*day
	a.block(writer(1), store.Hour.Of(at), float(at, 1))
	count := &counting{Store: a.store}
	a.reader() // writes the block
	a.store = count
	got := brief(a.read(epoch-20000*day, epoch+20000*day, Options{}))
	if want := fmt.Sprintf("%d:1 ", at-epoch); got != want || count.buckets > 24*10+1 {
		t.Errorf("read %d buckets for %s, want %s", count.buckets, got, want)
	}
}

// TestBlocksAreReadLazily checks that blocks are read when they are needed, and that the rest
// is not read if the consumer stops.
func TestBlocksAreReadLazily(t *testing.T) {
	a := newArchive(t, 1)
	a.directory(store.Channel{})
	for i := range int64(50) {
		samples := make([]typed, viewSamples)
		for k := range samples {
			samples[k] = float(epoch+i*day+int64(k), 1)
		}
		a.block(writer(1), store.Day.Of(epoch+i*day), samples...)
	}
	c := &counting{Store: a.store}
	a.store = c
	read, err := a.reader().Read(t.Context(), testPV, epoch, epoch+50*day, Options{})
	a.check(err)
	for range read.All {
		break
	}
	if c.blocks == 0 || c.blocks > 3 {
		t.Errorf("%d of 50 blocks were read for the first run", c.blocks)
	}
}

// TestYieldedRunsAreBounded checks that yielded runs are short, so that a consumer needs
// little memory.
func TestYieldedRunsAreBounded(t *testing.T) {
	a := newArchive(t, 1)
	a.directory(store.Channel{})
	var floats, texts []typed
	for i := range int64(3 * chunkSamples) {
		floats = append(floats, float(epoch+i, 1))
		texts = append(texts, text(epoch+day+i, fmt.Sprintf("%1000d", i)))
	}
	a.block(writer(1), store.Day.Of(epoch), floats...)
	a.block(writer(1), store.Day.Of(epoch+day), texts...)
	read, err := a.reader().Read(t.Context(), testPV, epoch, epoch+2*day, Options{})
	a.check(err)
	n := 0
	for r, err := range read.All {
		a.check(err)
		if n += r.Len(); r.Len() > chunkSamples || r.Size() > 2*chunkBytes {
			t.Errorf("a run has %d samples and %d bytes", r.Len(), r.Size())
		}
	}
	if n != len(floats)+len(texts) {
		t.Errorf("the read yields %d samples", n)
	}
}

func TestNames(t *testing.T) {
	a := newArchive(t, 1)
	for _, pv := range []string{"D", "B", "E"} {
		a.check(a.store.AddChannel(t.Context(), store.Channel{PV: pv}))
	}
	r := a.reader()
	r.Captured = func() iter.Seq[string] { return slices.Values([]string{"C", "B", "A"}) }
	vowels := func(pv string) bool { return pv == "A" || pv == "E" }
	all := func(string) bool { return true }
	for _, c := range []struct {
		match func(string) bool
		limit int
		want  string
	}{{all, -1, "[A B C D E]"}, {all, 3, "[A B C]"}, {all, 0, "[]"}, {all, 50, "[A B C D E]"}, {vowels, -1, "[A E]"}} {
		got, err := r.Names(t.Context(), c.match, c.limit)
		a.check(err)
		if fmt.Sprint(got) != c.want {
			t.Errorf("Names with limit %d returns %v, want %s", c.limit, got, c.want)
		}
	}
}

// TestNamesAreBounded checks that a list of the first names does not hold the other names in
// memory.
func TestNamesAreBounded(t *testing.T) {
	n := namesFound{limit: 3, set: map[string]struct{}{}}
	for i := range 10000 {
		if n.add(fmt.Sprintf("%05d", i*7919%10000)); len(n.set) > 2000 {
			t.Fatalf("the set holds %d names", len(n.set))
		}
	}
	if got := fmt.Sprint(n.sorted()); got != "[00000 00001 00002]" {
		t.Errorf("the first names are %s", got)
	}
}

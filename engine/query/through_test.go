package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// through returns what reads through to an archive.
func (a *archive) through() *Through {
	r := a.reader()
	return &Through{
		Outside: func(ctx context.Context, pv string) (Outside, error) {
			known, err := r.Known(ctx, pv)
			return Outside{Known: known, Type: sample.Float64}, err
		},
		Samples: func(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
			read, err := r.Read(ctx, pv, from, to, Options{})
			if errors.Is(err, ErrUnknownPV) {
				return func(func(*sample.Run, error) bool) {}
			}
			if err != nil {
				return failing(err)
			}
			return read.All
		},
		Names: func(ctx context.Context) ([]string, error) {
			return r.Names(ctx, func(string) bool { return true }, -1)
		},
	}
}

func failing(err error) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) { yield(nil, err) }
}

// connect puts the mark that the PV was connected.
func (a *archive) connect(w store.WriterID, at int64) {
	a.check(a.store.PutMarks(a.t.Context(), store.PVMark{PV: testPV, Writer: w, Mark: sample.Mark{Time: at, Kind: sample.Connected}}))
}

// split distributes random samples over an older archive and a new one that begins at a seam. It returns the
// new one, whose model has what a reader must yield, and an archive that holds all of it in one place.
func split(t *testing.T, seed uint64, span int64, numbers bool) (own, one *archive, seam int64) {
	older, own, one := newArchive(t, seed), newArchive(t, seed), newArchive(t, seed)
	rng := own.rng
	seam = epoch + span/4 + rng.Int64N(span/2)
	var all []typed
	for range 40 {
		all = append(all, own.some(span)...)
	}
	slices.SortStableFunc(all, func(x, y typed) int { return int(min(1, max(-1, x.Time-y.Time))) })
	if numbers { // the order of equal times is not known, so bins may differ
		all = slices.DeleteFunc(all, func(s typed) bool { return s.t != sample.Float64 })
		all = slices.CompactFunc(all, func(x, y typed) bool { return x.Time == y.Time })
		for i := range all {
			all[i].Word = math.Float64bits(float64(rng.IntN(100)))
		}
	}
	seen := map[sampleKey]bool{}
	all = slices.DeleteFunc(all, func(s typed) bool {
		repeated := seen[s.key()]
		seen[s.key()] = true
		return repeated
	})
	switch seed % 3 {
	case 0: // a sample exactly at the seam
		seam = all[len(all)/2].Time
	case 1: // the first sample after it
		seam = all[len(all)/2].Time + 1
	}
	put := func(a *archive, s typed) { a.block(writer(1), store.Year.Of(s.Time).In(store.Forever), s) }
	last := -1 // the last sample before the seam
	for i, s := range all {
		if s.Time < seam {
			last = i
		}
	}
	for i, s := range all {
		put(one, s)
		want := s
		switch {
		case s.Time >= seam:
			put(own, s)
			other := s
			other.Tag = sample.MakeTag(2, 17) // as another archive might see it
			put(older, other)
		default:
			put(older, s)
			if i == last || rng.IntN(4) == 0 { // the first value of the subscription; imported
				if rng.IntN(2) == 0 {
					want.Tag |= sample.Elsewhere // a flag that the other archive does not have
				}
				put(own, want)
			}
		}
		own.addToModel(want)
	}
	own.connect(store.Imported, epoch)
	own.connect(writer(9), seam)
	own.connect(writer(8), seam+span/10)
	own.older = older.through()
	return own, one, seam
}

// TestReadThroughEqualsOneArchive checks that samples of two archives are read as if one archive had them.
func TestReadThroughEqualsOneArchive(t *testing.T) { readThrough(t, 2) }

// TestLong_ReadThroughEqualsOneArchive is TestReadThroughEqualsOneArchive with more seeds.
func TestLong_ReadThroughEqualsOneArchive(t *testing.T) { readThrough(t, 6) }

func readThrough(t *testing.T, seeds uint64) {
	const span = 20 * day
	for seed := range seeds {
		own, _, seam := split(t, seed, span, false)
		all := own.sorted()
		for range 10 {
			from := epoch + own.rng.Int64N(span)
			own.expect(from, from+own.rng.Int64N(span))
			at := all[own.rng.IntN(len(all))].Time
			own.expect(at, at)
			own.expect(at-1, at+span/100)
		}
		for _, from := range []int64{seam - 1, seam, seam + 1, seam + second, seam + day} {
			own.expect(from, from)
			own.expect(from, from+span)
			own.expect(from-span, from)
		}
		own.expect(epoch-day, epoch+3*span)
	}
}

// TestBinsThroughEqualOneArchive compares bins over the seam.
func TestBinsThroughEqualOneArchive(t *testing.T) { compareBinsThrough(t, 1) }

// TestLong_BinsThroughEqualOneArchive is TestBinsThroughEqualOneArchive with more seeds.
func TestLong_BinsThroughEqualOneArchive(t *testing.T) { compareBinsThrough(t, 3) }

func compareBinsThrough(t *testing.T, seeds uint64) {
	const span = 20 * day
	for seed := range seeds {
		own, one, seam := split(t, seed, span, true)
		joined, whole := own.reader(), one.reader()
		for _, from := range []int64{epoch, seam - day/3, seam, seam + 1, seam + day} {
			for _, opts := range []BinOptions{{}, {Empty: true}, {First: true}, {Empty: true, Width: day / 7}} {
				got, want := bins(t, joined, from, from+span/2, opts), bins(t, whole, from, from+span/2, opts)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d, from %d, %+v: %d bins, want %d:\n%+v\n%+v", seed, from-seam, opts, len(got), len(want), got, want)
				}
			}
		}
	}
}

func bins(t *testing.T, r *Reader, from, to int64, opts BinOptions) (all []rollup.Bin) {
	t.Helper()
	read, err := r.Bins(t.Context(), testPV, from, to, 50, opts)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range read.All {
		if err != nil {
			t.Fatal(err)
		}
		c := *b
		c.States = slices.Clone(b.States)
		all = append(all, c)
	}
	return all
}

// TestReadThroughOfPVsThatOneArchiveKnows reads a PV that only the older archive has, and one that nobody has.
func TestReadThroughOfPVsThatOneArchiveKnows(t *testing.T) {
	older, own := newArchive(t, 1), newArchive(t, 1)
	s := typed{sample.Int32, sample.Sample{Time: epoch, Word: 7}}
	older.block(writer(1), store.Year.Of(epoch).In(store.Forever), s)
	own.older = older.through()
	own.addToModel(s)
	own.expect(epoch-1, epoch+1)
	own.expect(epoch+day, epoch+day)
	r := own.reader()
	if names, err := r.Names(t.Context(), func(string) bool { return true }, -1); err != nil || !slices.Equal(names, []string{testPV}) {
		t.Errorf("names %q, %v", names, err)
	}
	if known, err := r.Known(t.Context(), testPV); !known || err != nil {
		t.Errorf("known %t, %v", known, err)
	}
	if typ, err := r.Type(t.Context(), testPV); typ != sample.Float64 || err != nil {
		t.Errorf("type %v, %v", typ, err)
	}
	if got := bins(t, r, epoch-day, epoch+day, BinOptions{Empty: true}); len(got) == 0 || got[0].Count != 1 {
		t.Errorf("bins %+v", got)
	}
	for _, read := range []func() error{
		func() error { _, err := r.Read(t.Context(), "NO:ONE", epoch, epoch, Options{}); return err },
		func() error { _, err := r.Bins(t.Context(), "NO:ONE", epoch, epoch, 1, BinOptions{}); return err },
		func() error { _, err := r.Count(t.Context(), "NO:ONE", epoch, epoch, nil); return err },
	} {
		if err := read(); !errors.Is(err, ErrUnknownPV) {
			t.Errorf("a PV that no archive knows: %v", err)
		}
	}
	r.Visible = func(context.Context, string) bool { return false }
	if _, err := r.Read(t.Context(), testPV, epoch, epoch, Options{}); !errors.Is(err, ErrUnknownPV) {
		t.Errorf("a hidden PV: %v", err)
	}
	if names, err := r.Names(t.Context(), func(string) bool { return true }, -1); err != nil || len(names) > 0 {
		t.Errorf("hidden names %q, %v", names, err)
	}
}

// TestReadThroughFailsWithTheOlderArchive checks that a failure is no shorter answer, and that reads after the
// seam do not need the older archive.
func TestReadThroughFailsWithTheOlderArchive(t *testing.T) {
	own := newArchive(t, 1)
	s := typed{sample.Int32, sample.Sample{Time: epoch + day, Word: 7}}
	own.block(writer(1), store.Year.Of(epoch).In(store.Forever), s)
	own.connect(writer(9), epoch+day)
	cause := errors.New("away")
	own.older = &Through{
		Outside: func(context.Context, string) (Outside, error) { return Outside{}, cause },
		Samples: func(context.Context, string, int64, int64) iter.Seq2[*sample.Run, error] { return failing(cause) },
		Names:   func(context.Context) ([]string, error) { return nil, cause },
	}
	r := own.reader()
	read := func(pv string, from, to int64) error {
		read, err := r.Read(t.Context(), pv, from, to, Options{})
		if err != nil {
			return err
		}
		for _, err := range read.All {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := read(testPV, epoch, epoch+2*day); !errors.Is(err, ErrUpstream) || !errors.Is(err, cause) {
		t.Errorf("over the seam: %v", err)
	}
	if err := read("NO:ONE", epoch, epoch+2*day); !errors.Is(err, ErrUpstream) {
		t.Errorf("a PV that this archive does not know: %v", err)
	}
	if err := read(testPV, epoch+2*day, epoch+3*day); err != nil {
		t.Errorf("after the seam: %v", err)
	}
	if _, err := r.Names(t.Context(), func(string) bool { return true }, -1); !errors.Is(err, ErrUpstream) {
		t.Errorf("names: %v", err)
	}
	b, err := r.Bins(t.Context(), testPV, epoch, epoch+2*day, 10, BinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range b.All {
		if err != nil {
			break
		}
	}
	if !errors.Is(err, ErrUpstream) {
		t.Errorf("bins: %v", err)
	}
}

// TestReadThroughKeepsBothTypes reads a PV whose type differs in the two archives, with different samples of one
// time: those of the older archive come first.
func TestReadThroughKeepsBothTypes(t *testing.T) {
	older, own := newArchive(t, 1), newArchive(t, 1)
	year := store.Year.Of(epoch).In(store.Forever)
	put := func(a *archive, typ sample.Type, at int64, word uint64) {
		s := typed{typ, sample.Sample{Time: at, Word: word}}
		a.block(writer(1), year, s)
	}
	put(older, sample.Int32, epoch, 1)
	put(older, sample.Int32, epoch+day, 2)
	put(own, sample.Float64, epoch+day, 3)
	put(own, sample.Float64, epoch+2*day, 4)
	own.connect(writer(9), epoch+day+1)
	own.older = older.through()
	var got []uint64
	for _, s := range own.read(epoch, epoch+3*day, Options{}) {
		got = append(got, s.Word)
	}
	if !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Errorf("read %v", got)
	}
	c, err := own.reader().Count(t.Context(), testPV, epoch, epoch+3*day, nil)
	if err != nil || c.Stored {
		t.Errorf("counted %+v, %v, although there are no stored bins", c, err)
	}
}

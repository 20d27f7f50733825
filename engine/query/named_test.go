package query_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// writeNames writes facts into the register of a store.
func writeNames(t testing.TB, st names.Store, facts ...names.Fact) *names.Book {
	t.Helper()
	book := names.NewBook(st, nil)
	w := names.NewWriter(book, store.WriterID{7}, func() int64 { return start }, slog.New(slog.DiscardHandler))
	named := map[string]names.Fact{}
	for _, f := range facts {
		named[f.PV] = f
	}
	w.Set(named, func(string) bool { return false })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ended, t.Context())
	if v, err := book.View(t.Context()); err != nil || len(facts) > 0 && v.Empty() {
		t.Fatalf("the register is empty: %v", err)
	}
	return book
}

func openPebble(t testing.TB) *pebble.Store {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// countingStore counts the reads of blocks by PV.
type countingStore struct {
	store.Store
	blocks map[string]int
}

func (s *countingStore) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	s.blocks[pv]++
	return s.Store.Blocks(ctx, pv, b, from, to)
}

// TestBinsOverARename reads bins of a PV that was renamed, for several seams, and compares them with bins computed from the
// samples of both names. Both names have tiles, and samples at the same times.
func TestBinsOverARename(t *testing.T) { readOverRename(t, 2) }

// TestLong_BinsOverARename is TestBinsOverARename with more seams.
func TestLong_BinsOverARename(t *testing.T) { readOverRename(t, 4) }

func readOverRename(t *testing.T, seams int) {
	p := newRenamedPV(t)
	for seam := range p.seams(seams) {
		p.compare(seam, nil)
	}
	clear(p.counting.blocks)
	bins, err := p.reader().Bins(t.Context(), drawnPV, start-int64(renamedSpan), start-int64(time.Hour), 5, query.BinOptions{})
	p.check(err)
	n := 0
	for _, err := range bins.All {
		p.check(err)
		n++
	}
	if n < 5 || p.counting.blocks["OLD"] > 4 {
		t.Errorf("%d bins of the former name took %d reads of blocks: its tiles have them", n, p.counting.blocks["OLD"])
	}
}

// TestBinsOverARenameWithoutDeletedSamples does the same after samples of both names were deleted: before, around and after
// the seam. Blocks and tiles still have the samples.
func TestBinsOverARenameWithoutDeletedSamples(t *testing.T) { readOverRenameWithoutDeleted(t, 2) }

// TestLong_BinsOverARenameWithoutDeletedSamples is the same with more seams.
func TestLong_BinsOverARenameWithoutDeletedSamples(t *testing.T) { readOverRenameWithoutDeleted(t, 4) }

func readOverRenameWithoutDeleted(t *testing.T, seams int) {
	p := newRenamedPV(t)
	at := func(d time.Duration) int64 { return start + int64(d) }
	deleted := map[string]store.Mask{
		"OLD":   {{From: at(-4 * time.Hour), To: at(-3*time.Hour + 7*time.Second)}, {From: at(-5 * time.Minute), To: at(30 * time.Minute)}},
		drawnPV: {{From: at(10 * time.Minute), To: at(70*time.Minute + 1)}, {From: at(3 * time.Hour), To: at(4*time.Hour - 1)}},
	}
	for name, ranges := range deleted {
		for _, d := range ranges {
			p.check(p.st.AddChannel(t.Context(), store.Channel{PV: name, Deleted: []store.Deleted{{From: d.From, To: d.To}}}))
		}
	}
	for seam := range p.seams(seams) {
		p.compare(seam, deleted)
	}
}

const renamedSpan = 6 * time.Hour

// renamedPV is a PV whose record still exists after the rename.
type renamedPV struct {
	*wave
	t        *testing.T
	st       *pebble.Store
	counting *countingStore
}

func newRenamedPV(t *testing.T) *renamedPV {
	st := openPebble(t)
	old := &wave{TB: t, st: st, bytes: map[store.Level]int{}, pv: "OLD", from: start - int64(renamedSpan) + 300}
	old.fill(renamedSpan + 2*time.Hour)
	p := &renamedPV{&wave{TB: t, st: st, bytes: map[store.Level]int{}}, t, st, &countingStore{st, map[string]int{}}}
	p.fill(renamedSpan)
	writeNames(t, st, names.Fact{PV: drawnPV, Former: []string{"OLD"}})
	return p
}

// reader returns a new reader. Readers keep seams for minutes.
func (p *renamedPV) reader() *query.Reader {
	return query.Named(&query.Reader{Store: p.counting, Shards: shards}, names.NewBook(p.st, nil))
}

// seams yields the last seams of a list after it has marked them, from the last to the first in time, because the first
// mark counts.
func (p *renamedPV) seams(n int) iter.Seq[time.Duration] {
	all := []time.Duration{0, 20 * time.Second, time.Hour + 5500*time.Millisecond, -90 * time.Second}[4-n:]
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return func(yield func(time.Duration) bool) {
		for i, seam := range all {
			p.check(p.st.PutMarks(p.t.Context(), store.PVMark{PV: drawnPV, Writer: store.WriterID{byte(i + 1)}, Mark: sample.Mark{Time: start + int64(seam), Kind: sample.Connected}}))
			if !yield(seam) {
				return
			}
		}
	}
}

// visible returns the samples that a reader must see by the present name.
func (p *renamedPV) visible(seam time.Duration, deleted map[string]store.Mask) map[int64]string {
	want := map[int64]string{}
	for _, pv := range []string{"OLD", drawnPV} {
		for at, value := range samplesOf(p.t, &query.Reader{Store: withoutDeleted{p.st}, Shards: shards}, pv, start-2*int64(renamedSpan), start+2*int64(renamedSpan)) {
			if (pv == drawnPV || at < start+int64(seam)) && !deleted[pv].Hides(at) {
				want[at] = value
			}
		}
	}
	return want
}

// withoutDeleted is a store that does not know which samples are deleted.
type withoutDeleted struct{ store.Store }

func (s withoutDeleted) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	c, found, err := s.Store.Channel(ctx, pv)
	c.Deleted = nil
	return c, found, err
}

// compare compares samples, bins and their number with what must be visible.
func (p *renamedPV) compare(seam time.Duration, deleted map[string]store.Mask) {
	const span = renamedSpan
	t, r, want := p.t, p.reader(), p.visible(seam, deleted)
	got := samplesOf(t, r, drawnPV, start-2*int64(span), start+2*int64(span))
	if len(got) != len(want) {
		t.Fatalf("seam %v: %d samples, want %d", seam, len(got), len(want))
	}
	for at, value := range want {
		if got[at] != value {
			t.Fatalf("seam %v: the sample at %v is %s, want %s", seam, time.Duration(at-start), got[at], value)
		}
	}
	for _, opts := range []struct {
		from, to time.Duration
		points   int
	}{{-span, span, 40}, {-span, span, 700}, {-time.Hour, time.Hour, 1000}, {-5 * time.Minute, 2 * span, 10}, {2 * time.Hour, span, 100}, {-span, -time.Hour, 50}, {65 * time.Minute, 2 * time.Hour, 100}, {68 * time.Minute, 3 * time.Hour, 5}} {
		compareBins(p.wave, r, fmt.Sprint("seam ", seam, ", range ", opts), start+int64(opts.from), start+int64(opts.to), opts.points)
	}
	times := slices.Sorted(maps.Keys(want))
	for _, at := range []time.Duration{-210 * time.Minute, -3 * time.Minute, time.Minute, 20 * time.Minute, 65 * time.Minute, 69 * time.Minute, 200 * time.Minute} {
		last, err := r.LastAt(t.Context(), drawnPV, start+int64(at))
		i, _ := slices.BinarySearch(times, start+int64(at)+1)
		if err != nil || last.Run == nil || last.Run.Times[0] != times[i-1] {
			t.Errorf("seam %v: the last sample at %v is %+v, %v; want the one at %v", seam, at, last.Run, err, time.Duration(times[i-1]-start))
		}
	}
	n, err := r.Count(t.Context(), drawnPV, start-2*int64(span), start+int64(span), nil)
	if err != nil || !n.Stored || n.N != uint64(len(want)) {
		t.Errorf("seam %v: counted %+v, %v, want %d", seam, n, err, len(want))
	}
}

// samplesOf returns the samples of a PV by time, and fails if they are not sorted, or one is there twice.
func samplesOf(t *testing.T, r *query.Reader, pv string, from, to int64) map[int64]string {
	t.Helper()
	read, err := r.Read(t.Context(), pv, from, to, query.Options{Inside: true})
	if err != nil {
		t.Fatalf("reading %s: %v", pv, err)
	}
	all, last := map[int64]string{}, int64(math.MinInt64)
	for run, err := range read.All {
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Len() {
			s := run.At(i)
			if s.Time <= last {
				t.Fatalf("%s: a sample at %d follows one at %d", pv, s.Time, last)
			}
			last = s.Time
			all[s.Time] = fmt.Sprint(run.Type, s.Word, s.Tag)
		}
	}
	return all
}

// rig is an archive of a few PVs with samples at whole seconds.
type rig struct {
	*testing.T
	st *pebble.Store
	n  uint32
}

// add adds samples of a PV, with their time in seconds as value, and the mark of its first connection unless that is 0.
func (r *rig) add(pv string, connected int64, seconds ...int64) {
	r.Helper()
	run := &sample.Run{Type: sample.Float64}
	for _, s := range seconds {
		run.Append(&sample.Sample{Time: s * 1e9, Word: math.Float64bits(float64(s))})
	}
	r.n++
	bucket := store.Year.Of(run.Times[0])
	if err := cmp.Or(
		r.st.AddChannel(r.Context(), store.Channel{PV: pv, Types: []sample.Type{run.Type}, Starts: []store.Bucket{bucket}}),
		r.st.PutBlocks(r.Context(), store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: bucket, Start: run.Times[0], Writer: store.WriterID{1}, N: r.n},
			End:      run.Times[run.Len()-1], Count: run.Len(), Type: run.Type, Blob: block.Append(nil, run),
		}),
	); err != nil {
		r.Fatal(err)
	}
	if connected != 0 {
		r.mark(pv, connected, sample.Connected)
		if err := r.st.PutMetadata(r.Context(), store.PVMetadata{PV: pv, Time: connected * 1e9, Metadata: sample.Metadata{Type: run.Type, Units: "unit of " + pv}}); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *rig) mark(pv string, at int64, kind sample.MarkKind) {
	r.Helper()
	if err := r.st.PutMarks(r.Context(), store.PVMark{PV: pv, Writer: store.WriterID{1}, Mark: sample.Mark{Time: at * 1e9, Kind: kind}}); err != nil {
		r.Fatal(err)
	}
}

// read returns the seconds of the samples in a range, the last one before it first.
func (r *rig) read(q *query.Reader, pv string, from, to int64) (seconds []int64) {
	r.Helper()
	read, err := q.Read(r.Context(), pv, from*1e9, to*1e9, query.Options{})
	if err != nil {
		r.Fatalf("reading %s: %v", pv, err)
	}
	for run, err := range read.All {
		if err != nil {
			r.Fatal(err)
		}
		for _, at := range run.Times {
			seconds = append(seconds, at/1e9)
		}
	}
	return seconds
}

// TestNamesOverTime reads PVs by all their names.
func TestNamesOverTime(t *testing.T) {
	a := &rig{T: t, st: openPebble(t)}
	a.add("A", 10, 11, 15, 25, 95)          // its record came back later
	a.add("B", 20, 19, 22, 25, 35)          // the first value is older than the connection
	a.add("C", 30, 30, 35, 40)              // the present name
	a.add("LONELY", 10, 12)                 // never renamed
	a.add("IMPORTED", 0, 2, 4)              // never connected here
	a.mark("B", 29, sample.Disconnected)    // when the IOC was restarted
	a.mark("C", 5, sample.Searching)        // the group was edited before
	a.mark("WAITING", 41, sample.Searching) // not renamed at the IOC yet
	book := writeNames(t, a.st,
		names.Fact{PV: "C", Former: []string{"B"}, Aliases: []string{"ALIAS"}}, names.Fact{PV: "B", Former: []string{"A", "IMPORTED"}},
		names.Fact{PV: "WAITING", Former: []string{"LONELY"}}, names.Fact{PV: "FLAT", Former: []string{"A", "B"}}, names.Fact{PV: "NOTHING", Former: []string{"NOBODY"}})
	q := query.Named(&query.Reader{Store: a.st, Shards: shards}, book)
	for _, c := range []struct {
		pv       string
		from, to int64
		want     string
	}{
		{"C", 0, 100, "2 4 11 15 19 22 25 30 35 40"},
		{"ALIAS", 0, 100, "2 4 11 15 19 22 25 30 35 40"},
		{"ca://ALIAS.VAL", 0, 100, "2 4 11 15 19 22 25 30 35 40"},
		{"C", 20, 24, "19 22"}, {"C", 28, 32, "25 30"}, {"C", 35, 35, "35"}, {"C", 31, 33, "30"}, {"C", 16, 17, "15"},
		{"B", 0, 100, "2 4 11 15 19 22 25 35"}, // a former name has its own samples, and those of its former names
		{"A", 0, 100, "11 15 25 95"},
		{"WAITING", 0, 100, "12"}, // known by its former name
		{"FLAT", 0, 100, "2 4 11 15 19 22 25 35"},
	} {
		if got := strings.Trim(fmt.Sprint(a.read(q, c.pv, c.from, c.to)), "[]"); got != c.want {
			t.Errorf("%s from %d to %d: %s, want %s", c.pv, c.from, c.to, got, c.want)
		}
	}
	if _, err := q.Read(t.Context(), "NOTHING", 0, 1, query.Options{}); !errors.Is(err, query.ErrUnknownPV) {
		t.Errorf("a PV without data has the error %v", err)
	}
	if _, err := q.Bins(t.Context(), "NOTHING", 0, 1, 1, query.BinOptions{}); !errors.Is(err, query.ErrUnknownPV) {
		t.Errorf("the bins of a PV without data have the error %v", err)
	}
	last, err := q.LastAt(t.Context(), "C", 29e9)
	if err != nil || last.Run == nil || last.Run.Times[0] != 25e9 {
		t.Errorf("the last sample is %+v, %v", last, err)
	}
	for at, want := range map[int64]string{5: "unit of A", 12: "unit of A", 25: "unit of B", 50: "unit of C"} {
		if m, found, err := q.Metadata(t.Context(), "ALIAS", at*1e9); err != nil || !found || m.Units != want {
			t.Errorf("at %d, the unit is %q (%v), want %q", at, m.Units, err, want)
		}
	}
	var units []string
	for m, err := range q.MetadataHistory(t.Context(), "C", 0, 100e9) {
		if units = append(units, m.Units); err != nil || m.PV != "C" {
			t.Errorf("the metadata are %+v, %v", m, err)
		}
	}
	if want := []string{"unit of A", "unit of B", "unit of C"}; !slices.Equal(units, want) {
		t.Errorf("units are %q, want %q", units, want)
	}
	var marks []string
	for m, err := range q.Marks(t.Context(), "C", 0, 100e9) {
		if marks = append(marks, fmt.Sprint(m.Kind, " ", m.Time/1e9)); err != nil || m.PV != "C" {
			t.Errorf("a mark is %+v, %v", m, err)
		}
	}
	if want := []string{"connected 10", "connected 20", "disconnected 29", "connected 30"}; !slices.Equal(marks, want) {
		t.Errorf("marks are %q, want %q", marks, want)
	}
	if m, _, err := q.StateMark(t.Context(), "C", 29e9); err != nil || m.Kind != sample.Disconnected {
		t.Errorf("the state mark is %+v, %v", m, err)
	}
	if u, err := q.Unknowns(t.Context(), "C", 0, 100e9); err != nil || len(u) != 1 || u[0].From != 29e9 || u[0].To != 30e9 {
		t.Errorf("unknown times are %+v, %v", u, err)
	}
	for pattern, want := range map[string]string{"A": "A B C FLAT", "ALIAS": "ALIAS", "LONELY": "LONELY WAITING", "C": "C"} {
		got, err := q.Names(t.Context(), func(pv string) bool { return pv == pattern }, -1)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("a search for %s finds %q (%v), want %q", pattern, got, err, want)
		}
	}
}

// TestARenamedPVWithoutAValueForLong reads a PV that got its first value long after it was connected. Before that, the PV holds
// the last value of its former name, unless values since then may have expired.
func TestARenamedPVWithoutAValueForLong(t *testing.T) {
	a := &rig{T: t, st: openPebble(t)}
	a.add("OLD", 10, 11, 15)
	a.add("NEW", 100, 1000, 1010)
	a.add("MUTE", 0, 1)
	a.mark("MUTE", 100, sample.Connected)
	a.mark("NEVER", 100, sample.Connected)
	book := writeNames(t, a.st, names.Fact{PV: "NEW", Former: []string{"OLD"}}, names.Fact{PV: "NEVER", Former: []string{"OLD"}}, names.Fact{PV: "MUTE", Former: []string{"OLD"}})
	q := query.Named(&query.Reader{Store: a.st, Shards: shards, Now: func() int64 { return 5000e9 }}, book)
	for _, c := range []struct {
		pv       string
		from, to int64
		want     string
	}{
		{"NEW", 500, 600, "15"}, {"NEW", 500, 1005, "15 1000"}, {"NEW", 1000, 1010, "1000 1010"}, {"NEW", 1005, 1010, "1000 1010"},
		{"NEVER", 500, 600, "15"}, {"MUTE", 500, 600, "1"},
	} {
		if got := strings.Trim(fmt.Sprint(a.read(q, c.pv, c.from, c.to)), "[]"); got != c.want {
			t.Errorf("%s from %d to %d: %s, want %s", c.pv, c.from, c.to, got, c.want)
		}
	}
	firstBin := func(pv string) float64 {
		bins, err := q.Bins(t.Context(), pv, 500e9, 900e9, 4, query.BinOptions{Empty: true})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range bins.All {
			if err != nil {
				t.Fatal(err)
			}
			return b.Mean
		}
		return math.NaN()
	}
	if got := firstBin("NEW"); got != 15 {
		t.Errorf("the first bin has the mean %v, want 15", got)
	}
	if err := a.st.AddChannel(t.Context(), store.Channel{PV: "NEW", Starts: []store.Bucket{store.Hour.Of(200e9).In(store.Keep1d)}}); err != nil {
		t.Fatal(err)
	}
	q = query.Named(&query.Reader{Store: a.st, Shards: shards, Now: func() int64 { return 500_000e9 }}, book)
	if got := a.read(q, "NEW", 100_000, 100_001); !slices.Equal(got, []int64{1010}) {
		t.Errorf("later, the PV has the value of %v", got)
	}
	if got := a.read(q, "NEW", 500, 600); len(got) > 0 {
		t.Errorf("after values may have expired, the PV has the value of %v", got)
	}
}

// TestHiddenFormerNamesDoNotLeak reads a PV of which the reader may not know a former name, or an alias.
func TestHiddenFormerNamesDoNotLeak(t *testing.T) {
	a := &rig{T: t, st: openPebble(t)}
	a.add("SECRET:OLD", 10, 11)
	a.add("NEW", 20, 21)
	a.add("SECRET:NEW", 20, 23)
	book := writeNames(t, a.st, names.Fact{PV: "NEW", Former: []string{"SECRET:OLD"}, Aliases: []string{"SECRET:ALIAS", "OPEN"}},
		names.Fact{PV: "SECRET:NEW", Aliases: []string{"DOOR"}})
	q := query.Named(&query.Reader{Store: a.st, Shards: shards, Visible: func(_ context.Context, pv string) bool { return !strings.HasPrefix(pv, "SECRET") }}, book)
	if got := a.read(q, "NEW", 0, 100); !slices.Equal(got, []int64{21}) {
		t.Errorf("NEW has %v", got)
	}
	if got := a.read(q, "OPEN", 0, 100); !slices.Equal(got, []int64{21}) {
		t.Errorf("OPEN has %v", got)
	}
	f, err := q.OtherNames(t.Context(), "NEW")
	if err != nil || len(f.Former) > 0 || !slices.Equal(f.Aliases, []string{"OPEN"}) {
		t.Errorf("other names are %+v, %v", f, err)
	}
	for _, pv := range []string{"DOOR", "SECRET:ALIAS"} {
		if known, err := q.Known(t.Context(), pv); known || err != nil {
			t.Errorf("%s is known: %v", pv, err)
		}
		if f, err := q.OtherNames(t.Context(), pv); err != nil || f.PV != pv {
			t.Errorf("%s is an alias: %+v, %v", pv, f, err)
		}
	}
	found, err := q.Names(t.Context(), func(pv string) bool { return strings.Contains(pv, "SECRET") || pv == "DOOR" }, -1)
	if err != nil || slices.Contains(found, "NEW") || slices.Contains(found, "DOOR") || slices.Contains(found, "SECRET:ALIAS") {
		t.Errorf("a search finds %q, %v", found, err)
	}
}

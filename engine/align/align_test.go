package align

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	second = int64(1e9)
	base   = 20454 * 86400 * second // 2026-01-01
)

// archive is a store that a test fills.
type archive struct {
	*testing.T
	st     store.Store
	reader *query.Reader
	rng    *rand.Rand
}

func newArchive(t *testing.T, seed uint64) *archive {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &archive{t, st, &query.Reader{Store: st, Shards: 4, Now: func() int64 { return base + 1e6*second }}, rand.New(rand.NewPCG(seed, 1))}
}

func (a *archive) check(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// put stores a block of samples of one type.
func (a *archive) put(pv string, n uint32, r *sample.Run) {
	a.Helper()
	r.Normalize()
	b := store.Year.Of(r.Times[0])
	a.check(a.st.AddChannel(context.Background(), store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{r.Type}, Starts: []store.Bucket{b}}))
	a.check(a.st.PutBlocks(context.Background(), store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: r.Times[0], Writer: store.WriterID{1}, N: n},
		End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
	}))
}

func (a *archive) mark(pv string, m sample.Mark) {
	a.check(a.st.PutMarks(context.Background(), store.PVMark{PV: pv, Writer: store.WriterID{1}, Mark: m}))
}

// random returns n samples in a minute: some of equal time, some NaN, infinite or undefined.
func (a *archive) random(t sample.Type, n int) *sample.Run {
	r := &sample.Run{Type: t}
	for range n {
		s := sample.Sample{Time: base + a.rng.Int64N(120)*second/2}
		switch v := a.rng.IntN(20); {
		case t == sample.String:
			s.Bytes = fmt.Appendf(nil, "text %d", v)
		case t != sample.Float64:
			s.Word = uint64(v)
		case v == 0:
			s.Word = math.Float64bits(math.NaN())
		case v == 1:
			s.Word = math.Float64bits(math.Inf(1))
		default:
			s.Word = math.Float64bits(float64(v) / 4)
		}
		if a.rng.IntN(20) == 0 {
			s.Tag = sample.MakeTag(sample.Invalid, 17)
		}
		r.Append(&s)
	}
	return r
}

// fill stores random samples of PVs of all kinds, and gaps of the numbers.
func (a *archive) fill() (pvs []string) {
	for i, t := range []sample.Type{sample.Float64, sample.Float64, sample.Enum, sample.String, sample.Int32} {
		pv := fmt.Sprintf("PV:%d", i)
		pvs = append(pvs, pv)
		for n := range uint32(1 + a.rng.IntN(3)) {
			a.put(pv, n, a.random(t, 1+a.rng.IntN(30)))
		}
		for at := base; at < base+60*second; at += second/3 + a.rng.Int64N(20*second) {
			a.mark(pv, sample.Mark{Time: at, Kind: sample.Disconnected})
			at += second/3 + a.rng.Int64N(5*second)
			a.mark(pv, sample.Mark{Time: at, Kind: sample.Connected})
		}
		if a.rng.IntN(2) == 0 {
			at := base + a.rng.Int64N(60*second)
			a.mark(pv, sample.Mark{Time: at, End: at + a.rng.Int64N(10*second), Kind: sample.Lost, Reason: sample.Overrun, Count: 3})
		}
	}
	a.put("PV:0", 9, a.random(sample.String, 5)) // the type changes
	return pvs
}

// rows returns a table as text, a line for each row.
func (a *archive) rows(pvs []string, o Options) (lines []string) {
	a.Helper()
	t, err := Open(a.Context(), a.reader, pvs, o)
	a.check(err)
	for s, err := range t.All(a.Context()) {
		a.check(err)
		for i, at := range s.Times {
			line := fmt.Sprint(at - base)
			for _, v := range s.Columns {
				switch {
				case !v.Has[i]:
					line += " -"
				case v.Texts != nil:
					line += fmt.Sprintf(" %q", v.Texts[i])
				default:
					line += fmt.Sprint(" ", v.Numbers[i])
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func (a *archive) options(f Fill) Options {
	from := base - 5*second + a.rng.Int64N(40*second)
	return Options{From: from, To: from + a.rng.Int64N(60*second), Step: (1 + a.rng.Int64N(20)) * second / 4, Now: base + 3600*second, Fill: f}
}

// TestLastEqualsTheLastSampleAtEachTime compares a table with what getDataAtTime reads.
func TestLastEqualsTheLastSampleAtEachTime(t *testing.T) { compareLast(t, 8) }

// TestLong_LastEqualsTheLastSampleAtEachTime is TestLastEqualsTheLastSampleAtEachTime with more seeds.
func TestLong_LastEqualsTheLastSampleAtEachTime(t *testing.T) { compareLast(t, 30) }

func compareLast(t *testing.T, seeds uint64) {
	for seed := range seeds {
		a := newArchive(t, seed)
		pvs, o := a.fill(), a.options(Last)
		table, err := Open(t.Context(), a.reader, pvs, o)
		a.check(err)
		n := 0
		for s, err := range table.All(t.Context()) {
			a.check(err)
			for i, at := range s.Times {
				if at%o.Step != 0 || at < o.From || at > o.To {
					t.Fatalf("seed %d: a row is at %d, step %d, range %d to %d", seed, at, o.Step, o.From, o.To)
				}
				for c := range s.Columns {
					last, err := a.reader.LastAt(t.Context(), pvs[c], at)
					a.check(err)
					a.compare(seed, &table.Columns[c], &s.Columns[c], i, last.Run)
				}
				n++
			}
		}
		if want := rollup.Floor(o.To, o.Step)/o.Step - rollup.Floor(o.From-1, o.Step)/o.Step; int64(n) != want {
			t.Errorf("seed %d: the table has %d rows, want %d", seed, n, want)
		}
	}
}

func (a *archive) compare(seed uint64, c *Column, v *Values, i int, last *sample.Run) {
	a.Helper()
	switch has := last != nil && rollup.KindOf(last.Type) == c.Kind; {
	case v.Has[i] != has:
		a.Fatalf("seed %d: row %d of %s has a value: %v, but a read at this time: %v", seed, i, c.PV, v.Has[i], has)
	case !has:
	case c.Kind == rollup.Text && v.Texts[i] != string(last.Value(0)),
		c.Kind != rollup.Text && math.Float64bits(v.Numbers[i]) != math.Float64bits(last.Float(0)):
		a.Fatalf("seed %d: row %d of %s is not the last sample", seed, i, c.PV)
	}
}

// TestSplitRangesHaveTheSameRows checks that a range split at any time gives the rows of the whole,
// unless the type of a PV changes.
func TestSplitRangesHaveTheSameRows(t *testing.T) { splitRanges(t, 8) }

// TestLong_SplitRangesHaveTheSameRows is TestSplitRangesHaveTheSameRows with more seeds.
func TestLong_SplitRangesHaveTheSameRows(t *testing.T) { splitRanges(t, 30) }

func splitRanges(t *testing.T, seeds uint64) {
	for seed := range seeds {
		a := newArchive(t, seed)
		pvs := a.fill()
		for f, columns := range map[Fill][]string{Last: pvs[1:], Mean: pvs[1:2], Linear: {pvs[1], pvs[4]}} {
			o := a.options(f)
			whole := a.rows(columns, o)
			left, right := o, o
			left.To = o.From + a.rng.Int64N(o.To-o.From+1)
			right.From = left.To + 1
			if parts := append(a.rows(columns, left), a.rows(columns, right)...); strings.Join(parts, "\n") != strings.Join(whole, "\n") {
				t.Fatalf("seed %d: %s: the parts are\n%s\nand the whole is\n%s", seed, f, strings.Join(parts, "\n"), strings.Join(whole, "\n"))
			}
		}
	}
}

// TestMeanEqualsTheBins compares means with bins that are computed from samples, from rollups too.
func TestMeanEqualsTheBins(t *testing.T) { compareMeans(t, 6) }

// TestLong_MeanEqualsTheBins is TestMeanEqualsTheBins with more seeds.
func TestLong_MeanEqualsTheBins(t *testing.T) { compareMeans(t, 20) }

func compareMeans(t *testing.T, seeds uint64) {
	for seed := range seeds {
		a := newArchive(t, seed)
		a.put("A", 1, a.random(sample.Float64, 40))
		o := a.options(Mean)
		o.Step = []int64{second, 2 * second, 3 * second / 2}[seed%3]
		all, err := a.reader.Read(t.Context(), "A", base-100*second, base+100*second, query.Options{})
		a.check(err)
		acc := rollup.NewAccumulator(o.Step)
		stored := rollup.NewAccumulator(second)
		var bins, fine []rollup.Bin
		for r, err := range all.All {
			a.check(err)
			bins = acc.Add(bins, r, 0, r.Len())
			fine = stored.Add(fine, r, 0, r.Len())
		}
		bins = acc.Close(bins, math.MaxInt64)
		a.tiles("A", store.LevelOf(1e9, store.Forever), stored.Close(fine, math.MaxInt64))
		a.meansEqual(seed, o, bins)
	}
}

// tiles stores rollups.
func (a *archive) tiles(pv string, l store.Level, bins []rollup.Bin) {
	a.check(a.st.AddChannel(context.Background(), store.Channel{PV: pv, Levels: []store.Level{l}}))
	for len(bins) > 0 {
		t := rollup.Tile{Level: l, Tile: l.Tile(bins[0].Start)}
		t.Since, t.Through = t.Start(), t.End()
		n := 0
		for n < len(bins) && bins[n].Start < t.End() {
			n++
		}
		t.Bins, bins = bins[:n], bins[n:]
		a.check(a.st.PutRollups(context.Background(), store.Rollup{PV: pv, Level: l, Tile: t.Tile, Stamp: 1, Blob: rollup.Append(nil, &t)}))
	}
}

func (a *archive) meansEqual(seed uint64, o Options, bins []rollup.Bin) {
	a.Helper()
	table, err := Open(a.Context(), a.reader, []string{"A"}, o)
	a.check(err)
	for s, err := range table.All(a.Context()) {
		a.check(err)
		for i, at := range s.Times {
			want := math.NaN()
			for k := range bins {
				if b := &bins[k]; b.Start == at {
					want = b.Mean
				} else if b.Start < at {
					held := b.Next(at, o.Step)
					want = held.Mean
				}
			}
			v := s.Columns[0]
			if v.Has[i] == math.IsNaN(want) || v.Has[i] && math.Abs(v.Numbers[i]-want) > 1e-4 {
				a.Fatalf("seed %d: the mean at %d is %v (%v), want %v", seed, at-base, v.Numbers[i], v.Has[i], want)
			}
		}
	}
}

// TestLinear checks interpolation by hand: between samples, at a sample, across a gap, a loss and
// NaN, and after the last sample.
func TestLinear(t *testing.T) {
	a := newArchive(t, 1)
	r := &sample.Run{Type: sample.Float64}
	for _, s := range []struct{ at, v float64 }{{0, 10}, {4, 14}, {8, 18}, {12, math.NaN()}, {16, 26}, {20, 30}, {24, 34}, {28, 38}} {
		r.Append(&sample.Sample{Time: base + int64(s.at)*second, Word: math.Float64bits(s.v)})
	}
	a.put("A", 1, r)
	a.mark("A", sample.Mark{Time: base - 3600*second, Kind: sample.Connected})
	a.mark("A", sample.Mark{Time: base + 5*second, Kind: sample.Disconnected})
	a.mark("A", sample.Mark{Time: base + 6*second, Kind: sample.Connected})
	a.mark("A", sample.Mark{Time: base + 21*second, End: base + 22*second, Kind: sample.Lost, Reason: sample.Overrun, Count: 1})
	o := Options{From: base - 2*second, To: base + 30*second, Step: 2 * second, Now: base + 3600*second, Fill: Linear}
	want := []string{"-2 -", "0 10", "2 12", "4 14", "6 -", "8 18", "10 -", "12 NaN", "14 -", "16 26", "18 28", "20 30", "22 -", "24 34", "26 36", "28 38", "30 -"}
	for i, w := range want {
		at, v, _ := strings.Cut(w, " ")
		if at != "0" {
			at += "000000000"
		}
		want[i] = at + " " + v
	}
	if got := a.rows([]string{"A"}, o); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the rows are %s, want %s", got, want)
	}
	o.From, o.To = base+25*second, base+26*second // both neighbours are outside of the range
	if got := a.rows([]string{"A"}, o); len(got) != 1 || got[0] != "26000000000 36" {
		t.Errorf("the row is %s", got)
	}
}

// TestNoRowsInTheFuture checks that a table ends at the present.
func TestNoRowsInTheFuture(t *testing.T) {
	a := newArchive(t, 1)
	a.put("A", 1, a.random(sample.Float64, 10))
	got := a.rows([]string{"A"}, Options{From: base, To: base + 3600*second, Step: second, Now: base + 5*second})
	if len(got) != 6 {
		t.Errorf("there are %d rows", len(got))
	}
}

// TestRefusedColumns checks what cannot be aligned, and that the error names the PV and what to do.
func TestRefusedColumns(t *testing.T) {
	a := newArchive(t, 1)
	pvs := a.fill()
	w := &sample.Run{Type: sample.Float64.Array()}
	w.Append(&sample.Sample{Time: base, Bytes: make([]byte, 80)})
	a.put("WAVE", 1, w)
	for _, c := range []struct {
		pv   string
		fill Fill
		says string
	}{
		{"WAVE", Last, "WAVE has values of type float64[]"}, {pvs[2], Mean, "PV:2 has values of type enum; mean needs numbers, use last"},
		{pvs[3], Linear, "PV:3 has values of type string; linear needs numbers"},
	} {
		o := a.options(c.fill)
		o.To = base + 100*second
		_, err := Open(t.Context(), a.reader, []string{pvs[1], c.pv}, o)
		if refused := (RefusedError{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %s: %v", c.pv, c.fill, err)
		}
	}
	if _, err := Open(t.Context(), a.reader, []string{pvs[1], "NONE"}, a.options(Last)); !errors.Is(err, query.ErrUnknownPV) || !strings.Contains(err.Error(), "NONE") {
		t.Errorf("an unknown PV: %v", err)
	}
	if _, err := Open(t.Context(), a.reader, pvs[1:2], Options{From: base, To: base + 1e9*second, Now: base + 1e9*second, Step: 1e6}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many rows: %v", err)
	}
}

// TestSlabsAreBounded checks that a long table with long texts comes in parts that fit in memory,
// and has all rows.
func TestSlabsAreBounded(t *testing.T) {
	a := newArchive(t, 1)
	r := &sample.Run{Type: sample.String}
	for i := range int64(40) {
		r.Append(&sample.Sample{Time: base + i*second, Bytes: []byte(strings.Repeat(string(rune('a'+i%26)), 1<<20))})
	}
	a.put("TEXT", 1, r)
	a.put("A", 1, a.random(sample.Float64, 10))
	table, err := Open(t.Context(), a.reader, []string{"TEXT", "A"}, Options{From: base, To: base + 999999*second, Step: second, Now: base + 1e8*second})
	a.check(err)
	rows := int64(0)
	for s, err := range table.All(t.Context()) {
		a.check(err)
		bytes := 0
		for i, text := range s.Columns[0].Texts {
			if i == 0 || text != s.Columns[0].Texts[i-1] {
				bytes += len(text)
			}
			if k := min(rows+int64(i), 39); text == "" || text[0] != byte('a'+k%26) {
				t.Fatalf("row %d begins with %.1q", rows+int64(i), text)
			}
		}
		if bytes > slabText+2<<20 || 2*len(s.Times) > slabCells {
			t.Fatalf("a slab has %d rows with %d bytes of texts", len(s.Times), bytes)
		}
		rows += int64(len(s.Times))
	}
	if rows != 1e6 {
		t.Errorf("the table has %d rows", rows)
	}
}

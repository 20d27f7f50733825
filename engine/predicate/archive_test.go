package predicate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

const (
	second = int64(1e9)
	base   = 20454 * 86400 * second // 2026-01-01
	length = 300 * second           // of the samples of a test
)

// archive is a store that a test fills, and what is in it.
type archive struct {
	*testing.T
	st      store.Store
	reader  *query.Reader
	rng     *rand.Rand
	samples map[string][]typed // by time
	marks   map[string][]sample.Mark
}

type typed struct {
	t sample.Type
	sample.Sample
}

func newArchive(t *testing.T, seed uint64) *archive {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &archive{
		T: t, st: st, reader: &query.Reader{Store: st, Shards: 4, Now: func() int64 { return base + 1e6*second }}, rng: rand.New(rand.NewPCG(seed, 1)),
		samples: map[string][]typed{}, marks: map[string][]sample.Mark{},
	}
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
	b := store.Hour.Of(r.Times[0])
	a.check(a.st.AddChannel(context.Background(), store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{r.Type}, Starts: []store.Bucket{b}}))
	a.check(a.st.PutBlocks(context.Background(), store.Block{
		BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: r.Times[0], Writer: store.WriterID{1}, N: n},
		End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
	}))
	for i := range r.Len() {
		s := r.At(i)
		s.Bytes = slices.Clone(s.Bytes)
		a.samples[pv] = append(a.samples[pv], typed{r.Type, s})
	}
	slices.SortStableFunc(a.samples[pv], func(x, y typed) int { return cmp.Compare(x.Time, y.Time) })
}

func (a *archive) mark(pv string, m sample.Mark) {
	a.check(a.st.PutMarks(context.Background(), store.PVMark{PV: pv, Writer: store.WriterID{1}, Mark: m}))
	a.marks[pv] = append(a.marks[pv], m)
	slices.SortStableFunc(a.marks[pv], func(x, y sample.Mark) int { return cmp.Compare(x.Time, y.Time) })
}

// fill stores random samples of some PVs, some of one time, some NaN, infinite or undefined, with
// gaps and losses between them.
func (a *archive) fill() {
	for k, t := range map[string]sample.Type{"A": sample.Float64, "B": sample.Float64, "E": sample.Enum, "S": sample.String} {
		level, same := a.rng.IntN(10), a.rng.IntN(30)
		for n := range uint32(1 + a.rng.IntN(3)) {
			r := &sample.Run{Type: t}
			for range 1 + a.rng.IntN(100) {
				if same--; same < 0 {
					level, same = a.rng.IntN(10), a.rng.IntN(30)
				}
				s := sample.Sample{Time: base + a.rng.Int64N(length/second*2)*second/2, Word: uint64(level), Tag: sample.MakeTag(sample.Severity(a.rng.IntN(4)*a.rng.IntN(2)), 3)}
				switch v := a.rng.IntN(60); {
				case v == 0:
					s.Tag = sample.MakeTag(sample.Invalid, 17)
				case t == sample.Float64 && v < 4:
					s.Word = math.Float64bits([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1)}[v])
				case t == sample.Float64:
					s.Word = math.Float64bits(float64(level))
				case t == sample.String:
					s.Bytes = fmt.Append(nil, level)
				}
				r.Append(&s)
			}
			a.put(k, n, r)
		}
		for at := base - a.rng.Int64N(20)*second; at < base+length; at += a.rng.Int64N(40) * second {
			kind := []sample.MarkKind{sample.Connected, sample.Connected, sample.Disconnected, sample.Lost}[a.rng.IntN(4)]
			m := sample.Mark{Time: at, Kind: kind}
			if kind == sample.Lost {
				m.End, m.Reason, m.Count = at+a.rng.Int64N(10)*second, sample.Overrun, 1
			}
			a.mark(k, m)
			at += second / 3
		}
	}
	a.check(a.st.PutMetadata(context.Background(), store.PVMetadata{PV: "E", Time: base - length, Metadata: sample.Metadata{Labels: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}}))
}

// rollUp stores the rollups of a PV.
func (a *archive) rollUp(pv string, l store.Level) {
	read, err := a.reader.Read(a.Context(), pv, query.Earliest, query.Latest, query.Options{})
	a.check(err)
	acc := rollup.NewAccumulator(int64(l.Every()))
	var bins []rollup.Bin
	for r, err := range read.All {
		a.check(err)
		bins = acc.Add(bins, r, 0, r.Len())
	}
	bins = acc.Close(bins, math.MaxInt64)
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

// known returns whether the value of a PV is known at a time, given the time of its last sample. It
// goes through all marks, unlike a search.
func (a *archive) known(pv string, at, last int64) bool {
	disconnected := false
	for i, m := range a.marks[pv] {
		if m.Time > at {
			break
		}
		switch m.Kind {
		case sample.Connected:
			disconnected = false
		case sample.Disconnected:
			disconnected = true
		case sample.Lost:
			end := int64(math.MaxInt64)
			for _, c := range a.marks[pv][i:] {
				if c.Kind == sample.Connected {
					end = max(c.Time, m.End+1)
					break
				}
			}
			if at < end && last <= max(m.End, m.Time) {
				return false
			}
		}
	}
	return !disconnected
}

// at returns the last sample of a PV at or before a time. Of samples of one time, it is the one with
// the greatest word, text and tag.
func (a *archive) at(pv string, t int64) (s typed, found bool) {
	for _, c := range a.samples[pv] {
		switch {
		case c.Time > t:
			return s, found
		case found && c.Time == s.Time && cmp.Or(cmp.Compare(c.Word, s.Word), cmp.Compare(string(c.Bytes), string(s.Bytes)), cmp.Compare(c.Tag, s.Tag)) < 0:
			continue
		}
		s, found = c, true
	}
	return s, found
}

func (a *archive) search(text string, from, to int64) *Search {
	a.Helper()
	p, err := Parse(text)
	a.check(err)
	s, err := p.Bind(a.Context(), a.reader, text, from, to, base+1e6*second)
	a.check(err)
	return s
}

func (a *archive) intervals(text string, from, to int64) (all []Interval) {
	a.Helper()
	for i, err := range a.search(text, from, to).Intervals(a.Context()) {
		a.check(err)
		all = append(all, i)
	}
	return all
}

func (a *archive) span() (from, to int64) {
	from = base - 10*second + a.rng.Int64N(length)
	return from, from + a.rng.Int64N(length)
}

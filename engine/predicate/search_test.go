package predicate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

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

// model is a predicate in the form of a function.
type model struct {
	text string
	eval func(t int64) State
}

// is returns the result of a condition that holds for some samples.
func (a *archive) is(pv, text string, defined bool, holds func(s *typed) bool) model {
	return model{text, func(t int64) State {
		s, found := a.at(pv, t)
		switch {
		case !found || !a.known(pv, t, s.Time),
			defined && (s.Tag == sample.MakeTag(sample.Invalid, 17) || s.t == sample.Float64 && math.IsNaN(math.Float64frombits(s.Word))):
			return Unknown
		case holds(&s):
			return True
		}
		return False
	}}
}

// condition returns a random condition.
func (a *archive) condition() model {
	c := a.rng.IntN(10)
	pv := []string{"A", "B"}[a.rng.IntN(2)]
	number := func(s *typed) float64 { return math.Float64frombits(s.Word) }
	switch a.rng.IntN(8) {
	case 0:
		return a.is("E", fmt.Sprintf("E = '%d'", c), true, func(s *typed) bool { return s.Word == uint64(c) })
	case 1:
		return a.is("E", fmt.Sprintf("E > %d", c), true, func(s *typed) bool { return s.Word > uint64(c) })
	case 2:
		return a.is("S", fmt.Sprintf("S != '%d'", c), true, func(s *typed) bool { return string(s.Bytes) != fmt.Sprint(c) })
	case 3:
		level := sample.Severity(c % 4)
		return a.is(pv, fmt.Sprintf("severity(%s) >= %s", pv, level), false, func(s *typed) bool { return s.Tag.Severity() >= level })
	case 4:
		return a.is(pv, fmt.Sprintf("%s between %d and 7", pv, c%7), true, func(s *typed) bool { return float64(c%7) <= number(s) && number(s) <= 7 })
	case 5:
		return a.is(pv, fmt.Sprintf("%s != %d", pv, c), true, func(s *typed) bool { return number(s) != float64(c) })
	case 6:
		return a.is(pv, fmt.Sprintf("%s <= %d", pv, c), true, func(s *typed) bool { return number(s) <= float64(c) })
	}
	return a.is(pv, fmt.Sprintf("%s > %d", pv, c), true, func(s *typed) bool { return number(s) > float64(c) })
}

// predicate returns a random predicate.
func (a *archive) predicate(depth int) model {
	if depth == 0 {
		return a.condition()
	}
	x, y := a.predicate(a.rng.IntN(depth)), a.predicate(a.rng.IntN(depth))
	rank := map[State]int{False: 0, Unknown: 1, True: 2}
	switch a.rng.IntN(3) {
	case 0:
		return model{"not (" + x.text + ")", func(t int64) State { return map[State]State{True: False, False: True, Unknown: Unknown}[x.eval(t)] }}
	case 1:
		return model{"(" + x.text + ") and (" + y.text + ")", func(t int64) State {
			return slices.MinFunc([]State{x.eval(t), y.eval(t)}, func(a, b State) int { return rank[a] - rank[b] })
		}}
	}
	return model{"(" + x.text + ") or (" + y.text + ")", func(t int64) State {
		return slices.MaxFunc([]State{x.eval(t), y.eval(t)}, func(a, b State) int { return rank[a] - rank[b] })
	}}
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

// TestIntervalsEqualModel compares intervals with a predicate that is evaluated on all samples and
// marks, on random data, with and without rollups.
func TestIntervalsEqualModel(t *testing.T) {
	seen := map[State]int{}
	for seed := range uint64(20) {
		a := newArchive(t, seed)
		a.fill()
		if seed%3 > 0 {
			for _, pv := range []string{"A", "B", "E", "S"}[:a.rng.IntN(5)] {
				a.rollUp(pv, store.LevelOf([]time.Duration{time.Second, 2 * time.Second}[a.rng.IntN(2)], store.Forever))
			}
		}
		for range 20 {
			m := a.predicate(a.rng.IntN(3))
			from, to := a.span()
			all := a.intervals(m.text, from, to)
			if len(all) == 0 || all[0].From != from || all[len(all)-1].To != to+1 {
				t.Fatalf("seed %d: %s in %d to %d has the intervals %v", seed, m.text, from, to, all)
			}
			for k, i := range all {
				if k > 0 && (i.From != all[k-1].To || i.State == all[k-1].State) {
					t.Fatalf("seed %d: %s: the intervals %v and %v follow each other", seed, m.text, all[k-1], i)
				}
				for _, at := range []int64{i.From, i.From + a.rng.Int64N(i.To-i.From), i.From + a.rng.Int64N(i.To-i.From), i.To - 1} {
					if want := m.eval(at); i.State != want {
						t.Fatalf("seed %d: %s is %s at %d, want %s", seed, m.text, i.State, at-base, want)
					}
				}
				seen[i.State]++
			}
		}
	}
	if min(seen[True], seen[False], seen[Unknown]) < 400 {
		t.Errorf("the tests have too few results: %v", seen)
	}
}

// TestSamplesEqualABruteForceFilter compares the samples of a PV while a predicate holds with all its
// samples, each of which is tested, and the ranges split at any time.
func TestSamplesEqualABruteForceFilter(t *testing.T) {
	total := 0
	for seed := range uint64(15) {
		a := newArchive(t, seed)
		a.fill()
		if seed%2 == 0 {
			a.rollUp("A", store.LevelOf(time.Second, store.Forever))
		}
		for range 10 {
			m, pv := a.predicate(a.rng.IntN(3)), []string{"A", "B", "E", "S"}[a.rng.IntN(4)]
			from, to := a.span()
			var want []string
			for _, s := range a.samples[pv] {
				if from <= s.Time && s.Time <= to && m.eval(s.Time) == True {
					want = append(want, brief(s.t, &s.Sample))
				}
			}
			want = slices.Compact(slices.Sorted(slices.Values(want))) // two blocks may have one sample
			total += len(want)
			if got := a.filtered(m.text, pv, from, to); strings.Join(got, "") != strings.Join(want, "") {
				t.Fatalf("seed %d: %s: the samples of %s are\n%s\nwant\n%s", seed, m.text, pv, got, want)
			}
			split := from + a.rng.Int64N(to-from+1)
			parts := append(a.filtered(m.text, pv, from, split), a.filtered(m.text, pv, split+1, to)...)
			if slices.Sort(parts); strings.Join(parts, "") != strings.Join(want, "") {
				t.Fatalf("seed %d: %s: split at %d, the samples of %s are\n%s\nwant\n%s", seed, m.text, split, pv, parts, want)
			}
		}
	}
	if total < 700 {
		t.Errorf("only %d samples were selected", total)
	}
}

func brief(t sample.Type, s *sample.Sample) string {
	return fmt.Sprintf("%d %s %x %q %x\n", s.Time-base, t, s.Word, s.Bytes, s.Tag)
}

// filtered returns the samples of a PV while a predicate holds. It checks that they are in order.
func (a *archive) filtered(text, pv string, from, to int64) (all []string) {
	a.Helper()
	var lost query.Losses
	var d Durations
	last := int64(math.MinInt64)
	s := a.search(text, from, to)
	for r, err := range s.Samples(a.Context(), pv, &lost, &d) {
		a.check(err)
		for i, at := range r.Times {
			if at < last {
				a.Fatalf("the sample at %d follows one at %d", at, last)
			}
			last = at
			one := r.At(i)
			all = append(all, brief(r.Type, &one))
		}
	}
	if d.True+d.False+d.Unknown != to+1-from {
		a.Fatalf("the durations are %+v of %d", d, to+1-from)
	}
	slices.Sort(all)
	return all
}

// counting counts the blocks that are read.
type counting struct {
	store.Store
	blocks map[string]int
}

func (c *counting) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	c.blocks[pv]++
	return c.Store.LastBlock(ctx, pv, b, at)
}

func (c *counting) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for blk, err := range c.Store.Blocks(ctx, pv, b, from, to) {
			c.blocks[pv]++
			if !yield(blk, err) {
				return
			}
		}
	}
}

// TestRollupsSaveReadingBlocks searches ten days of a PV for an hour in which it is high. Its rollups
// show where that can be. It reads few blocks, also of the PV whose samples are selected, and finds
// the same as without rollups.
func TestRollupsSaveReadingBlocks(t *testing.T) {
	a := newArchive(t, 1)
	const hours = 240
	for h := range int64(hours) {
		for _, pv := range []string{"B", "X"} {
			r := &sample.Run{Type: sample.Float64}
			for k := range int64(60) {
				v := float64(k % 7)
				if h == 100 && k >= 20 && k < 30 {
					v = 50
				}
				r.Append(&sample.Sample{Time: base + (h*60+k)*60*second, Word: math.Float64bits(v)})
			}
			a.put(pv, uint32(h), r)
		}
	}
	const text = "B > 10 and not severity(B) = INVALID"
	from, to := base, base+hours*3600*second-1
	read := func() (blocks map[string]int, all []Interval, samples []string) {
		c := &counting{a.st, map[string]int{}}
		a.reader.Store = c
		defer func() { a.reader.Store = a.st }()
		return c.blocks, a.intervals(text, from, to), a.filtered(text, "X", from, to)
	}
	allBlocks, want, wantSamples := read()
	a.rollUp("B", store.LevelOf(time.Minute, store.Forever))
	blocks, got, samples := read()
	if !slices.Equal(got, want) || !slices.Equal(samples, wantSamples) || len(got) != 3 || len(samples) != 10 {
		t.Errorf("with rollups there are %v and %d samples, want %v and %d", got, len(samples), want, len(wantSamples))
	}
	if allBlocks["B"] < 2*hours || blocks["B"] > 40 || blocks["X"] > 20 {
		t.Errorf("%v blocks were read, and %v without rollups", blocks, allBlocks)
	}
}

// TestLagIsUnknown checks that a search knows nothing after the time until which samples are complete.
func TestLagIsUnknown(t *testing.T) {
	a := newArchive(t, 1)
	r := &sample.Run{Type: sample.Float64}
	r.Append(&sample.Sample{Time: base, Word: math.Float64bits(1)})
	a.put("A", 1, r)
	for shard := range 4 {
		a.check(a.st.PutClaim(t.Context(), store.Claim{Shard: shard, Writer: store.WriterID{1}, Since: base, Saved: base + 10*second}))
	}
	a.reader.Recent = unanswered{}
	s := a.search("A > 0", base, base+20*second)
	var got []Interval
	for i, err := range s.Intervals(t.Context()) {
		a.check(err)
		got = append(got, i)
	}
	if want := []Interval{{base, base + 10*second, True}, {base + 10*second, base + 20*second + 1, Unknown}}; !slices.Equal(got, want) || s.CompleteUntil() != base+10*second {
		t.Errorf("the intervals are %v, complete until %d", got, s.CompleteUntil()-base)
	}
}

// unanswered is engines that do not answer.
type unanswered struct{}

func (unanswered) Recent(context.Context, query.RecentRequest) query.Held {
	return query.Held{Unanswered: true, Shards: []int{0}}
}

// TestRefusedConditions checks conditions that do not fit the PV.
func TestRefusedConditions(t *testing.T) {
	a := newArchive(t, 1)
	a.fill()
	w := &sample.Run{Type: sample.Float64.Array()}
	w.Append(&sample.Sample{Time: base, Bytes: make([]byte, 80)})
	a.put("W", 1, w)
	a.search("severity(W) > MINOR", base, base+length)
	for text, says := range map[string]string{
		"A > 1 and W > 1": "at character 11: W has values of type float64[], which cannot be compared",
		"A = 'x'":         "at character 1: A has values of type float64, compare it with a number",
		"S > 1":           "S has values of type string, compare it with a text",
		"E = 'Open'":      "no state of E has the label 'Open'; its labels are '0', '1'",
	} {
		p, err := Parse(text)
		a.check(err)
		_, err = p.Bind(t.Context(), a.reader, text, base, base+length, base+1e6*second)
		if refused := (RefusedError{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p, err := Parse("A > 1 or NONE > 1")
	a.check(err)
	_, err = p.Bind(t.Context(), a.reader, "A > 1 or NONE > 1", base, base+length, base+1e6*second)
	if unknown := (UnknownPVError{}); !errors.As(err, &unknown) || unknown != (UnknownPVError{"NONE", 10}) {
		t.Errorf("an unknown PV: %v", err)
	}
	a.check(a.st.PutMetadata(t.Context(), store.PVMetadata{PV: "E", Time: base + 5*second, Metadata: sample.Metadata{Labels: []string{"1", "0"}}}))
	p, err = Parse("E = '1'")
	a.check(err)
	if _, err = p.Bind(t.Context(), a.reader, "E = '1'", base, base+length, base+1e6*second); err == nil || !strings.Contains(err.Error(), "names other states") {
		t.Errorf("a label that moved: %v", err)
	}
}

package predicate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

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

// TestIntervalsEqualModel compares intervals with a predicate that is evaluated on all samples and
// marks, on random data, with and without rollups.
func TestIntervalsEqualModel(t *testing.T) { compareIntervals(t, 4) }

// TestLong_IntervalsEqualModel is TestIntervalsEqualModel with more seeds.
func TestLong_IntervalsEqualModel(t *testing.T) { compareIntervals(t, 20) }

func compareIntervals(t *testing.T, seeds uint64) {
	t.Helper()
	seen := map[State]int{}
	for seed := range seeds {
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
	if min(seen[True], seen[False], seen[Unknown]) < 20*int(seeds) {
		t.Errorf("the tests have too few results: %v", seen)
	}
}

// TestSamplesEqualABruteForceFilter compares the samples of a PV while a predicate holds with all its
// samples, each of which is tested, and the ranges split at any time.
func TestSamplesEqualABruteForceFilter(t *testing.T) { compareSamples(t, 3) }

// TestLong_SamplesEqualABruteForceFilter is TestSamplesEqualABruteForceFilter with more seeds.
func TestLong_SamplesEqualABruteForceFilter(t *testing.T) { compareSamples(t, 15) }

func compareSamples(t *testing.T, seeds uint64) {
	t.Helper()
	total := 0
	for seed := range seeds {
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
	if total < 45*int(seeds) {
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

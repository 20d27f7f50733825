package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/testclock"
)

// erased is an archive of PV A and what it must show: all samples that were sent, except those of deleted ranges.
type erased struct {
	*era
	sent    map[int64]float64
	deleted store.Mask // as requested, in any order
}

func (x *erased) sendAt(at time.Time) {
	v := float64(len(x.sent) % 97)
	if _, twice := x.sent[at.UnixNano()]; twice {
		return
	}
	x.sent[at.UnixNano()] = v
	x.send(at, v)
}

// erase deletes the samples of a range, ends included.
func (x *erased) erase(from, to time.Time) {
	x.t.Helper()
	d := Deletion{PVs: []string{"A"}, From: from.UnixNano(), To: to.UnixNano(), Group: "lab/test", Reason: "bad calibration"}
	out, err := x.Erase(x.t.Context(), d)
	if err != nil || out.Hidden != 1 {
		x.t.Fatalf("deletion: %+v, %v", out, err)
	}
	x.deleted = append(x.deleted, store.Deleted{From: d.From, To: d.To})
}

func (x *erased) isDeleted(at int64) bool {
	return slices.ContainsFunc(x.deleted, func(d store.Deleted) bool { return d.From <= at && at <= d.To })
}

// visible returns the samples that readers must see.
func (x *erased) visible() *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for at, v := range x.sent {
		if !x.isDeleted(at) {
			r.Append(&sample.Sample{Time: at, Word: math.Float64bits(v)})
		}
	}
	r.Normalize()
	return r
}

// check compares samples, the last sample before some times, and bins of several widths.
func (x *erased) check(when string) {
	x.t.Helper()
	want := x.visible()
	text := func(r *sample.Run, i int) string { return fmt.Sprintf("%d=%g ", r.Times[i], r.Float(i)) }
	wanted, got := "", ""
	for i := range want.Len() {
		wanted += text(want, i)
	}
	read, err := x.reader.Read(x.t.Context(), "A", math.MinInt64, math.MaxInt64, query.Options{})
	if err != nil {
		x.t.Fatalf("%s: %v", when, err)
	}
	for r, err := range read.All {
		if err != nil {
			x.t.Fatalf("%s: %v", when, err)
		}
		for i := range r.Len() {
			got += text(r, i)
		}
	}
	if got != wanted {
		x.t.Fatalf("%s: samples\n%s, want\n%s", when, got, wanted)
	}
	for _, d := range x.deleted {
		for _, at := range []int64{d.From - 1, d.From, d.To, d.To + 1, time.Now().UnixNano()} {
			x.checkLast(when, want, at)
		}
	}
	for _, width := range []time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 7 * time.Minute} {
		x.checkBins(when, want, width)
	}
}

func (x *erased) checkLast(when string, want *sample.Run, at int64) {
	x.t.Helper()
	last, err := x.reader.LastAt(x.t.Context(), "A", at)
	if err != nil {
		x.t.Fatalf("%s: %v", when, err)
	}
	n, found := slices.BinarySearch(want.Times, at)
	if found {
		n++
	}
	if n == 0 != (last.Run == nil) || n > 0 && last.Run.Times[0] != want.Times[n-1] {
		x.t.Fatalf("%s: the last sample at %d is %+v, want sample %d", when, at, last.Run, n-1)
	}
}

func (x *erased) checkBins(when string, want *sample.Run, width time.Duration) {
	x.t.Helper()
	if len(x.sent) == 0 {
		return
	}
	first := slices.MinFunc(slices.Collect(mapKeys(x.sent)), cmp.Compare[int64])
	acc := rollup.NewAccumulator(int64(width))
	wanted := acc.Close(acc.Add(nil, want, 0, want.Len()), math.MaxInt64)
	bins, err := x.reader.Bins(x.t.Context(), "A", first, time.Now().UnixNano(), 0, query.BinOptions{Width: int64(width)})
	if err != nil {
		x.t.Fatalf("%s: %v", when, err)
	}
	describe := func(b *rollup.Bin) string {
		return fmt.Sprintf("%d count %d min %g max %g first %g last %g; ", b.Start, b.Count, b.Min, b.Max, b.First, b.Last)
	}
	w, g := "", ""
	for i := range wanted {
		w += describe(&wanted[i])
	}
	for b, err := range bins.All {
		if err != nil {
			x.t.Fatalf("%s: %v", when, err)
		}
		if b.Count > 0 {
			g += describe(b)
		}
	}
	if w != g {
		x.t.Fatalf("%s: bins of %v\n%s, want\n%s", when, width, strings.ReplaceAll(g, "; ", "\n"), strings.ReplaceAll(w, "; ", "\n"))
	}
}

func mapKeys(m map[int64]float64) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// stored counts the deleted samples that are still in blocks, and the bins in tiles that overlap a deleted range
// without any other sample.
func (x *erased) stored() (samples, bins int) {
	x.t.Helper()
	c, _, err := x.st.Channel(x.t.Context(), "A")
	if err != nil {
		x.t.Fatal(err)
	}
	for b := range store.InUse(c.Starts, time.Now().UnixNano(), time.Now().Add(days).UnixNano()) {
		for blk, err := range x.st.Blocks(x.t.Context(), "A", b, math.MinInt64, math.MaxInt64) {
			r := new(sample.Run)
			if err != nil || scan.Decode(r, &blk) != nil {
				x.t.Fatal(err)
			}
			for _, at := range r.Times {
				if x.isDeleted(at) {
					samples++
				}
			}
		}
	}
	want := x.visible()
	for _, l := range c.Levels {
		acc := rollup.NewAccumulator(int64(l.Every()))
		count := map[int64]uint64{}
		for _, b := range acc.Close(acc.Add(nil, want, 0, want.Len()), math.MaxInt64) {
			count[b.Start] = b.Count
		}
		for row, err := range x.st.Rollups(x.t.Context(), "A", l, l.Tile(0), l.Tile(time.Now().Add(days).UnixNano())) {
			var tile rollup.Tile
			if err != nil || rollup.Decode(&tile, &row) != nil {
				x.t.Fatal(err)
			}
			for i := range tile.Bins {
				if tile.Bins[i].Count != count[tile.Bins[i].Start] {
					bins++
				}
			}
		}
	}
	return samples, bins
}

var tiled = store.Retention{Levels: [store.MaxLevels]store.Level{
	store.LevelOf(10*time.Minute, store.Forever), store.LevelOf(time.Hour, store.Forever),
}}

func inErased(t *testing.T, keep store.Retention, f func(x *erased)) {
	inEra(t, keep, func(t *testing.T, e *era) { f(&erased{era: e, sent: map[int64]float64{}}) })
}

// every sends a sample at each interval, for a time.
func (x *erased) every(interval, length time.Duration) {
	for range length / interval {
		x.sendAt(time.Now())
		testclock.Advance(interval)
	}
}

// TestADeletedRangeIsGone deletes a range of a captured PV. Readers must not see its samples from then on, and must
// see all others, before and after the samples are removed from blocks and rollups, and after a restart.
func TestADeletedRangeIsGone(t *testing.T) {
	inErased(t, tiled, func(x *erased) {
		begun := time.Now()
		x.every(7*time.Minute, 20*time.Hour)
		x.check("before")
		x.erase(begun.Add(5*time.Hour+3*time.Minute), begun.Add(9*time.Hour+31*time.Minute))
		x.check("at once")
		x.every(7*time.Minute, 30*time.Minute)
		x.check("within the hour")
		x.sendAt(begun.Add(7*time.Hour + time.Second)) // late, and deleted
		x.every(7*time.Minute, 4*time.Hour)
		x.check("hours later")
		if samples, bins := x.stored(); samples+bins > 0 {
			t.Errorf("%d deleted samples are still in blocks, and %d bins have some", samples, bins)
		}
		if s, _ := x.Capture().Status("A"); s.Dropped[sample.Expired] != 1 {
			t.Errorf("the late sample in the range is not counted: %v", s.Dropped)
		}
		out, err := x.Erase(x.t.Context(), Deletion{PVs: []string{"A", "NOBODY"}, From: x.deleted[0].From, To: x.deleted[0].To})
		if err != nil || out.Removed != 1 || out.Unknown != 1 {
			t.Errorf("the deletion reports %+v, %v", out, err)
		}
		x.end()
		x.begin(tiled)
		x.every(7*time.Minute, time.Hour)
		x.check("after a restart")
	})
}

// TestDeletedSamplesOfADeadWriterStayDeleted deletes samples that are only in the journal of a writer that has ended, and
// some in memory.
func TestDeletedSamplesOfADeadWriterStayDeleted(t *testing.T) {
	inErased(t, tiled, func(x *erased) {
		begun := time.Now()
		x.every(time.Minute, 40*time.Minute)
		x.end()
		x.begin(tiled)
		x.every(time.Minute, 3*time.Minute)
		x.erase(begun.Add(20*time.Minute), time.Now().Add(-time.Minute-time.Second))
		x.check("at once")
		x.every(time.Minute, 3*time.Hour)
		x.check("later")
		if samples, bins := x.stored(); samples+bins > 0 {
			t.Errorf("%d deleted samples are still in blocks, and %d bins have some", samples, bins)
		}
	})
}

// TestADeletionAfterAPVHasLeftItsShard deletes the latest samples of a PV that no group has any longer, after little time and
// after much. The sealer of its home shard removes them, while the sealer of another shard still has samples and bins that are not stored.
func TestADeletionAfterAPVHasLeftItsShard(t *testing.T) {
	for _, length := range []time.Duration{50 * time.Minute, 20 * time.Hour} {
		leaveShard(t, length)
	}
}

func leaveShard(t *testing.T, length time.Duration) {
	inErased(t, tiled, func(x *erased) {
		without, with := Assignment{}, Assignment{}
		for i := range 4 {
			without[i], with[i] = Shard{Seal: true}, Shard{Seal: true}
		}
		former := (pvname.Shard("A", 4) + 1) % 4
		with[former] = Shard{Seal: true, Channels: []capture.Channel{{PV: "A", Group: "lab/test", Settings: &capture.Settings{Retention: tiled}}}}
		x.Apply(with)
		begun := time.Now()
		x.every(7*time.Minute, length)
		x.Apply(without)
		from, to := begun.Add(length/2), time.Now().Add(-time.Minute)
		x.erase(from, to)
		x.check("at once")
		removed := 0
		for range 8 {
			testclock.Advance(time.Hour)
			out, err := x.Erase(x.t.Context(), Deletion{PVs: []string{"A"}, From: from.UnixNano(), To: to.UnixNano()})
			if err != nil {
				x.t.Fatal(err)
			}
			removed = out.Removed
			x.check("later")
		}
		if samples, bins := x.stored(); samples+bins > 0 || removed != 1 {
			x.t.Errorf("%d deleted samples are still in blocks, and %d bins have some; removed: %d", samples, bins, removed)
		}
	})
}

// TestAMarkSaysWhoDeleted checks the mark of a deletion, which is repeated.
func TestAMarkSaysWhoDeleted(t *testing.T) {
	inErased(t, store.Retention{}, func(x *erased) {
		begun := time.Now()
		x.every(time.Minute, 10*time.Minute)
		for range 2 {
			x.erase(begun, begun.Add(5*time.Minute))
			testclock.Advance(time.Minute)
		}
		var marks []string
		for m, err := range x.st.Marks(x.t.Context(), "A", math.MinInt64, math.MaxInt64) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Kind == sample.SamplesDeleted {
				marks = append(marks, m.Text)
			}
		}
		want := "lab/test: bad calibration (deleted at " + begun.Add(10*time.Minute).UTC().Format(time.RFC3339) + ")"
		if len(marks) != 1 || marks[0] != want {
			t.Errorf("marks %q, want %q", marks, want)
		}
		x.erase(time.Unix(0, math.MinInt64), begun.Add(6*time.Minute))
		for m, err := range x.st.Marks(x.t.Context(), "A", begun.UnixNano()+1, math.MaxInt64) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Kind == sample.SamplesDeleted && !strings.Contains(m.Text, "all earlier samples deleted") {
				t.Errorf("mark %+v", m)
			}
		}
		x.check("all earlier ones")
		if _, err := x.Erase(x.t.Context(), Deletion{PVs: []string{"A"}, To: time.Now().Add(time.Minute).UnixNano()}); !errors.Is(err, ErrNotPast) {
			t.Errorf("a deletion that ends in the future: %v", err)
		}
	})
}

// TestErasureAtAnyTime sends, deletes, restarts and waits at random. Readers must always see what they must.
func TestErasureAtAnyTime(t *testing.T) { eraseAtRandom(t, 3, 12) }

// TestLong_ErasureAtAnyTime is the same for longer.
func TestLong_ErasureAtAnyTime(t *testing.T) { eraseAtRandom(t, 12, 60) }

func eraseAtRandom(t *testing.T, seeds, steps int) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			steps := steps
			keep := tiled // buckets of a year
			switch seed % 3 {
			case 1:
				keep.Raw = store.Keep30d // of a day
			case 2:
				keep.Raw = store.Keep7d // of an hour
				steps = min(steps, 25)  // so that nothing expires
			}
			inErased(t, keep, func(x *erased) {
				rng := rand.New(rand.NewPCG(seed, 7))
				begun := time.Now()
				ago := func() time.Time { return begun.Add(time.Duration(rng.Int64N(int64(time.Since(begun)) + 1))) }
				for n := range steps {
					step := "waits"
					switch k := rng.IntN(10); {
					case k < 4:
						step = "sends"
						x.every(time.Duration(1+rng.IntN(20))*time.Minute, time.Duration(1+rng.IntN(5))*time.Hour)
					case k < 5:
						step = "sends late samples"
						for range rng.IntN(5) {
							x.sendAt(ago())
						}
					case k < 7 && len(x.sent) > 0:
						from, to := ago(), ago()
						if to.Before(from) {
							from, to = to, from
						}
						if rng.IntN(5) == 0 {
							from = time.Unix(0, scan.Earliest)
						}
						if to = to.Add(-time.Nanosecond); from.Before(to) {
							step = fmt.Sprint("deletes ", from.Sub(begun), " to ", to.Sub(begun))
							x.erase(from, to)
						}
					case k < 8:
						step = "restarts"
						x.end()
						x.begin(keep)
						testclock.Advance(time.Minute)
					default:
						testclock.Advance(time.Duration(rng.IntN(150)) * time.Minute)
					}
					if len(x.sent) > 0 {
						x.check(fmt.Sprintf("step %d: %s, after %v", n, step, time.Since(begun)))
					}
				}
				for range 8 { // deletions that a restart interrupted begin again
					for _, d := range x.deleted {
						if _, err := x.Erase(x.t.Context(), Deletion{PVs: []string{"A"}, From: d.From, To: d.To}); err != nil {
							t.Fatal(err)
						}
					}
					testclock.Advance(time.Hour)
				}
				x.check("in the end")
				if samples, bins := x.stored(); samples+bins > 0 {
					t.Errorf("%d deleted samples are still in blocks, and %d bins have some", samples, bins)
				}
			})
		})
	}
}

// TestErasureNeedsAFinalizedArchive deletes samples in an archive of the former release. That release would show them, so
// the archive must be finalized first.
func TestErasureNeedsAFinalizedArchive(t *testing.T) {
	inEraOf(t, tiled, pebble.OpenMemoryOldest, func(t *testing.T, e *era) {
		x := &erased{era: e, sent: map[int64]float64{}}
		begun := time.Now()
		x.every(time.Minute, 2*time.Hour)
		d := Deletion{PVs: []string{"A"}, From: begun.UnixNano(), To: begun.Add(30 * time.Minute).UnixNano(), Group: "lab/test", Reason: "test"}
		out, err := x.Erase(t.Context(), d)
		if !errors.Is(err, ErrNotFinalized) || !strings.Contains(err.Error(), "format level 5") || !strings.Contains(err.Error(), "varve store finalize") {
			t.Errorf("a deletion at level 5 returns %+v, %v", out, err)
		}
		x.check("before the archive is finalized")
		if _, err := e.st.Finalize(t.Context()); err != nil {
			t.Fatal(err)
		}
		x.erase(begun, begun.Add(30*time.Minute))
		x.check("after the archive was finalized")
	})
}

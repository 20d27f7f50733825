package seal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/layout/layouttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const (
	hour = int64(time.Hour)
	noon = 1_700_006_400 * int64(time.Second) // a full hour
)

func newSeries(size store.BucketSize) *series {
	return &series{pv: "A", writer: store.WriterID{1}, sized: true, size: size}
}

// plan plans a run at a time when no sample is too old.
func plan(s *series, r *sample.Run) []store.Block {
	blocks, _ := s.plan(r, noon)
	return blocks
}

// TestPlanKeepsEverySample plans random runs with late and repeated samples and changing
// types. It checks the stored samples after each run.
func TestPlanKeepsEverySample(t *testing.T) { planRuns(t, 4) }

// TestLong_PlanKeepsEverySample is TestPlanKeepsEverySample with more seeds.
func TestLong_PlanKeepsEverySample(t *testing.T) { planRuns(t, 30) }

func planRuns(t *testing.T, seeds uint64) {
	t.Helper()
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 0))
		ser, sh, want := newSeries(store.Hour), layouttest.Blocks{}, map[string]bool{}
		now := noon
		for range 8 {
			r := &sample.Run{Type: []sample.Type{sample.Float64, sample.Float64, sample.String}[rng.IntN(3)]}
			for range rng.IntN(700) {
				now += rng.Int64N(hour / 1000)
				s := sample.Sample{Time: now, Word: uint64(rng.IntN(3))}
				if rng.IntN(50) == 0 {
					s.Time -= rng.Int64N(3 * hour)
				}
				if r.Type == sample.String {
					s.Word, s.Bytes = 0, make([]byte, rng.IntN(300))
				}
				r.Append(&s)
				if rng.IntN(20) == 0 {
					r.Append(&s)
				}
			}
			for k := range layouttest.Samples(r) {
				want[k] = true
			}
			sh.Put(t, plan(ser, r))
			got := sh.Samples(t)
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d different samples stored, want %d", seed, len(got), len(want))
			}
		}
	}
}

// TestBlocksGrowUntilHalfFull checks that every block except the last one holds at least half
// of the samples that fit. A block is written again only until then.
func TestBlocksGrowUntilHalfFull(t *testing.T) {
	for _, tc := range []struct{ each, blocks, written int }{
		{100, 5, 4*(21*22/2)*100 + (16*17/2)*100}, // a block is done at 2,100
		{2500, 4, 10_000},
		{5000, 3, 10_904}, // the last 904 samples of the first 5,000 are written twice
	} {
		ser, sh, written := newSeries(store.Day), layouttest.Blocks{}, 0
		for i := range 10_000 / tc.each {
			r := layouttest.Numbers()
			for j := range tc.each {
				s := layouttest.Numbers(noon + int64(i*tc.each+j)*1e6).At(0)
				r.Append(&s)
			}
			blocks := plan(ser, r)
			for _, b := range blocks {
				written += b.Count
			}
			sh.Put(t, blocks)
		}
		if len(sh) != tc.blocks || written > tc.written {
			t.Errorf("10,000 samples, %d at a time, are in %d blocks, want %d; %d were written, want %d",
				tc.each, len(sh), tc.blocks, written, tc.written)
		}
	}
}

func TestEachBucketBeginsWithTheSampleBefore(t *testing.T) {
	ser, sh := newSeries(store.Hour), layouttest.Blocks{}
	sh.Put(t, plan(ser, layouttest.Numbers(noon+5, noon+6, noon+hour+7)))
	if got := carriedForward(t, sh); !slices.Equal(got, []string{"1 from 0+6"}) {
		t.Fatalf("carried: %v", got)
	}
	sh.Put(t, ser.carry(store.Hour.Of(noon+hour+1)))
	sh.Put(t, ser.carry(store.Hour.Of(noon+5*hour)))
	sh.Put(t, ser.carry(store.Hour.Of(noon+5*hour)))
	sh.Put(t, plan(ser, layouttest.Numbers(noon+5*hour+9)))
	if got := carriedForward(t, sh); !slices.Equal(got, []string{"1 from 0+6", "5 from 1+7"}) {
		t.Fatalf("carried: %v", got)
	}
}

// carriedForward lists carried-forward samples as "hour of the bucket from hour+ns of the sample".
func carriedForward(t *testing.T, sh layouttest.Blocks) []string {
	var out []string
	for key, b := range sh {
		if b.Count > 0 {
			continue
		}
		r := layouttest.Decode(t, b)
		if r.Len() != 1 || r.Tags[0]&sample.CarriedForward == 0 || key.Start != key.Bucket.Start() || b.End != r.Times[0] {
			t.Fatalf("a block without samples: %+v", b)
		}
		age := r.Times[0] - noon
		out = append(out, fmt.Sprintf("%d from %d+%d", (key.Start-noon)/hour, age/hour, age%hour))
	}
	slices.Sort(out)
	return out
}

// TestSamplesThatAreTooOld checks that samples that are too old are counted and left out, and
// that the latest value is carried forward.
func TestSamplesThatAreTooOld(t *testing.T) {
	ser, sh := newSeries(store.Hour), layouttest.Blocks{}
	ser.tier = store.Keep1d
	old := noon - 100*hour
	blocks, expired := ser.plan(layouttest.Numbers(old, old+1, old+5*hour), noon)
	sh.Put(t, append(blocks, ser.carry(ser.bucket(noon))...))
	if got := carriedForward(t, sh); expired != 2 || !slices.Equal(got, []string{"0 from -95+0"}) {
		t.Errorf("%d expired, carried: %v", expired, got)
	}
	blocks, expired = ser.plan(layouttest.Numbers(old+2, noon+7), noon)
	sh.Put(t, blocks)
	if n := len(sh.Samples(t)); expired != 1 || n != 1 {
		t.Errorf("%d expired, %d stored", expired, n)
	}
	if blocks, expired := newSeries(store.Hour).plan(layouttest.Numbers(old), noon); expired != 0 || len(blocks) != 1 {
		t.Errorf("kept forever, %d expire", expired)
	}
}

// TestAChangeOfTheTier checks that a change of the tier closes the block. A bucket on the new
// tier then begins with the last sample.
func TestAChangeOfTheTier(t *testing.T) {
	ser, sh := newSeries(store.Year), layouttest.Blocks{}
	sh.Put(t, plan(ser, layouttest.Numbers(noon+5, noon+6)))
	ser.changeTier(store.Keep1d)
	sh.Put(t, plan(ser, layouttest.Numbers(noon+7, noon+hour+8)))
	ser.changeTier(store.Forever)
	sh.Put(t, plan(ser, layouttest.Numbers(noon+hour+9)))
	for key := range sh {
		if want := key.Bucket.Tier() == store.Forever && key.Start != noon+hour+9; want != (key.Bucket.Size() == store.Year) {
			t.Errorf("the block that begins at %d is in a bucket of a %v on tier %v", key.Start-noon, key.Bucket.Size(), key.Bucket.Tier())
		}
	}
	ser.changeTier(store.Keep7d)
	sh.Put(t, ser.carry(ser.bucket(noon+3*hour)))
	if n, got := len(sh.Samples(t)), carriedForward(t, sh); n != 5 || len(sh) != 6 || !slices.Equal(got, []string{"1 from 0+7", "3 from 1+9"}) {
		t.Errorf("%d samples in %d blocks, of which %v are carried forward", n, len(sh), got)
	}
}

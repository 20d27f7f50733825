package seal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const (
	hour = int64(time.Hour)
	noon = 1_700_006_400 * int64(time.Second) // a full hour
)

// shelf is what the store would hold: the latest version of each block.
type shelf map[store.BlockKey]store.Block

// put stores blocks as they are acknowledged, one by one, and checks what must
// hold at every moment.
func (sh shelf) put(t *testing.T, blocks []store.Block) {
	t.Helper()
	for _, b := range blocks {
		r := decoded(t, b)
		if old, ok := sh[b.BlockKey]; ok {
			now := keys(r)
			for key := range keys(decoded(t, old)) {
				if !now[key] {
					t.Fatalf("block %v lost a sample as it grew", b.BlockKey)
				}
			}
		}
		sh[b.BlockKey] = b
		if b.Count == 0 {
			continue
		}
		if r.Len() != b.Count || b.End != r.Times[r.Len()-1] || !slices.IsSorted(r.Times) {
			t.Fatalf("block %v: count %d, end %d; its blob holds %d samples from %d to %d",
				b.BlockKey, b.Count, b.End, r.Len(), r.Times[0], r.Times[r.Len()-1])
		}
		if r.Times[0] < b.Bucket.Start() || b.End >= b.Bucket.End() || b.Start != r.Times[0] {
			t.Fatalf("block %v has samples from %d to %d", b.BlockKey, r.Times[0], b.End)
		}
	}
}

func decoded(t *testing.T, b store.Block) *sample.Run {
	t.Helper()
	r := &sample.Run{}
	if err := block.Decode(r, b.Blob); err != nil {
		t.Fatal(err)
	}
	return r
}

func keys(r *sample.Run) map[string]bool {
	set := map[string]bool{}
	for i := range r.Len() {
		s := r.At(i)
		if s.Tag&sample.CarriedForward == 0 {
			set[fmt.Sprintf("%v %d %d %d %s", r.Type, s.Time, s.Tag, s.Word, s.Bytes)] = true
		}
	}
	return set
}

// all returns the samples on the shelf.
func (sh shelf) all(t *testing.T) map[string]bool {
	set := map[string]bool{}
	for _, b := range sh {
		for k := range keys(decoded(t, b)) {
			set[k] = true
		}
	}
	return set
}

func numbers(times ...int64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for _, t := range times {
		r.Append(&sample.Sample{Time: t, Word: math.Float64bits(float64(t % 1000))})
	}
	return r
}

func newSeries(size store.BucketSize) *series {
	return &series{pv: "A", writer: store.WriterID{1}, sized: true, size: size}
}

// plan plans what nothing is too old for.
func plan(s *series, r *sample.Run) []store.Block {
	blocks, _ := s.plan(r, noon)
	return blocks
}

// TestPlanKeepsEverySample plans random runs, late, repeated and of changing
// type, and looks at the store after each.
func TestPlanKeepsEverySample(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		ser, sh, want := newSeries(store.Hour), shelf{}, map[string]bool{}
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
			for k := range keys(r) {
				want[k] = true
			}
			sh.put(t, plan(ser, r))
			got := sh.all(t)
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d different samples stored, want %d", seed, len(got), len(want))
			}
		}
	}
}

// Blocks have half of the samples that fit at least, but for the last one, and are written
// again until then only.
func TestBlocksGrowUntilHalfFull(t *testing.T) {
	for _, tc := range []struct{ each, blocks, written int }{
		{100, 5, 4*(21*22/2)*100 + (16*17/2)*100}, // a block is done at 2,100
		{2500, 4, 10_000},
		{5000, 3, 10_904}, // 904, which are left of the first 4,096 and 904, twice
	} {
		ser, sh, written := newSeries(store.Day), shelf{}, 0
		for i := range 10_000 / tc.each {
			r := numbers()
			for j := range tc.each {
				s := numbers(noon + int64(i*tc.each+j)*1e6).At(0)
				r.Append(&s)
			}
			blocks := plan(ser, r)
			for _, b := range blocks {
				written += b.Count
			}
			sh.put(t, blocks)
		}
		if len(sh) != tc.blocks || written > tc.written {
			t.Errorf("10,000 samples, %d at a time, stand in %d blocks, want %d; %d were written, want %d",
				tc.each, len(sh), tc.blocks, written, tc.written)
		}
	}
}

func TestEachBucketBeginsWithTheSampleBefore(t *testing.T) {
	ser, sh := newSeries(store.Hour), shelf{}
	sh.put(t, plan(ser, numbers(noon+5, noon+6, noon+hour+7)))
	if got := carriedForward(t, sh); !slices.Equal(got, []string{"1 from 0+6"}) {
		t.Fatalf("carried: %v", got)
	}
	sh.put(t, ser.carry(store.Hour.Of(noon+hour+1)))
	sh.put(t, ser.carry(store.Hour.Of(noon+5*hour)))
	sh.put(t, ser.carry(store.Hour.Of(noon+5*hour)))
	sh.put(t, plan(ser, numbers(noon+5*hour+9)))
	if got := carriedForward(t, sh); !slices.Equal(got, []string{"1 from 0+6", "5 from 1+7"}) {
		t.Fatalf("carried: %v", got)
	}
}

// carriedForward lists carriedForward-forward samples as "hour they stand in from hour+ns of origin".
func carriedForward(t *testing.T, sh shelf) []string {
	var out []string
	for key, b := range sh {
		if b.Count > 0 {
			continue
		}
		r := decoded(t, b)
		if r.Len() != 1 || r.Tags[0]&sample.CarriedForward == 0 || key.Start != key.Bucket.Start() || b.End != r.Times[0] {
			t.Fatalf("a block without samples: %+v", b)
		}
		age := r.Times[0] - noon
		out = append(out, fmt.Sprintf("%d from %d+%d", (key.Start-noon)/hour, age/hour, age%hour))
	}
	slices.Sort(out)
	return out
}

func TestAggregates(t *testing.T) {
	r := numbers(1, 2, 3, 5)
	r.Words[1] = math.Float64bits(math.NaN())
	if low, high, sum := aggregates(r); low != 1 || high != 5 || sum != 9 {
		t.Errorf("min %v, max %v, sum %v", low, high, sum)
	}
	for _, r := range []*sample.Run{{Type: sample.Enum, Times: []int64{1}, Words: []uint64{1}}, {Type: sample.String}} {
		if low, _, _ := aggregates(r); !math.IsNaN(low) {
			t.Errorf("%v has a minimum of %v", r.Type, low)
		}
	}
}

func TestBucketSizes(t *testing.T) {
	for _, tc := range []struct {
		perSecond, bytes float64
		want             store.BucketSize
	}{
		{1. / 86400 / 30, 60, store.Year}, {0.01, 10, store.Year}, {0.1, 5, store.Year}, {1, 5, store.Month},
		{10, 5, store.Day}, {100, 3, store.Hour}, {10000, 3, store.Hour},
	} {
		rate := tc.perSecond * tc.bytes
		if got := chooseSize(rate, store.Year); got != tc.want {
			t.Errorf("%g samples/s of %g bytes: %v, want %v", tc.perSecond, tc.bytes, got, tc.want)
		}
	}
	if got := reviseSize(store.Year, 1000, false, store.Year); got != store.Hour {
		t.Errorf("a rate too high for a year stays in %v", got)
	}
	if got := reviseSize(store.Day, 5, false, store.Year); got != store.Day {
		t.Errorf("a size changes to %v before its bucket ends", got)
	}
	if got := reviseSize(store.Hour, 4, true, store.Year); got != store.Month {
		t.Errorf("a low rate goes on with %v", got)
	}
}

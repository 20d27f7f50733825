package seal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestPlaceKeepsEverySample moves the blocks of random runs from any size and tier to
// any other. What is there to be kept stands there, in blocks that stand in a bucket
// each, under keys of their own, and again under the same keys when it is repeated.
func TestPlaceKeepsEverySample(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 0))
		tier := func() store.Tier { return store.Tier(rng.IntN(store.NumTiers)) }
		ser := newSeries(store.BucketSize(rng.IntN(4)))
		ser.tier = tier()
		now := noon
		var old []store.Block
		want := map[string]bool{}
		to := destination{size: store.BucketSize(rng.IntN(4)), tier: tier(), now: noon + rng.Int64N(40*24*hour)}
		for range 6 {
			r := &sample.Run{Type: []sample.Type{sample.Float64, sample.String}[rng.IntN(2)]}
			for range 1 + rng.IntN(400) {
				now += rng.Int64N(3 * hour / 10)
				s := sample.Sample{Time: now - rng.Int64N(1+rng.Int64N(hour)), Word: uint64(rng.IntN(3))}
				if r.Type == sample.String {
					s.Word, s.Bytes = 0, make([]byte, rng.IntN(300))
				}
				r.Append(&s)
			}
			for i := range r.Len() {
				if one := (&sample.Run{Type: r.Type}); to.keeps(r.Times[i]) {
					one.AppendRange(r, i, i+1)
					for k := range keys(one) {
						want[k] = true
					}
				}
			}
			blocks, _ := ser.plan(r, noon)
			old = append(old, blocks...)
		}
		sh := shelf{}
		for range 2 {
			for i := range latest(old) {
				if old[i].Count == 0 {
					continue
				}
				placed, err := to.place(&old[i])
				if err != nil {
					t.Fatal(err)
				}
				sh.put(t, placed)
			}
			if got := sh.all(t); len(got) != len(want) {
				t.Fatalf("seed %d: %d samples stand on the new tier, want %d", seed, len(got), len(want))
			}
		}
		for key := range sh {
			if key.Bucket.Tier() != to.tier || key.Bucket.Size() != to.size || expired(key.Bucket, to.now) {
				t.Fatalf("seed %d: a block stands in bucket %v of tier %v", seed, key.Bucket, key.Bucket.Tier())
			}
		}
	}
}

func TestPlaceCarriedForward(t *testing.T) {
	day := 24 * hour
	now := noon + 20*day
	at := func(d, h int64) int64 { return noon - noon%day + d*day + h*hour }
	for _, tc := range []struct {
		name     string
		from     store.Bucket
		to       destination
		time     int64
		only     bool
		want     string // "size start-day end-day count"
		bareWant string // if it is without its value
	}{
		{"the same size", store.Day.Of(at(19, 0)).In(store.Keep90d), destination{store.Day, store.Keep30d, now, math.MinInt64}, at(18, 3), false, "carried 19 ", "carried 19 "},
		{"in the middle of a longer one", store.Hour.Of(at(19, 3)).In(store.Keep1d), destination{store.Day, store.Keep30d, now, math.MinInt64}, at(18, 3), false, "", ""},
		{"the only copy, of a time that is kept", store.Hour.Of(at(19, 3)).In(store.Keep1d), destination{store.Day, store.Keep30d, now, math.MinInt64}, at(18, 3), true, "sample 18 ", ""},
		{"the same, at the start of a bucket", store.Hour.Of(at(19, 0)).In(store.Keep1d), destination{store.Day, store.Keep30d, now, math.MinInt64}, at(18, 3), true, "sample 18 carried 19 ", "carried 19 "},
		{"the only copy, of a time that is not kept", store.Hour.Of(at(19, 3)).In(store.Keep1d), destination{store.Hour, store.Keep7d, now, math.MinInt64}, at(1, 3), true, "carried 19 ", "carried 19 "},
		{"of that, in the middle", store.Hour.Of(at(19, 3)).In(store.Keep1d), destination{store.Day, store.Keep7d, now, math.MinInt64}, at(1, 3), true, "carried 19 ", ""},
		{"all of it is to go", store.Day.Of(at(5, 0)).In(store.Keep90d), destination{store.Hour, store.Keep7d, now, math.MinInt64}, at(1, 3), true, "", ""},
		{"for ever", store.Hour.Of(at(19, 3)).In(store.Keep1d), destination{store.Year, store.Forever, now, math.MinInt64}, at(-100, 3), true, "sample -100 ", ""},
	} {
		for _, bare := range []bool{false, true} {
			r := numbers(tc.time)
			r.Tags[0] |= sample.CarriedForward
			want := tc.want
			if bare {
				r.Tags[0] |= sample.Elsewhere
				want = tc.bareWant
			}
			b := carriedForwardBlock(store.BlockKey{PV: "A", Bucket: tc.from, Start: tc.from.Start(), Writer: store.WriterID{1}, N: 7}, r)
			got := ""
			for _, p := range tc.to.placeCarriedForward(&b, r, tc.only) {
				kind := "sample"
				if p.Count == 0 {
					kind = "carried"
				}
				run := decoded(t, p)
				if (run.Tags[0]&sample.CarriedForward != 0) != (p.Count == 0) || run.Times[0] != tc.time || p.End != tc.time || p.N != 7 || p.Bucket.Tier() != tc.to.tier {
					t.Errorf("%s: block %+v with tag %x", tc.name, p.BlockKey, run.Tags[0])
				}
				if p.Count == 0 && (p.Start != p.Bucket.Start() || tc.time >= p.Start) || p.Count == 1 && (p.Start != tc.time || tc.to.bucket(tc.time) != p.Bucket) {
					t.Errorf("%s: block %+v", tc.name, p.BlockKey)
				}
				days := p.Start - at(0, 0)
				got += fmt.Sprintf("%s %d ", kind, (days-((days%day)+day)%day)/day)
			}
			if got != want {
				t.Errorf("%s, without its value: %v: %q, want %q", tc.name, bare, got, want)
			}
		}
	}
}

func TestSizesOfBucketsThatMove(t *testing.T) {
	for _, tc := range []struct {
		from  store.BucketSize
		bytes int
		all   bool
		to    store.Tier
		want  store.BucketSize
	}{
		{store.Hour, 100, true, store.Forever, store.Year},
		{store.Hour, 100, true, store.Keep90d, store.Day},
		{store.Hour, 1 << 20, true, store.Forever, store.Day},
		{store.Hour, target, true, store.Forever, store.Hour},
		{store.Hour, target + 1, false, store.Forever, store.Hour},
		{store.Day, target + 1, false, store.Keep1y, store.Day},
		{store.Year, target + 1, false, store.Keep7d, store.Hour},
		{store.Year, 100, true, store.Keep30d, store.Day},
	} {
		if got := sizeFor(tc.from.Of(noon), tc.bytes, tc.all, tc.to); got != tc.want {
			t.Errorf("%d bytes in a %v move to a %v on tier %v, want a %v", tc.bytes, tc.from, got, tc.to, tc.want)
		}
	}
}

func TestTiersInUse(t *testing.T) {
	all := make([]store.Tier, store.NumTiers)
	for i := range all {
		all[i] = store.Tier(i)
	}
	for _, tc := range []struct {
		has        []store.Tier
		want, gets store.Tier
	}{
		{all, store.Keep7d, store.Keep7d}, {all, store.Forever, store.Forever}, {nil, store.Keep7d, store.Forever},
		{[]store.Tier{store.Forever, store.Keep1d, store.Keep90d, store.Keep1y}, store.Keep7d, store.Keep90d},
		{[]store.Tier{store.Forever, store.Keep1d}, store.Keep7d, store.Forever},
	} {
		if got := available(tc.has, tc.want); got != tc.gets {
			t.Errorf("of %v, what is to be kept on %v is kept on %v, want %v", tc.has, tc.want, got, tc.gets)
		}
	}
	year := 365 * 24 * hour
	for _, tc := range []struct {
		starts []store.Bucket
		want   store.Tier
	}{
		{nil, store.Forever},
		{[]store.Bucket{store.Day.Of(noon), store.Hour.Of(noon + year).In(store.Keep1d)}, store.Keep1d},
		{[]store.Bucket{store.Day.Of(noon).In(store.Keep90d), store.Hour.Of(noon + hour).In(store.Keep1d)}, store.Keep90d},
		{[]store.Bucket{store.Day.Of(noon + year), store.Hour.Of(noon + year).In(store.Keep1d), store.Hour.Of(noon).In(store.Keep1y)}, store.Forever},
	} {
		if got := lastTier(tc.starts); got != tc.want {
			t.Errorf("a PV that nobody captures stays on %v, want %v", got, tc.want)
		}
	}
}

// The way through what is to be moved has every bucket of another tier that is not
// expired, once, by time.
func TestOtherTiers(t *testing.T) {
	now := noon + 10*24*hour
	starts := []store.Bucket{
		store.Day.Of(noon), store.Day.Of(noon + 48*hour), // listed twice in a year
		store.Hour.Of(noon).In(store.Keep1d),                 // of which one day is left
		store.Day.Of(noon).In(store.Keep7d),                  // wanted
		store.Month.Of(noon - 400*24*hour).In(store.Keep30d), // of a year that has expired
	}
	got := otherTiers(starts, store.Keep7d, now)
	hours, days := 0, 0
	for _, b := range got {
		switch {
		case b.Size() == store.Hour && b.Tier() == store.Keep1d && !expired(b, now):
			hours++
		case b.Size() == store.Day && b.Tier() == store.Forever:
			days++
		default:
			t.Errorf("a %v on tier %v, at %v", b.Size(), b.Tier(), time.Unix(0, b.Start()).UTC())
		}
	}
	if !slices.IsSortedFunc(got, func(a, b store.Bucket) int { return int(min(1, max(-1, a.Start()-b.Start()))) }) {
		t.Error("they are not by time")
	}
	if days != 12 || hours < 24+24 || hours > 24+25 { // until a day from now
		t.Errorf("%d days and %d hours", days, hours)
	}
}

// What is too old to be kept is counted and left out; the present value is carried forward.
func TestSamplesThatAreTooOld(t *testing.T) {
	ser, sh := newSeries(store.Hour), shelf{}
	ser.tier = store.Keep1d
	old := noon - 100*hour
	blocks, expired := ser.plan(numbers(old, old+1, old+5*hour), noon)
	sh.put(t, append(blocks, ser.carry(ser.bucket(noon))...))
	if got := carriedForward(t, sh); expired != 2 || !slices.Equal(got, []string{"0 from -95+0"}) {
		t.Errorf("%d expired, carried: %v", expired, got)
	}
	blocks, expired = ser.plan(numbers(old+2, noon+7), noon)
	sh.put(t, blocks)
	if n := len(sh.all(t)); expired != 1 || n != 1 {
		t.Errorf("%d expired, %d stored", expired, n)
	}
	if blocks, expired := newSeries(store.Hour).plan(numbers(old), noon); expired != 0 || len(blocks) != 1 {
		t.Errorf("kept forever, %d expire", expired)
	}
}

// A change of the tier closes the block and begins a bucket there with the last sample.
func TestAChangeOfTheTier(t *testing.T) {
	ser, sh := newSeries(store.Year), shelf{}
	sh.put(t, plan(ser, numbers(noon+5, noon+6)))
	ser.moveTo(store.Keep1d)
	sh.put(t, plan(ser, numbers(noon+7, noon+hour+8)))
	ser.moveTo(store.Forever)
	sh.put(t, plan(ser, numbers(noon+hour+9)))
	for key := range sh {
		if want := key.Bucket.Tier() == store.Forever && key.Start != noon+hour+9; want != (key.Bucket.Size() == store.Year) {
			t.Errorf("a block of %d stands in a %v on tier %v", key.Start-noon, key.Bucket.Size(), key.Bucket.Tier())
		}
	}
	ser.moveTo(store.Keep7d)
	sh.put(t, ser.carry(ser.bucket(noon+3*hour)))
	if n, got := len(sh.all(t)), carriedForward(t, sh); n != 5 || len(sh) != 6 || !slices.Equal(got, []string{"1 from 0+7", "3 from 1+9"}) {
		t.Errorf("%d samples in %d blocks, of which are carried forward %v", n, len(sh), got)
	}
}

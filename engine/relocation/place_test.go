package relocation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/layout/layouttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const (
	hour = int64(time.Hour)
	noon = 1_700_006_400 * int64(time.Second) // a full hour
)

// writer writes blocks of random length, as sealers do.
type writer struct {
	rng  *rand.Rand
	size store.BucketSize
	tier store.Tier
	n    uint32
}

// blocks returns blocks of the samples of a run.
func (w *writer) blocks(r *sample.Run) (blocks []store.Block) {
	r.Normalize()
	for from := 0; from < r.Len(); {
		b := w.size.Of(r.Times[from]).In(w.tier)
		to, longest := from+1, from+1+w.rng.IntN(300)
		for to < min(r.Len(), longest) && r.Times[to] < b.End() {
			to++
		}
		w.n++
		key := store.BlockKey{PV: "A", Bucket: b, Start: r.Times[from], Writer: store.WriterID{1}, N: w.n}
		blocks = append(blocks, layout.Encode(key, r, from, to))
		from = to
	}
	return blocks
}

// TestPlaceKeepsEverySample copies the blocks of random runs from any size and tier to any
// other. The copies must have every sample that the new tier keeps, in blocks that each belong
// to one bucket. A second copy must have the same keys.
func TestPlaceKeepsEverySample(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 0))
		tier := func() store.Tier { return store.Tier(rng.IntN(store.NumTiers)) }
		from := writer{rng: rng, size: store.BucketSize(rng.IntN(4)), tier: tier()}
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
					for k := range layouttest.Samples(one) {
						want[k] = true
					}
				}
			}
			old = append(old, from.blocks(r)...)
		}
		sh := layouttest.Blocks{}
		for range 2 {
			for i := range old {
				placed, err := to.place(&old[i])
				if err != nil {
					t.Fatal(err)
				}
				sh.Put(t, placed)
			}
			if got := sh.Samples(t); len(got) != len(want) {
				t.Fatalf("seed %d: %d samples are on the new tier, want %d", seed, len(got), len(want))
			}
		}
		for key := range sh {
			if key.Bucket.Tier() != to.tier || key.Bucket.Size() != to.size || layout.Expired(key.Bucket, to.now) {
				t.Fatalf("seed %d: a block is in bucket %v of tier %v", seed, key.Bucket, key.Bucket.Tier())
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
		{"the same, in the middle of a bucket", store.Hour.Of(at(19, 3)).In(store.Keep1d), destination{store.Day, store.Keep7d, now, math.MinInt64}, at(1, 3), true, "carried 19 ", ""},
		{"nothing is kept", store.Day.Of(at(5, 0)).In(store.Keep90d), destination{store.Hour, store.Keep7d, now, math.MinInt64}, at(1, 3), true, "", ""},
		{"everything is kept", store.Hour.Of(at(19, 3)).In(store.Keep1d), destination{store.Year, store.Forever, now, math.MinInt64}, at(-100, 3), true, "sample -100 ", ""},
	} {
		for _, bare := range []bool{false, true} {
			r := layouttest.Numbers(tc.time)
			r.Tags[0] |= sample.CarriedForward
			want := tc.want
			if bare {
				r.Tags[0] |= sample.Elsewhere
				want = tc.bareWant
			}
			b := layout.EncodeCarriedForward(store.BlockKey{PV: "A", Bucket: tc.from, Start: tc.from.Start(), Writer: store.WriterID{1}, N: 7}, r)
			got := ""
			for _, p := range tc.to.placeCarriedForward(&b, r, tc.only) {
				kind := "sample"
				if p.Count == 0 {
					kind = "carried"
				}
				run := layouttest.Decode(t, p)
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

func TestSizesOfMigratedBuckets(t *testing.T) {
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
		{store.Hour, layout.TargetBytes, true, store.Forever, store.Hour},
		{store.Hour, layout.TargetBytes + 1, false, store.Forever, store.Hour},
		{store.Day, layout.TargetBytes + 1, false, store.Keep1y, store.Day},
		{store.Year, layout.TargetBytes + 1, false, store.Keep7d, store.Hour},
		{store.Year, 100, true, store.Keep30d, store.Day},
	} {
		if got := sizeFor(tc.from.Of(noon), tc.bytes, tc.all, tc.to); got != tc.want {
			t.Errorf("%d bytes in a %v move to a %v on tier %v, want a %v", tc.bytes, tc.from, got, tc.to, tc.want)
		}
	}
}

// TestOnOtherTiers checks that onOtherTiers returns every bucket of another tier that has not
// expired, once, by time.
func TestOnOtherTiers(t *testing.T) {
	now := noon + 10*24*hour
	starts := []store.Bucket{
		store.Day.Of(noon), store.Day.Of(noon + 48*hour), // listed twice in a year
		store.Hour.Of(noon).In(store.Keep1d),                 // one day of these buckets is left
		store.Day.Of(noon).In(store.Keep7d),                  // wanted
		store.Month.Of(noon - 400*24*hour).In(store.Keep30d), // of a year that has expired
	}
	got := onOtherTiers(starts, store.Keep7d, now, now)
	hours, days := 0, 0
	for _, b := range got {
		switch {
		case b.Size() == store.Hour && b.Tier() == store.Keep1d && !layout.Expired(b, now):
			hours++
		case b.Size() == store.Day && b.Tier() == store.Forever:
			days++
		default:
			t.Errorf("a %v on tier %v, at %v", b.Size(), b.Tier(), time.Unix(0, b.Start()).UTC())
		}
	}
	if !slices.IsSortedFunc(got, func(a, b store.Bucket) int { return int(min(1, max(-1, a.Start()-b.Start()))) }) {
		t.Error("buckets are not sorted by time")
	}
	if days != 12 || hours < 24+24 || hours > 24+25 { // until a day from now
		t.Errorf("%d days and %d hours", days, hours)
	}
}

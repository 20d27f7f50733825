package pebble

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestDescribeDividesByTier checks that the parts of a store add up to its size, and that a tier with
// three times as many bytes gets about three times the size.
func TestDescribeDividesByTier(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 1))
	put := func(pv string, tier store.Tier, blocks int) {
		b := tier.Longest().Of(0).In(tier)
		if err := s.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{sample.Float64}, Starts: []store.Bucket{b}}); err != nil {
			t.Fatal(err)
		}
		for i := range blocks {
			blob := make([]byte, 20_000)
			for k := range blob {
				blob[k] = byte(random.Uint32())
			}
			blk := store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: int64(i), N: uint32(i)}, End: int64(i), Count: 1, Type: sample.Float64, Blob: blob}
			if err := s.PutBlocks(t.Context(), blk); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 10 {
		put(fmt.Sprint("A", i), store.Keep30d, 3)
		put(fmt.Sprint("B", i), store.Forever, 9)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	d, err := s.Describe(t.Context())
	if err != nil || d.Kind != "Pebble" || d.Where == "" || d.Disk == nil || d.Disk.Size < d.Disk.Free || d.Replicas != 1 || !d.Estimated {
		t.Fatalf("the description is %+v: %v", d, err)
	}
	sum, byTier := int64(0), map[store.Tier]int64{}
	for _, p := range d.Parts {
		sum += p.Bytes
		if p.Tiered && p.Contents == store.SampleContents {
			byTier[p.Tier] = p.Bytes
		}
	}
	size, err := s.Size(t.Context())
	if err != nil || sum != size {
		t.Errorf("the parts have %d bytes of %d: %v", sum, size, err)
	}
	short, long := byTier[store.Keep30d], byTier[store.Forever]
	if short < 500_000 || short > 900_000 || long < 1_500_000 || long > 2_300_000 {
		t.Errorf("the tiers have %d and %d bytes, and got 600,000 and 1,800,000", short, long)
	}
}

// TestDescribePV checks the sizes of the tiers of one PV, beside a larger one.
func TestDescribePV(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	random := rand.NewChaCha8([32]byte{1})
	for pv, blocks := range map[string][2]int{"A": {50, 100}, "B": {500, 500}} {
		c := store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{sample.Float64}}
		for i, tier := range []store.Tier{store.Keep30d, store.Forever} {
			b := tier.Longest().Of(0).In(tier)
			c.Starts = append(c.Starts, b)
			for n := range uint32(blocks[i]) {
				blob := make([]byte, 20_000)
				_, _ = random.Read(blob) // always nil
				if err := s.PutBlocks(t.Context(), store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: int64(n), N: n}, End: int64(n), Count: 1, Type: sample.Float64, Blob: blob}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.AddChannel(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	d, err := s.DescribePV(t.Context(), "A", 0)
	if err != nil || !d.Estimated || len(d.Parts) != 2 {
		t.Fatalf("the PV has %+v: %v", d, err)
	}
	for _, p := range d.Parts {
		want := map[store.Tier]int64{store.Keep30d: 1_000_000, store.Forever: 2_000_000}[p.Tier]
		if p.Contents != store.SampleContents || p.Bytes < want*7/10 || p.Bytes > want*13/10 {
			t.Errorf("tier %s has %d bytes, want about %d", p.Tier, p.Bytes, want)
		}
	}
	if d, err := s.DescribePV(t.Context(), "NONE", 0); err != nil || len(d.Parts) > 0 {
		t.Errorf("an unknown PV has %+v: %v", d, err)
	}
}

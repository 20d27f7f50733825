package rollup

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"varve.dev/varve/engine/checksum"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// tilesOf splits bins into tiles of a level.
func tilesOf(l store.Level, bins []Bin) (tiles []*Tile) {
	for _, b := range bins {
		at := l.Tile(b.Start)
		if n := len(tiles); n == 0 || tiles[n-1].Tile != at {
			t := &Tile{Level: l, Tile: at}
			t.Since, t.Through = t.Start(), t.End()
			tiles = append(tiles, t)
		}
		t := tiles[len(tiles)-1]
		t.Bins = append(t.Bins, b)
	}
	return tiles
}

func row(t *Tile, blob []byte) *store.Rollup {
	return &store.Rollup{Level: t.Level, Tile: t.Tile, Blob: blob}
}

// difference describes the first difference between two tiles, or returns "".
func difference(a, b *Tile) string {
	if a.Level != b.Level || a.Tile != b.Tile || a.Since != b.Since || a.Through != b.Through {
		return "the level, the start or the claim of the tiles differs"
	}
	return differ(a.Bins, b.Bins)
}

func TestTilesComeBack(t *testing.T) { encodeTiles(t, 150) }

func TestLong_TilesComeBack(t *testing.T) { encodeTiles(t, 500) }

func encodeTiles(t *testing.T, seeds uint64) {
	got := new(Tile)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 2))
		all := randomSamples(rng, 1+rng.IntN(500))
		canonical(all)
		l := store.LevelOf(time.Duration(1+rng.IntN(30))*time.Second, store.Keep90d)
		width := int64(l.Every())
		for _, want := range tilesOf(l, modelBins(all, width)) {
			want.Since -= rng.Int64N(1000) * width
			want.Through -= rng.Int64N(store.TileBins) * width
			if rng.IntN(10) == 0 {
				want.Since = want.Start() + rng.Int64N((want.Through-want.Start())/width)*width
			}
			blob := Append([]byte("before"), want)
			if !bytes.HasPrefix(blob, []byte("before")) {
				t.Fatal("Append changed the bytes that were in the buffer before")
			}
			blob = blob[len("before"):]
			if len(blob) > store.MaxRollup {
				t.Fatalf("seed %d: a tile of %d bins takes %d bytes", seed, len(want.Bins), len(blob))
			}
			if err := Decode(got, row(want, blob)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if d := difference(got, want); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}

// TestTheLargestTile encodes a tile with the maximum number of states and the longest texts.
func TestTheLargestTile(t *testing.T) {
	l := store.LevelOf(365*24*time.Hour, store.Forever)
	tile := &Tile{Level: l, Since: 0, Through: l.Start(1)}
	for i := range int64(store.TileBins) {
		b := Bin{Start: i * int64(l.Every()), Width: int64(l.Every()), Count: math.MaxInt64, Kind: Text, Text: string(bytes.Repeat([]byte{byte(i)}, MaxText))}
		if i%2 == 0 {
			b.Kind, b.Text, b.First, b.Last, b.Rest = Choice, "", math.Pi*float64(i), math.E, int64(l.Every())
			for s := range MaxStates {
				b.States = append(b.States, StateTime{math.MaxUint32 - uint32(s), int64(l.Every()) >> s})
			}
		}
		tile.Bins = append(tile.Bins, b)
	}
	blob := Append(nil, tile)
	if len(blob) > store.MaxRollup {
		t.Errorf("the tile takes %d bytes, more than a row may have", len(blob))
	}
	if err := Decode(new(Tile), row(tile, blob)); err != nil {
		t.Error(err)
	}
}

func TestTruncatedAndExtended(t *testing.T) { truncate(t, 20) }

func TestLong_TruncatedAndExtended(t *testing.T) { truncate(t, 40) }

func truncate(t *testing.T, seeds uint64) {
	for seed := range seeds {
		all := randomSamples(rand.New(rand.NewPCG(seed, 3)), 60)
		canonical(all)
		l := store.LevelOf(time.Second, store.Forever)
		for _, tile := range tilesOf(l, modelBins(all, int64(l.Every()))) {
			blob := Append(nil, tile)
			for n := range blob {
				if err := Decode(new(Tile), row(tile, blob[:n])); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("the first %d of %d bytes decode with the error %v", n, len(blob), err)
				}
			}
			if err := Decode(new(Tile), row(tile, append(blob, 0))); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("a tile with an extra byte decodes with the error %v", err)
			}
		}
	}
}

// goldenBody is the blob of a tile with three kinds of bins, without its version and checksum.
// docs/format/rollup.md explains it.
const goldenBody = "030403820002020884038300010202022080a8d6b9070000000000286bee00000000010314050300050000" +
	"0014fe0080804000beab3c0002000000020080c8afa02500046f6e"

// golden is the blob that Append makes, and goldenFirst a blob of version 1.
const (
	golden      = "02" + goldenBody + "7f816ebb"
	goldenFirst = "01" + goldenBody
)

func goldenTile() *Tile {
	l := store.LevelOf(10*time.Second, store.Forever)
	const second = int64(time.Second)
	r := &sample.Run{Type: sample.Float64}
	for i, v := range []float64{1.5, 2.5, 2} {
		r.Append(&sample.Sample{Time: int64(1+4*i) * second, Word: math.Float64bits(v), Tag: sample.MakeTag(sample.Severity(i%2), 0)})
	}
	states := &sample.Run{Type: sample.Enum}
	states.Append(&sample.Sample{Time: 35 * second, Word: 1})
	texts := &sample.Run{Type: sample.String}
	texts.Append(&sample.Sample{Time: 41 * second, Bytes: []byte("on")})
	a := NewAccumulator(10 * second)
	bins := a.Add(nil, r, 0, 3)
	bins = a.Add(bins, states, 0, 1)
	bins = a.Add(bins, texts, 0, 1)
	return &Tile{Level: l, Since: -20 * second, Through: 50 * second, Bins: a.Close(bins, 50*second)}
}

func TestGolden(t *testing.T) {
	want := goldenTile()
	if got := hex.EncodeToString(Append(nil, want)); got != golden {
		t.Errorf("the tile is\n%s\nnot\n%s", got, golden)
	}
	for _, text := range []string{golden, goldenFirst} {
		blob, _ := hex.DecodeString(text)
		got := new(Tile)
		if err := Decode(got, row(want, blob)); err != nil {
			t.Fatal(err)
		}
		if d := difference(got, want); d != "" {
			t.Error(d)
		}
	}
}

// TestAnyChangeOfATileIsDetected changes each bit of a blob.
func TestAnyChangeOfATileIsDetected(t *testing.T) {
	tile := goldenTile()
	blob := Append(nil, tile)
	for i := range 8 * len(blob) {
		blob[i/8] ^= 1 << (i % 8)
		if err := Decode(new(Tile), row(tile, blob)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with bit %d changed: %v", i, err)
		}
		blob[i/8] ^= 1 << (i % 8)
	}
}

// TestDamagedTilesWithoutChecksum truncates blobs of version 1 at each byte, and changes each of
// their bits. A change may give another tile, but it must be one that can be stored.
func TestDamagedTilesWithoutChecksum(t *testing.T) {
	l := store.LevelOf(time.Second, store.Forever)
	for seed := range uint64(5) {
		all := randomSamples(rand.New(rand.NewPCG(seed, 5)), 20)
		canonical(all)
		tiles := tilesOf(l, modelBins(all, int64(l.Every())))
		for _, tile := range append(tiles[:min(len(tiles), 4)], goldenTile()) {
			blob := Append(nil, tile)
			blob = blob[:len(blob)-checksum.Size]
			blob[0] = firstVersion
			for n := range blob {
				if err := Decode(new(Tile), row(tile, blob[:n])); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("the first %d of %d bytes decode with the error %v", n, len(blob), err)
				}
			}
			for i := range 8 * len(blob) {
				blob[i/8] ^= 1 << (i % 8)
				decodesSafely(t, tile, blob)
				blob[i/8] ^= 1 << (i % 8)
			}
		}
	}
}

// decodesSafely fails the test if a blob decodes into a tile that is not the same after it is
// encoded again.
func decodesSafely(t *testing.T, tile *Tile, blob []byte) {
	t.Helper()
	first, second := new(Tile), new(Tile)
	if err := Decode(first, row(tile, blob)); err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("a damaged tile decodes with the error %v", err)
		}
		return
	}
	if err := Decode(second, row(tile, Append(nil, first))); err != nil {
		t.Fatalf("a tile from a damaged blob cannot be read again: %v\n%x", err, blob)
	}
	if d := difference(second, first); d != "" {
		t.Fatalf("a tile from a damaged blob changes when it is stored: %s\n%x", d, blob)
	}
}

// TestSizes checks the maximum bytes per bin for each kind of values.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		what  string
		most  float64
		value func(*rand.Rand, int) float64
	}{
		{"a constant", 0.5, func(*rand.Rand, int) float64 { return 5.25 }},
		{"12 bits of noise around a slow wave", 11, func(rng *rand.Rand, i int) float64 {
			return math.Round(2000+1000*math.Sin(float64(i)/5000)+20*rng.NormFloat64()) / 100
		}},
		{"steps", 9, func(_ *rand.Rand, i int) float64 { return float64(i / 100) }},
		{"noise of full mantissa", 33, func(rng *rand.Rand, _ int) float64 { return 10 + rng.NormFloat64() }},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		l := store.LevelOf(10*time.Second, store.Forever)
		r := &sample.Run{Type: sample.Float64}
		for i := range 100000 {
			r.Append(&sample.Sample{Time: int64(i)*1e9 + rng.Int64N(20000), Word: math.Float64bits(c.value(rng, i))})
		}
		a := NewAccumulator(int64(l.Every()))
		bins, size := a.Add(nil, r, 0, r.Len()), 0
		for _, tile := range tilesOf(l, bins) {
			size += len(Append(nil, tile))
		}
		per := float64(size) / float64(len(bins))
		t.Logf("%s: %.2f bytes a bin", c.what, per)
		if per > c.most {
			t.Errorf("%s takes %.2f bytes a bin, more than %v", c.what, per, c.most)
		}
	}
}

func FuzzDecode(f *testing.F) {
	blob, _ := hex.DecodeString(golden)
	f.Add(blob, int64(10000), int64(0))
	for seed := range uint64(20) {
		all := randomSamples(rand.New(rand.NewPCG(seed, 4)), 80)
		canonical(all)
		l := store.LevelOf(time.Second, store.Forever)
		for _, tile := range tilesOf(l, modelBins(all, int64(l.Every()))) {
			f.Add(Append(nil, tile), l.Every().Milliseconds(), int64(tile.Tile))
		}
	}
	f.Fuzz(func(t *testing.T, blob []byte, ms, at int64) {
		l := store.LevelOf(time.Duration(1+(ms&0x1ffffff))*time.Millisecond, store.Forever)
		tile := &Tile{Level: l, Tile: store.Tile(at % 1000)}
		first := new(Tile)
		if Decode(first, row(tile, blob)) != nil {
			return
		}
		second := new(Tile)
		if err := Decode(second, row(tile, Append(nil, first))); err != nil {
			t.Fatal(err)
		}
		if d := difference(second, first); d != "" {
			t.Fatal(d)
		}
	})
}

// BenchmarkTile encodes and decodes tiles of noisy readings.
func BenchmarkTile(b *testing.B) {
	l := store.LevelOf(10*time.Second, store.Forever)
	r := benchRun(sample.Float64, 100*store.TileBins)
	bins := NewAccumulator(int64(l.Every())).Add(nil, r, 0, r.Len())
	tile := tilesOf(l, bins)[0]
	blob := Append(nil, tile)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Append(blob[:0], tile)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := Decode(tile, row(tile, blob)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package pebble

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

func openIn(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// tiers is a PV on all tiers. On each tier it has a block in each bucket of some years, in all
// bucket sizes of the tier, and tiles of an hour and of a week.
type tiers struct {
	*testing.T
	*Store
	pv     string
	blocks []store.Block
	tiles  []store.Rollup
}

func newTiers(t *testing.T, s *Store, pv string, from, to time.Time, step time.Duration) *tiers {
	l := &tiers{T: t, Store: s, pv: pv}
	entry := store.Channel{PV: pv, Types: []sample.Type{sample.Float64}}
	starts := map[store.Span]store.Bucket{}
	for at := from; at.Before(to); at = at.Add(step) {
		for r := range store.Tier(store.NumTiers) {
			for size := store.Hour; size <= r.Longest(); size++ {
				b := size.Of(at.UnixNano()).In(r)
				if _, ok := starts[b.Span()]; !ok {
					starts[b.Span()] = b
					entry.Starts = append(entry.Starts, b)
				}
				l.blocks = append(l.blocks, store.Block{
					BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: at.UnixNano(), N: uint32(len(l.blocks))},
					End:      at.UnixNano(), Count: 1, Blob: bytes.Repeat([]byte{byte(r)}, 100),
				})
			}
			for _, every := range []time.Duration{time.Hour / store.TileBins, 7 * 24 * time.Hour / store.TileBins} {
				level := store.LevelOf(every, r)
				if at.Equal(from) {
					entry.Levels = append(entry.Levels, level)
				}
				l.tiles = append(l.tiles, store.Rollup{PV: pv, Level: level, Tile: level.Tile(at.UnixNano()), Blob: []byte("bins")})
			}
		}
	}
	l.must(s.AddChannel(t.Context(), entry))
	l.must(s.PutBlocks(t.Context(), l.blocks...))
	l.must(s.PutRollups(t.Context(), l.tiles...))
	return l
}

func (l *tiers) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// check compares the rows that exist with the rows that should exist after Expire at a time.
func (l *tiers) check(now int64) (expired int) {
	l.Helper()
	wrong := func(what string, there, due bool) {
		if due {
			expired++
		}
		if there == due {
			l.Errorf("%s: %s exists: %v; it has expired: %v", l.pv, what, there, due)
		}
	}
	for i := range l.blocks {
		b := &l.blocks[i]
		there := false
		for got, err := range l.Blocks(l.Context(), l.pv, b.Bucket, b.Start, b.End) {
			l.must(err)
			there = there || got.N == b.N && bytes.Equal(got.Blob, b.Blob)
		}
		at, ok := b.Bucket.Expires()
		wrong(fmt.Sprintf("a block on tier %v in the %v from %v", b.Bucket.Tier(), b.Bucket.Size(), time.Unix(0, b.Bucket.Start()).UTC()), there, ok && at <= now)
	}
	for _, r := range l.tiles {
		there := false
		for _, err := range l.Rollups(l.Context(), l.pv, r.Level, r.Tile, r.Tile) {
			l.must(err)
			there = true
		}
		at, ok := r.Level.Expires(r.Tile)
		wrong(fmt.Sprintf("tile %d of level %v", r.Tile, r.Level), there, ok && at <= now)
	}
	return expired
}

// TestExpire checks that rows expire exactly on time and that other rows stay. It does so on
// all tiers and in buckets of all sizes, whose keys are interleaved.
func TestExpire(t *testing.T) { checkExpire(t, 59*24*time.Hour, 2) }

// TestLong_Expire is TestExpire with more rows and more calls of Expire.
func TestLong_Expire(t *testing.T) { checkExpire(t, 29*24*time.Hour, 8) }

// checkExpire writes blocks and tiles of two PVs every step. It calls Expire just before and
// at the time at which a row expires, for a number of blocks and tiles of each PV.
func checkExpire(t *testing.T, step time.Duration, calls int) {
	s := openIn(t, t.TempDir())
	begin := time.Date(1969, 3, 1, 0, 0, 0, 0, time.UTC)
	early := newTiers(t, s, "EARLY", begin, begin.AddDate(3, 0, 0), step)
	late := newTiers(t, s, "LATE", begin.AddDate(55, 0, 0), begin.AddDate(58, 0, 0), step)
	var times []int64
	for _, l := range []*tiers{early, late} {
		for i := 0; i < len(l.blocks); i += len(l.blocks) / calls {
			if at, ok := l.blocks[i].Bucket.Expires(); ok {
				times = append(times, at-1, at)
			}
		}
		for i := 0; i < len(l.tiles); i += len(l.tiles) / calls {
			if at, ok := l.tiles[i].Level.Expires(l.tiles[i].Tile); ok {
				times = append(times, at-1, at)
			}
		}
	}
	slices.Sort(times)
	before := 0
	for _, now := range slices.Compact(append(times, begin.AddDate(100, 0, 0).UnixNano())) {
		early.must(s.Expire(t.Context(), now))
		expired := early.check(now) + late.check(now)
		if expired < before {
			t.Fatalf("%d rows have expired, after %d rows before", expired, before)
		}
		before = expired
	}
	if kept := len(early.blocks) + len(early.tiles) + len(late.blocks) + len(late.tiles) - before; kept == 0 || before < kept {
		t.Errorf("at the end %d rows have expired and %d are kept", before, kept)
	}
}

// TestExpiredIsGoneFromDisk checks that expired rows free their disk space once Pebble has
// compacted its files.
func TestExpiredIsGoneFromDisk(t *testing.T) {
	const days, blobSize = 40, 256 << 10
	s := openIn(t, t.TempDir())
	now := time.Now()
	b := store.Day.Of(now.UnixNano()).In(store.Keep30d)
	noise := rand.NewChaCha8([32]byte{})
	put := func(b store.Bucket) {
		t.Helper()
		blob := make([]byte, blobSize)
		_, _ = noise.Read(blob)
		if err := s.AddChannel(t.Context(), store.Channel{PV: "A", Starts: []store.Bucket{b}}); err != nil {
			t.Fatal(err)
		}
		if err := s.PutBlocks(t.Context(), store.Block{BlockKey: store.BlockKey{PV: "A", Bucket: b, Start: b.Start()}, End: b.Start(), Blob: blob}); err != nil {
			t.Fatal(err)
		}
	}
	for range days {
		put(b)
		put(b.In(store.Forever))
		b = b.Next()
	}
	tables := func() (bytes int64) {
		t.Helper()
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
			t.Fatal(err)
		}
		return s.db.Metrics().Total().TablesSize
	}
	before := tables()
	// At this time the buckets of all days have expired.
	if err := s.Expire(t.Context(), b.Start()+int64(store.Keep30d.Keep())); err != nil {
		t.Fatal(err)
	}
	if after := tables(); before < 2*days*blobSize || after > (days+1)*blobSize {
		t.Errorf("the archive has shrunk from %d MiB to %d MiB; half of it had expired", before>>20, after>>20)
	}
}

// TestExpireWritesOnlyWhatIsDue checks that Expire writes nothing if no row has expired.
func TestExpireWritesOnlyWhatIsDue(t *testing.T) {
	s := openIn(t, t.TempDir())
	now := time.Now()
	l := newTiers(t, s, "A", now.Add(-time.Hour), now, 10*time.Minute)
	written := func() uint64 { return s.db.Metrics().WAL.BytesIn }
	due := now.AddDate(1, 0, 1)
	for _, at := range []time.Time{now, due} {
		l.must(s.Expire(t.Context(), at.UnixNano()))
		before := written()
		l.must(s.Expire(t.Context(), at.UnixNano()))
		if n := written() - before; n != 0 {
			t.Errorf("Expire writes %d bytes although no row has expired", n)
		}
	}
	if l.check(due.UnixNano()) == 0 {
		t.Error("Expire writes nothing although rows expire within a year")
	}
}

func BenchmarkExpireNothing(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UnixNano()
	const pvs = 10000
	for i := range pvs {
		entry := store.Channel{PV: fmt.Sprintf("SR:%05d", i), Shards: []int{i}, Types: []sample.Type{sample.Float64}}
		for _, r := range []store.Tier{store.Keep90d, store.Keep1y} {
			entry.Starts = append(entry.Starts, store.Day.Of(now-int64(200*24*time.Hour)).In(r), store.Day.Of(now).In(r))
			entry.Levels = append(entry.Levels, store.LevelOf(10*time.Second, r))
		}
		if err := s.AddChannel(b.Context(), entry); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := s.Expire(b.Context(), now); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pvs, "ns/PV")
}

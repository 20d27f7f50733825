package cassandra_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

// TestLong_ExpiredFilesGoWhole checks that Cassandra deletes whole files of windows that have
// expired, with two tiers in use at the same time. Files of other windows and of the tier
// Forever stay. Two things must not keep an expired file: deletions, which are tombstones in a
// later window, and blocks that were written again.
func TestLong_ExpiredFilesGoWhole(t *testing.T) {
	p := newFixture(t)
	for window := range oldWindows {
		p.now = p.due(window).Add(-toLive)
		p.archive(func(r store.Tier) time.Time { return p.old(r, window) })
	}
	old := p.files()
	if n, want := len(old), oldWindows*len(everyTable)*2; n < want {
		t.Errorf("there are %d files of old windows, want at least %d: %v", n, want, old)
	}
	p.now = p.due(oldWindows)
	today := func(store.Tier) time.Time { return p.now }
	for _, r := range testedTiers {
		_, err := p.DropBucket(t.Context(), expiringPV(1), store.Day.Of(p.old(r, 0).UnixNano()).In(r), p.now.UnixNano())
		p.must(err)
	}
	p.archive(today)
	p.hurry()
	for deadline := time.Now().Add(expireWait); ; wait(time.Second) {
		p.archive(today) // Cassandra searches for expired files when it flushes
		var left []string
		for f := range p.files() {
			if old[f] {
				left = append(left, f)
			}
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("these files of expired windows still exist: %v", left)
		}
	}
	const whole = expiringPVs * 3
	for _, r := range testedTiers {
		p.expect(r, p.now, whole)
		for window := range oldWindows {
			want := 0
			if r == store.Forever {
				if want = whole; window == 0 {
					want -= 2 // blocks of the dropped bucket
				}
			}
			p.expect(r, p.old(r, window), want)
		}
	}
}

const (
	oldWindows  = 3
	expiringPVs = 8
	toLive      = 20 * time.Second // of rows that expire during the test
	expireWait  = 5 * time.Minute  // enough on a busy machine
)

func expiringPV(i int) string { return fmt.Sprintf("P:%d", i) }

var (
	testedTiers = []store.Tier{store.Keep1d, store.Keep90d, store.Forever}
	everyTable  = []string{"block", "block_part", "block_apart", "rollup"} // all tables of a tier
)

// fixture is an archive on a Cassandra node of its own. The test sets the archive's clock.
type fixture struct {
	*torn
	node  *cassandra.Node
	begun time.Time // a midnight
	now   time.Time
}

func newFixture(t *testing.T) *fixture {
	p := &fixture{node: cassandra.Start(t), begun: time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)}
	p.now = p.begun
	cfg := cql.Config{
		Hosts: []string{p.node.Addr()}, Keyspace: "expiring", Timeout: 30 * time.Second, Tiers: testedTiers,
		Now: func() time.Time { return p.now }, Timestamps: func() time.Time { return p.now },
	}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	p.torn = &torn{T: t, Store: open(t, cfg), session: connect(t, cfg), keyspace: cfg.Keyspace}
	p.Hasten(time.Second, 2*time.Second)
	return p
}

// due returns when the rows of an old window expire. Windows begin three days apart, and no
// window of a tested tier is that long.
func (p *fixture) due(window int) time.Time {
	return p.begun.Add(time.Duration(window) * 72 * time.Hour)
}

// old returns a time in the day whose bucket expires when the window is due.
func (p *fixture) old(r store.Tier, window int) time.Time {
	return p.due(window).Add(-r.Keep() - 24*time.Hour)
}

// dayLevel returns a level whose tiles are one day wide.
func dayLevel(r store.Tier) store.Level { return store.LevelOf(24*time.Hour/store.TileBins, r) }

// archive writes a small block, a large block and a tile of a day on each tier, each of them
// twice, and flushes them to disk.
func (p *fixture) archive(day func(store.Tier) time.Time) {
	p.Helper()
	for _, r := range testedTiers {
		at := day(r).UnixNano()
		for i := range expiringPVs {
			small := store.Block{
				BlockKey: store.BlockKey{PV: expiringPV(i), Bucket: store.Day.Of(at).In(r), Start: at, Writer: store.WriterID{1}, N: 1},
				End:      at + 1000, Count: 1, Type: sample.Float64, Blob: blob(1)[:50<<10],
			}
			large := small
			large.N, large.Blob = 2, blob(2)[:600<<10]
			tile := store.Rollup{PV: expiringPV(i), Level: dayLevel(r), Tile: dayLevel(r).Tile(at), Stamp: p.now.UnixNano(), Blob: []byte("bins")}
			for range 2 {
				p.must(p.PutBlocks(p.Context(), small, large))
				p.must(p.PutRollups(p.Context(), tile))
			}
		}
	}
	p.node.Nodetool(p, "flush", p.keyspace)
}

// files returns the SSTables of the tiers that expire.
func (p *fixture) files() map[string]bool {
	p.Helper()
	out := map[string]bool{}
	for _, r := range testedTiers[:2] {
		for _, t := range everyTable {
			table := t + "_" + r.String()
			for f := range p.node.Files(p, p.keyspace, table) {
				out[table+"/"+f] = true
			}
		}
	}
	return out
}

// hurry makes Cassandra drop expired rows at once. This is safe because no node was down, so
// no node has missed a deletion.
func (p *fixture) hurry() {
	p.Helper()
	for _, r := range testedTiers[:2] {
		for _, t := range everyTable {
			table, options, pairs := t+"_"+r.String(), map[string]string{}, []string{}
			p.must(p.session.Query("SELECT compaction FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", p.keyspace, table).
				ScanContext(p.Context(), &options))
			options["expired_sstable_check_frequency_seconds"] = "1"
			for k, v := range options {
				pairs = append(pairs, fmt.Sprintf("'%s': '%s'", k, v))
			}
			p.exec("ALTER TABLE @" + table + " WITH gc_grace_seconds = 0 AND compaction = {" + strings.Join(pairs, ", ") + "}")
		}
	}
}

// expect checks the number of blocks and tiles of a day.
func (p *fixture) expect(r store.Tier, day time.Time, want int) {
	p.Helper()
	at, n := day.UnixNano(), 0
	for i := range expiringPVs {
		for _, err := range p.Blocks(p.Context(), expiringPV(i), store.Day.Of(at).In(r), at, at) {
			p.must(err)
			n++
		}
		tile := dayLevel(r).Tile(at)
		for _, err := range p.Rollups(p.Context(), expiringPV(i), dayLevel(r), tile, tile) {
			p.must(err)
			n++
		}
	}
	if n != want {
		p.Errorf("tier %v has %d blocks and tiles of %v, want %d", r, n, day, want)
	}
}

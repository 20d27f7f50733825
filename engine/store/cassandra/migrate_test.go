package cassandra_test

import (
	"bytes"
	"testing"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// TestSchemaOfVersion1IsUpgraded checks that an upgrade of a version 1 archive keeps the
// archive's contents.
func TestSchemaOfVersion1IsUpgraded(t *testing.T) {
	cfg := config(t)
	s := &torn{T: t, session: connect(t, cfg), keyspace: cfg.Keyspace}
	for _, stmt := range []string{
		"ALTER TABLE @block_forever DROP reaches", "ALTER TABLE @channel DROP levels", "DROP TABLE @rollup_forever",
		"DROP TABLE @journal_part", "DROP TABLE @block_part_forever", "DROP TABLE @block_apart_forever",
		"ALTER TABLE @channel DROP deleted", "DELETE FROM @schema_version WHERE part = 'expanded'",
		"ALTER TABLE @journal DROP size", "ALTER TABLE @block_forever DROP stamp", "ALTER TABLE @metadata DROP properties",
		"ALTER TABLE @journal WITH default_time_to_live = 172800",
		"INSERT INTO @metadata (pv, time, kind, elements, units, precision, limits, host) VALUES ('A', 5, 11, 1, 'mA', 1, [1,2,3,4,5,6,7,8], 'h')",
		"INSERT INTO @journal (shard, writer, n, seq, names, body) VALUES (1, 0x01000000000000000000000000000000, 1, 1, 0x01, 0x02)",
		"UPDATE @schema_version SET version = 1 WHERE part = 'tables'",
	} {
		s.exec(stmt)
	}
	if _, err := cassandrastore.Open(t.Context(), cfg); err == nil {
		t.Error("Open accepts a schema of version 1")
	}
	for range 2 {
		if err := schema.Create(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	s.Store = open(t, cfg)
	if m, found, err := s.MetadataAt(t.Context(), "A", 5); !found || err != nil || m.Units != "mA" || len(m.Properties) != 0 {
		t.Errorf("metadata from before the upgrade are %+v, %v", m, err)
	}
	rows := 0
	for r, err := range s.Journal(t.Context(), 1, store.WriterID{1}, 0, 0) {
		s.must(err)
		if rows++; !bytes.Equal(r.Blob, []byte{2}) {
			t.Errorf("a journal row from before the upgrade is %+v", r)
		}
	}
	if rows != 1 {
		t.Errorf("there are %d journal rows from before the upgrade, want 1", rows)
	}
	s.must(s.PutBlocks(t.Context(), large("B", 1, 1)))
	if got, err := s.blocks("B"); err != nil || len(got) != 1 {
		t.Errorf("there are %d large blocks, %v; want 1", len(got), err)
	}
	var ttl int
	err := s.session.Query("SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'journal_part'",
		cfg.Keyspace).ScanContext(t.Context(), &ttl)
	if err != nil || ttl != 172800+3600 {
		t.Errorf("parts are kept for %d s, %v; want an hour longer than their rows", ttl, err)
	}
}

// TestSchemaOfVersion2IsUpgraded upgrades an archive of version 2. Readers then find both new
// blocks and earlier ones, whose partitions store their reach in another column.
func TestSchemaOfVersion2IsUpgraded(t *testing.T) {
	cfg := config(t)
	s := &torn{T: t, session: connect(t, cfg), keyspace: cfg.Keyspace}
	day := store.Day.Of(0)
	for _, stmt := range []string{
		"ALTER TABLE @block_forever DROP reaches", "ALTER TABLE @channel DROP levels", "DROP TABLE @rollup_forever", "ALTER TABLE @claim DROP sealing", "ALTER TABLE @claim DROP saved",
		"ALTER TABLE @channel DROP deleted", "DELETE FROM @schema_version WHERE part = 'expanded'",
		"UPDATE @schema_version SET version = 2 WHERE part = 'tables'",
		"UPDATE @channel SET present = true, shards = {1}, starts = {1}, types = {11} WHERE pv = 'A'",
	} {
		s.exec(stmt)
	}
	const reach = 1000
	old := store.Block{BlockKey: store.BlockKey{PV: "A", Bucket: day, Start: 100, Writer: store.WriterID{1}, N: 1}, End: 100 + reach, Count: 2, Type: 11, Blob: []byte("old")}
	s.exec(`INSERT INTO @block_forever (pv, bucket, start, writer, n, end_time, samples, kind, low, high, total, size, body)
		VALUES (?, ?, ?, ?, ?, ?, 2, 11, 0, 0, 0, 3, ?)`, old.PV, int64(day), old.Start, old.Writer[:], 1, old.End, old.Blob)
	s.exec("UPDATE @block_forever USING TIMESTAMP ? SET reach = ? WHERE pv = ? AND bucket = ?", reach, reach, old.PV, int64(day))

	cfg.Tiers = nil // all
	s.must(schema.Create(t.Context(), cfg))
	s.Store = open(t, cfg)
	if tiers, err := s.Tiers(t.Context()); err != nil || len(tiers) != store.NumTiers {
		t.Errorf("the upgraded archive has the tiers %v, %v", tiers, err)
	}
	c, found, err := s.Channel(t.Context(), "A")
	if err != nil || !found || len(c.Starts) != 1 || len(c.Levels) != 0 {
		t.Errorf("the directory entry is %+v, %v, %v", c, found, err)
	}
	overlapping := func(at int64) (starts []int64) {
		for b, err := range s.Blocks(t.Context(), "A", day, at, at) {
			s.must(err)
			starts = append(starts, b.Start)
		}
		return starts
	}
	if got := overlapping(old.End); len(got) != 1 || got[0] != old.Start {
		t.Errorf("at the end of the block from before the upgrade, a read finds the blocks that start at %v", got)
	}
	later := old
	later.N, later.Start, later.End = 2, 200, 200+10*reach
	s.must(s.PutBlocks(t.Context(), later))
	if got := overlapping(later.End); len(got) != 1 || got[0] != later.Start {
		t.Errorf("at the end of the later block, a read finds the blocks that start at %v", got)
	}
	if got := overlapping(old.End); len(got) != 2 {
		t.Errorf("where both blocks overlap, a read finds the blocks that start at %v", got)
	}
	if b, found, err := s.LastBlock(t.Context(), "A", day, 1e6); err != nil || !found || b.Start != later.Start {
		t.Errorf("the last block starts at %d: %v, %v", b.Start, found, err)
	}
	s.must(s.Delete(t.Context(), "A"))
	s.must(s.PutBlocks(t.Context(), old))
	if got := overlapping(old.End); len(got) != 1 {
		t.Errorf("after a deletion, a read finds the blocks that start at %v", got)
	}
}

// TestSchemaOfVersion3IsUpgraded upgrades an archive of version 3. The archive keeps its tiers
// and gets no others.
func TestSchemaOfVersion3IsUpgraded(t *testing.T) {
	cfg := config(t, store.Keep1d)
	s := &torn{T: t, session: connect(t, cfg), keyspace: cfg.Keyspace}
	s.exec("DROP TABLE @disk_guard")
	s.exec("UPDATE @schema_version SET version = 3 WHERE part = 'tables'")
	cfg.Tiers = nil
	s.must(schema.Create(t.Context(), cfg))
	s.Store = open(t, cfg)
	if tiers, err := s.Tiers(t.Context()); err != nil || len(tiers) != 2 {
		t.Errorf("the upgraded archive has the tiers %v, %v", tiers, err)
	}
	if f, found, err := s.Cutoff(t.Context()); found || err != nil {
		t.Errorf("the upgraded archive has the cutoff %+v, %v", f, err)
	}
	if shardProgress, err := s.CutoffProgress(t.Context()); len(shardProgress) > 0 || err != nil {
		t.Errorf("the upgraded archive has the progress %+v, %v", shardProgress, err)
	}
	s.must(s.PutCutoffProgress(t.Context(), store.CutoffProgress{Shard: 3, Cutoff: 7}))
	if f, found, err := s.Cutoff(t.Context()); found || err != nil {
		t.Errorf("with progress only, the archive has the cutoff %+v, %v", f, err)
	}
	s.must(s.PutCutoff(t.Context(), store.Cutoff{Before: 7, Size: 8}))
	if f, found, err := s.Cutoff(t.Context()); !found || err != nil || f != (store.Cutoff{Before: 7, Size: 8}) {
		t.Errorf("the upgraded archive has the cutoff %+v, %v", f, err)
	}
}

package cassandra_test

import (
	"slices"
	"testing"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// TestAnUpgradeCanBeTakenBackUntilItIsFinalized goes from release 0.1.0 to the next release and back, then
// finalizes. Statements of release 0.1.0 work until then.
func TestAnUpgradeCanBeTakenBackUntilItIsFinalized(t *testing.T) {
	next := config(t)
	next.Formats = store.Formats{Oldest: 5, Latest: 6}
	last := next
	last.Formats = store.Formats{Oldest: 6, Latest: 7}
	s := &torn{T: t, session: connect(t, next), keyspace: next.Keyspace}
	for _, stmt := range asRelease010 {
		s.exec(stmt)
	}
	level := func(st store.Store, want store.FormatLevel) {
		t.Helper()
		if got, err := st.FormatLevel(t.Context()); got != want || err != nil {
			t.Errorf("the archive has format level %d, %v; want %d", got, err, want)
		}
	}

	s.captureAs010("A", 1)
	_, err := cassandrastore.Open(t.Context(), next)
	expect(t, err, schema.ErrNotExpanded, next.Keyspace, "format level 6", "varve schema")
	expect(t, schema.Create(t.Context(), last), store.ErrFormat, "format level 5", "levels 6 to 7")

	for shard := 2; shard < 4; shard++ { // an upgrade, which is taken back
		s.must(schema.Create(t.Context(), next))
		st := open(t, next)
		level(st, 5)
		s.must(st.AddChannel(t.Context(), store.Channel{PV: "A", Shards: []int{10 * shard}}))
		s.captureAs010("A", shard)
	}
	st := open(t, next)
	if c, found, err := st.Channel(t.Context(), "A"); err != nil || !found || !slices.Equal(c.Shards, []int{1, 2, 3, 20, 30}) || len(c.Deleted) > 0 {
		t.Errorf("the directory entry that both releases wrote is %+v, %v, %v", c, found, err)
	}
	for range 2 {
		if got, err := st.Finalize(t.Context()); got != 6 || err != nil {
			t.Errorf("Finalize returns %d, %v", got, err)
		}
	}
	level(open(t, next), 6)
	_, err = cassandrastore.Open(t.Context(), last)
	expect(t, err, schema.ErrNotExpanded, "format level 7")
	s.must(schema.Create(t.Context(), last))
	level(open(t, last), 6)
	var version int
	s.must(s.session.Query("SELECT version FROM "+s.keyspace+".schema_version WHERE part = 'tables'").ScanContext(t.Context(), &version))
	if version == 5 {
		t.Error("release 0.1.0 would not refuse the finalized archive")
	}
	old := next
	old.Formats = store.Formats{Oldest: 5, Latest: 5}
	_, err = cassandrastore.Open(t.Context(), old)
	expect(t, err, store.ErrFormat, "format level 6", "knows level 5")
	expect(t, schema.Create(t.Context(), old), store.ErrFormat)
}

// asRelease010 are statements that turn a new keyspace into one that release 0.1.0 created.
var asRelease010 = []string{
	"ALTER TABLE @channel DROP deleted",
	"DELETE FROM @schema_version WHERE part = 'expanded'",
	"UPDATE @schema_version SET version = 5 WHERE part = 'tables'",
}

// captureAs010 writes and reads a directory entry with the statements of release 0.1.0.
func (s *torn) captureAs010(pv string, shard int) {
	s.Helper()
	s.exec(`UPDATE @channel SET present = true, shards = shards + ?, starts = starts + ?, types = types + ?,
		levels = levels + ? WHERE pv = ?`, []int64{int64(shard)}, []int64{}, []int64{}, []int64{}, pv)
	var shards, starts, types, levels []int64
	err := s.session.Query("SELECT pv, shards, starts, types, levels FROM "+s.keyspace+".channel WHERE pv = ?", pv).
		ScanContext(s.Context(), &pv, &shards, &starts, &types, &levels)
	if err != nil || !slices.Contains(shards, int64(shard)) {
		s.Errorf("release 0.1.0 reads the shards %v, %v; want %d too", shards, err, shard)
	}
}

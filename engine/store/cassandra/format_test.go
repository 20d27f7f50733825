package cassandra_test

import (
	"testing"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// TestAnUpgradeCanBeTakenBackUntilItIsFinalized goes to the next release and back, then finalizes. The
// keyspace has no row "expanded" at first, as release 0.1.0 leaves it.
func TestAnUpgradeCanBeTakenBackUntilItIsFinalized(t *testing.T) {
	old := config(t)
	session := connect(t, old)
	if err := session.Query("DELETE FROM " + old.Keyspace + ".schema_version WHERE part = 'expanded'").ExecContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	release := func(oldest, latest store.FormatLevel) cql.Config {
		cfg := old
		cfg.Formats = store.Formats{Oldest: oldest, Latest: latest}
		return cfg
	}
	next, last := release(5, 6), release(6, 7)
	level := func(st store.Store, want store.FormatLevel) {
		t.Helper()
		if got, err := st.FormatLevel(t.Context()); got != want || err != nil {
			t.Errorf("the archive has format level %d, %v; want %d", got, err, want)
		}
	}

	level(open(t, old), 5)
	_, err := cassandrastore.Open(t.Context(), next)
	expect(t, err, schema.ErrNotExpanded, old.Keyspace, "format level 6", "varve schema")
	expect(t, schema.Create(t.Context(), last), store.ErrFormat, "format level 5", "levels 6 to 7")

	for range 2 { // an upgrade, which is taken back
		if err := schema.Create(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		level(open(t, next), 5)
		if err := schema.Create(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		level(open(t, old), 5)
	}
	st := open(t, next)
	for range 2 {
		if got, err := st.Finalize(t.Context()); got != 6 || err != nil {
			t.Errorf("Finalize returns %d, %v", got, err)
		}
	}
	level(open(t, next), 6)
	level(open(t, last), 6)
	_, err = cassandrastore.Open(t.Context(), old)
	expect(t, err, store.ErrFormat, "format level 6", "knows level 5")
	expect(t, schema.Create(t.Context(), old), store.ErrFormat)
}

package cassandra_test

import (
	"testing"
	"time"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/engine/store/storetest"
	"varve.dev/varve/test/cassandra"
)

func TestMain(m *testing.M) { cassandra.Main(m) }

// config creates a keyspace with the archive's schema and returns its configuration. The
// schema has only the tier Forever and the given tiers, because creating the tables of a tier
// takes time.
func config(tb testing.TB, tiers ...store.Tier) cql.Config {
	tb.Helper()
	ks := cassandra.Shared(tb)
	// The time-out is long enough for a busy machine.
	cfg := cql.Config{
		Hosts: []string{ks.Addr}, Keyspace: ks.Name, Timeout: 30 * time.Second, Tiers: append(tiers, store.Forever),
	}
	if err := schema.Create(tb.Context(), cfg); err != nil {
		tb.Fatal(err)
	}
	return cfg
}

func open(tb testing.TB, cfg cql.Config) *cassandrastore.Store {
	tb.Helper()
	st, err := cassandrastore.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return st
}

// TestLong_Conformance repeats tests of TestConformance with larger blobs and more rows.
func TestLong_Conformance(t *testing.T) {
	cfg := config(t)
	storetest.RunLong(t, func(t *testing.T) store.Store { return open(t, cfg) })
}

func TestConformance(t *testing.T) {
	cfg := config(t)
	cfg.Tiers = nil
	for r := range store.Tier(store.NumTiers) {
		cfg.Tiers = append(cfg.Tiers, r)
	}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	storetest.Run(t,
		func(t *testing.T) store.Store { return open(t, cfg) },
		func(t *testing.T, st store.Store) store.Store {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
			return open(t, cfg)
		})
}

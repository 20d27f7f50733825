package compat

import (
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/compat/golden"
)

// TestKeyspacesOfReleasesAreReadAndContinued does the same with the golden keyspace of each release, after the
// tables and columns of this program are added.
func TestKeyspacesOfReleasesAreReadAndContinued(t *testing.T) {
	for _, a := range releases(t) {
		t.Run(a.Release, func(t *testing.T) {
			ks := cassandra.Shared(t)
			load(t, &a, ks)
			cfg := cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Timeout: 30 * time.Second}
			if err := schema.Create(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			readAndContinue(t, openKeyspace(t, cfg), &a)
		})
	}
}

func openKeyspace(t *testing.T, cfg cql.Config) store.Store {
	t.Helper()
	st, err := cassandrastore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func load(t *testing.T, a *golden.Archive, ks cassandra.Keyspace) {
	t.Helper()
	cluster := gocql.NewCluster(ks.Addr)
	cluster.ProtoVersion, cluster.Timeout = 5, time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	const stmt = " WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}"
	if err := session.Query("CREATE KEYSPACE IF NOT EXISTS " + ks.Name + stmt).ExecContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := golden.Load(t.Context(), session, ks.Name, unzipped(t, a, "cassandra.json.gz")); err != nil {
		t.Fatal(err)
	}
}

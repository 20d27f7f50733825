package compat

import (
	"errors"
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

// TestLong_KeyspacesOfReleasesAreReadAndContinued loads the golden keyspace of each release into Cassandra, adds the tables and
// columns of this program, reads the archive, continues it, and finalizes it.
func TestLong_KeyspacesOfReleasesAreReadAndContinued(t *testing.T) {
	for _, a := range releases(t) {
		t.Run(a.Release, func(t *testing.T) {
			cfg := keyspace(t, &a)
			if st, err := cassandrastore.Open(t.Context(), cfg); !errors.Is(err, schema.ErrNotExpanded) {
				if err == nil {
					_ = st.Close()
				}
				t.Fatalf("without the tables and columns of this program, the error is %v", err)
			}
			if err := schema.Create(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			st, err := cassandrastore.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			readAndContinue(t, st, &a)

			if level, err := st.Finalize(t.Context()); err != nil || level != store.LatestFormat {
				t.Fatalf("finalizing: level %d, %v", level, err)
			}
			more := golden.Expected(a.Release, a.Commit, golden.Rounds+1)
			checkAll(t, st, &more)
			old := cfg
			old.Formats = store.Formats{Oldest: 5, Latest: 5}
			if err := schema.Create(t.Context(), old); !errors.Is(err, store.ErrFormat) {
				t.Errorf("the schema Job of an older release ends with %v", err)
			}
		})
	}
}

// keyspace returns a keyspace with the tables and rows of a golden archive. Rows keep their timestamps, but those of the
// journal expire as if they had just been written: a keyspace is upgraded long before they expire.
func keyspace(t *testing.T, a *golden.Archive) cql.Config {
	t.Helper()
	ks := cassandra.Shared(t)
	cluster := gocql.NewCluster(ks.Addr)
	cluster.ProtoVersion, cluster.Timeout = 5, time.Minute
	cluster.DefaultIdempotence, cluster.RetryPolicy = true, retries{&gocql.ExponentialBackoffRetryPolicy{
		NumRetries: 20, Min: 100 * time.Millisecond, Max: 5 * time.Second,
	}}
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var datacenter string
	if err := session.Query("SELECT data_center FROM system.local").ScanContext(t.Context(), &datacenter); err != nil {
		t.Fatal(err)
	}
	create := "CREATE KEYSPACE " + ks.Name + " WITH replication = {'class': 'NetworkTopologyStrategy', '" + datacenter + "': 1}"
	if err := session.Query(create).ExecContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := golden.Load(t.Context(), session, ks.Name, unzipped(t, a, "cassandra.json.gz")); err != nil {
		t.Fatal(err)
	}
	return cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Timeout: 30 * time.Second}
}

// retries repeats statements on the only node. On a busy machine, Cassandra itself gives up some of them.
type retries struct {
	*gocql.ExponentialBackoffRetryPolicy
}

// GetRetryType implements gocql.RetryPolicy.
func (retries) GetRetryType(error) gocql.RetryType { return gocql.Retry }

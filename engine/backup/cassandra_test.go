package backup_test

import (
	"errors"
	"testing"
	"time"

	"varve.dev/varve/engine/backup"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

func TestMain(m *testing.M) { cassandra.Main(m) }

// newKeyspace returns an empty archive in Cassandra.
func newKeyspace(t *testing.T) store.Store {
	t.Helper()
	ks := cassandra.Shared(t)
	cfg := cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Timeout: 30 * time.Second, Tiers: []store.Tier{store.Forever}}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	st, err := cassandrastore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// An archive in a directory is restored into Cassandra. An engine continues there, and while it writes, a backup is made,
// which is restored into another keyspace and into a directory.
func TestCassandra(t *testing.T) {
	source, d := backup.Archive(t), backup.NewDir(t.TempDir())
	first := backup.MustCreate(t, source, d, "first")
	live := newKeyspace(t)
	restore := func(into store.Store, name string) error {
		_, _, err := backup.Restore(t.Context(), into, d, backup.RestoreOptions{Name: name, Shards: backup.TestShards})
		return err
	}
	if err := restore(live, "first"); err != nil {
		t.Fatal(err)
	}
	backup.CheckSame(t, first, live)

	w := backup.NewWorld(t, live, "L:1", "L:2")
	w.BeginNow() // otherwise the engine would seal samples of yesterday all the time, as it does in no archive
	w.Send(200)
	w.Checkpoint()
	w.Send(50)
	n := w.Sent()
	made := make(chan error, 1)
	go func() {
		_, err := backup.Create(t.Context(), live, d, backup.CreateOptions{Name: "live", Shards: backup.TestShards})
		made <- err
	}()
	for running := true; running; {
		select {
		case err := <-made:
			if running = false; err != nil {
				t.Fatal(err)
			}
		default:
			w.Send(10)
			w.Checkpoint()
		}
	}
	if err := restore(live, "live"); !errors.Is(err, backup.ErrNotEmpty) {
		t.Errorf("restoring into the live archive returned %v", err)
	}
	w.Close()
	other, dir := newKeyspace(t), backup.OpenDirectory(t)
	for name, into := range map[string]store.Store{"a keyspace": other, "a directory": dir} {
		if err := restore(into, "live"); err != nil {
			t.Fatal(err)
		}
		w.CheckRead(into, n, name)
		backup.CheckArchive(t, into, name)
	}
	backup.CheckSame(t, backup.MustCreate(t, other, backup.NewDir(t.TempDir()), "again"), dir)
}

package engine

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/test/cassandra"
)

// TestOnCassandra has the same happen in the store that several engines share.
func TestOnCassandra(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a Cassandra")
	}
	node := cassandra.Start(t)
	config := func(keyspace string) cassandrastore.Config {
		return cassandrastore.Config{Hosts: []string{node.Addr()}, Keyspace: keyspace, Timeout: 2 * time.Second}
	}
	open := func(t *testing.T, keyspace string) store.Store {
		if err := cassandrastore.CreateSchema(t.Context(), config(keyspace)); err != nil {
			t.Fatal(err)
		}
		st, err := cassandrastore.Open(t.Context(), config(keyspace))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
	t.Run("HandOver", func(t *testing.T) {
		handOver(t, open(t, "often"), 50*time.Millisecond)
		handOver(t, open(t, "seldom"), time.Hour)
	})
	t.Run("ReleaseWhileAway", func(t *testing.T) { releaseWhilePaused(t, node, open(t, "release")) })
	t.Run("BeforeTheSchema", func(t *testing.T) { beforeTheSchema(t, config("late")) })
}

// releaseWhilePaused releases a shard while Cassandra does not answer: it stays
// held until all is durable.
func releaseWhilePaused(t *testing.T, node *cassandra.Node, st store.Store) {
	ioc := &taps{}
	a := launch(t, st, ioc, Options{Checkpoint: time.Hour})
	b := launch(t, st, ioc, Options{Checkpoint: time.Hour})
	a.Apply(one(0, true, "A"))
	b.Apply(one(0, false, "A"))
	ioc.send("A", 0, 100)
	eventually(t, "both have claimed", func() bool { return a.ShardStatus(0).Claimed && b.ShardStatus(0).Claimed })
	node.Pause(t)
	ioc.send("A", 100, 200)
	a.Apply(Assignment{})
	eventually(t, "the outage is noticed", func() bool { return a.Storage() != "" && b.Storage() != "" })
	ioc.send("A", 200, 300)
	if got := a.Held(); !slices.Equal(got, []int{0}) {
		t.Errorf("held are %v: what is not durable is released", got)
	}
	node.Resume(t)
	eventually(t, "the shard is released", func() bool { return len(a.Held()) == 0 })
	wantAll(t, fleet{a, b}.reader(st), "A", 300, "when the store is back")
}

// beforeTheSchema captures while there is no table to write to.
func beforeTheSchema(t *testing.T, cfg cassandrastore.Config) {
	st := cassandrastore.Later(func() (cassandrastore.Config, error) { return cfg, nil }, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = st.Close() })
	l := launch(t, st, &taps{}, Options{Checkpoint: time.Hour})
	l.Apply(one(0, true, "A"))
	l.source.send("A", 0, 1000)
	eventually(t, "the engine waits", func() bool { return strings.HasPrefix(st.State(), "WaitingForSchema: ") })
	if n := l.Unsaved(); n != 1000 {
		t.Errorf("%d samples wait, 1000 were sent", n)
	}
	if err := cassandrastore.CreateSchema(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all is stored", func() bool { return l.Unsaved() == 0 && l.ShardStatus(0).Claimed && l.Storage() == "" })
	wantAll(t, &query.Reader{Store: st, Recent: l, Shards: 4}, "A", 1000, "once the schema is there")
}

package engine

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

// TestLong_OnCassandra repeats these tests with Cassandra, the store that several engines can
// share.
func TestLong_OnCassandra(t *testing.T) {
	node := cassandra.Start(t)
	config := func(keyspace string, tiers ...store.Tier) cql.Config {
		return cql.Config{Hosts: []string{node.Addr()}, Keyspace: keyspace, Timeout: 2 * time.Second, Tiers: append(tiers, store.Forever)}
	}
	open := func(t *testing.T, keyspace string, tiers ...store.Tier) store.Store {
		cfg := config(keyspace, tiers...)
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
	t.Run("HandOver", func(t *testing.T) {
		handOver(t, open(t, "often"), 50*time.Millisecond)
		handOver(t, open(t, "seldom"), time.Hour)
	})
	t.Run("Erasure", func(t *testing.T) { eraseWhileAShardChangesHands(t, open(t, "erasure")) })
	t.Run("ReleaseWhileAway", func(t *testing.T) { releaseWhilePaused(t, node, open(t, "release")) })
	t.Run("RetentionChange", func(t *testing.T) { retentionChange(t, open(t, "retention", store.Keep5y, store.Keep10y)) })
	t.Run("Lag", func(t *testing.T) { readsSayWhereAnEngineLags(t, open(t, "lag")) })
	t.Run("BeforeTheSchema", func(t *testing.T) { beforeTheSchema(t, config("late")) })
}

// releaseWhilePaused releases a shard while Cassandra does not respond. The shard must stay
// held until all samples are durable.
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
		t.Errorf("the engine holds shards %v, want 0: a shard with samples that are not durable was released", got)
	}
	node.Resume(t)
	eventually(t, "the shard is released", func() bool { return len(a.Held()) == 0 })
	wantAll(t, fleet{a, b}.reader(st), "A", 300, "when the store is back")
}

// beforeTheSchema captures samples before the tables exist.
func beforeTheSchema(t *testing.T, cfg cql.Config) {
	st := cassandrastore.Later(func() (cql.Config, error) { return cfg, nil }, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = st.Close() })
	l := launch(t, st, &taps{}, Options{Checkpoint: time.Hour})
	l.Apply(one(0, true, "A"))
	l.source.send("A", 0, 1000)
	eventually(t, "the engine waits", func() bool { return strings.HasPrefix(st.State(), "WaitingForSchema: ") })
	if n := l.Unsaved(); n != 1000 {
		t.Errorf("%d samples wait, 1000 were sent", n)
	}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all is stored", func() bool { return l.Unsaved() == 0 && l.ShardStatus(0).Claimed && l.Storage() == "" })
	wantAll(t, &query.Reader{Store: st, Recent: l, Shards: 4}, "A", 1000, "once the schema is there")
}

// retentionChange repeatedly changes the retention of a PV while samples arrive. The stored
// data must follow.
func retentionChange(t *testing.T, st store.Store) {
	ioc := &taps{}
	var reads sync.RWMutex
	l := launch(t, st, ioc, Options{Checkpoint: 50 * time.Millisecond}, func(l *life) {
		l.store.reading, l.sealCfg.DropAfter = &reads, 100*time.Millisecond
	})
	sent := 0
	for _, r := range []store.Tier{store.Forever, store.Keep5y, store.Keep10y, store.Keep5y, store.Forever} {
		a := one(0, true, "A")
		a[0].Channels[0].Settings = &capture.Settings{Retention: store.Retention{Raw: r}}
		l.Apply(a)
		for range 5 {
			ioc.send("A", sent, sent+1000)
			sent += 1000
			reads.Lock()
			wantAll(t, l.reader, "A", sent, r.String())
			reads.Unlock()
		}
		eventually(t, "all blocks are on tier "+r.String(), func() bool {
			c, _, err := st.Channel(t.Context(), "A")
			if err != nil {
				t.Fatal(err)
			}
			on := 0
			for b := range store.InUse(c.Starts, time.Now().UnixNano(), t0+7200e9) {
				for blk, err := range st.Blocks(t.Context(), "A", b, b.Start(), b.End()) {
					if err != nil {
						t.Fatal(err)
					}
					if on += blk.Count; blk.Bucket.Tier() != r {
						return false
					}
				}
			}
			return on >= sent
		})
		reads.Lock()
		wantAll(t, l.reader, "A", sent, "moved to "+r.String())
		reads.Unlock()
	}
	l.end()
	wantAll(t, &query.Reader{Store: st, Shards: 4}, "A", sent, "at the end")
}

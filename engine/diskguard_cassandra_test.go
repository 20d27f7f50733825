package engine

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

// TestLong_DiskGuardOnCassandra checks that the guard deletes as much as needed and then
// waits. In Cassandra, deleted data takes up space until nodetool garbagecollect has run.
func TestLong_DiskGuardOnCassandra(t *testing.T) {
	const limit = 1 << 30
	node := cassandra.Start(t, "data_disk_usage_max_disk_size: 1GiB")
	cfg := cql.Config{Hosts: []string{node.Addr()}, Keyspace: "crowded", Timeout: 30 * time.Second, Tiers: []store.Tier{store.Forever}}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	st, err := cassandrastore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if got, err := st.Limit(t.Context()); err != nil || got != limit {
		t.Errorf("the limit of the node is %d, %v", got, err)
	}

	const days = 40
	first := time.Now().Add(-(days + 2) * 24 * time.Hour).Truncate(24 * time.Hour)
	day := func(n int) store.Bucket { return store.Day.Of(first.Add(time.Duration(n) * 24 * time.Hour).UnixNano()) }
	rng := rand.New(rand.NewPCG(1, 2))
	if err := st.AddChannel(t.Context(), store.Channel{PV: "A", Shards: []int{0}, Starts: []store.Bucket{day(0), store.Day.Of(time.Now().UnixNano())}, Types: []sample.Type{sample.Float64}}); err != nil {
		t.Fatal(err)
	}
	for n := range days {
		for i := range uint32(120) { // enough data, because the store reports table sizes in MiB
			r := &sample.Run{Type: sample.Float64}
			start := day(n).Start() + int64(i)*int64(10*time.Minute)
			for k := range int64(4096) {
				r.Append(&sample.Sample{Time: start + k, Word: rng.Uint64()})
			}
			b := store.Block{
				BlockKey: store.BlockKey{PV: "A", Bucket: day(n), Start: start, Writer: store.WriterID{1}, N: uint32(n)*1000 + i},
				End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
			}
			if err := st.PutBlocks(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	node.Nodetool(t, "flush", cfg.Keyspace)
	size := func() int64 {
		n, err := st.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	full := size()
	left := func() (days int, oldest store.Bucket) {
		for n := range 40 {
			if _, found, err := st.LastBlock(t.Context(), "A", day(n), math.MaxInt64); err != nil {
				t.Fatal(err)
			} else if found {
				if days++; days == 1 {
					oldest = day(n)
				}
			}
		}
		return days, oldest
	}
	if full < 128<<20 {
		t.Fatalf("the archive has only %d bytes, want at least 128 MiB", full)
	}

	l := launch(t, st, &taps{}, Options{Checkpoint: time.Hour})
	l.Apply(allOf())
	eventually(t, "the shard is sealed", func() bool { return len(l.sealers()) == 4 && l.ShardStatus(0).Claimed })
	g := guard.New(guard.Config{
		Store: st, Limits: guard.Limits{Bytes: full, Pause: time.Second}, Shards: 4, Engine: store.NewWriter(), Sealers: l.sealers, Captured: l.capture.Shard,
		Reclaim: "run nodetool garbagecollect crowded on each node", Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	checkGuard := func() guard.Status {
		time.Sleep(time.Second) // a compaction makes the archive larger for a few checks
		if err := g.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		return g.Status()
	}
	checks := 0
	for checkGuard().Reason != guard.WaitingForRoom {
		if checks++; checks > 90 {
			t.Fatalf("after %d checks the guard does not wait for free space: %+v", checks, g.Status())
		}
	}
	n, oldest := left()
	st0 := g.Status()
	if n > days*87/100 || n < days*75/100 || oldest != day(days-n) || oldest.End() <= st0.Cutoff {
		t.Errorf("of %d days, %d are left; the oldest begins at %v, and the cutoff is %v", days, n, time.Unix(0, oldest.Start()), time.Unix(0, st0.Cutoff))
	}
	if !strings.Contains(st0.Message, "nodetool garbagecollect") || st0.Waiting < full/10 {
		t.Errorf("the status does not say that the guard waits for nodetool garbagecollect: %+v", st0)
	}
	for range 5 {
		if st := checkGuard(); st.Reason != guard.WaitingForRoom || st.Cutoff != st0.Cutoff {
			t.Errorf("the guard raises the cutoff while it waits: %+v", st)
		}
	}
	node.Nodetool(t, "flush", cfg.Keyspace)
	if now := size(); now < full*95/100 {
		t.Logf("Cassandra freed space without garbagecollect: %d of %d bytes are used", now, full)
	} else if st := checkGuard(); st.Reason != guard.WaitingForRoom || st.Cutoff != st0.Cutoff {
		t.Errorf("the guard raises the cutoff while tombstones are on disk: %+v", st)
	}
	node.Nodetool(t, "garbagecollect", cfg.Keyspace)
	eventually(t, "the guard notices the free space", func() bool { return checkGuard().Reason == guard.BelowLimit })
	if now := size(); now > full*90/100 {
		t.Errorf("after garbagecollect the archive still has %d of %d bytes", now, full)
	}
	if st := g.Status(); st.Cutoff != st0.Cutoff || st.Waiting != 0 {
		t.Errorf("after garbagecollect the status is %+v", st)
	}
	t.Logf("%d checks; %d bytes at first, %d after garbagecollect; %d of %d days are left", checks, full, size(), n, days)
}

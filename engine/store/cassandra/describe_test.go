package cassandra_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

// TestDescribeAsksTheNodes checks that a store describes its keyspace and its nodes.
func TestDescribeAsksTheNodes(t *testing.T) {
	cfg := config(t)
	d, err := store.Describe(t.Context(), open(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != "Cassandra" || !strings.Contains(d.Where, "keyspace "+cfg.Keyspace+" in datacenter ") || d.Replicas != 1 || d.Missing != "" {
		t.Errorf("the description is %+v", d)
	}
	if len(d.Nodes) != 1 || !d.Nodes[0].Up || d.Nodes[0].Bytes < 0 || d.Nodes[0].Address != cfg.Hosts[0] {
		t.Errorf("the nodes are %+v", d.Nodes)
	}
}

// TestLong_DescribeMeasuresTiers checks that the sizes of tables count for the right contents and tiers, once the
// node has written them to disk.
func TestLong_DescribeMeasuresTiers(t *testing.T) {
	node := cassandra.Start(t)
	cfg := cql.Config{Hosts: []string{node.Addr()}, Timeout: 30 * time.Second, Tiers: []store.Tier{store.Keep30d, store.Forever}}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	st := open(t, cfg)
	at := time.Now().UnixNano()
	level := store.LevelOf(10*time.Second, store.Keep30d)
	for i, bucket := range []store.Bucket{store.Day.Of(at).In(store.Keep30d), store.Day.Of(at)} {
		blob := make([]byte, 100<<10)
		random := rand.NewChaCha8([32]byte{byte(i)})
		for n := range uint32(30 * (i + 1)) { // 3 MB that last 30 days, and 6 MB that last forever
			_, _ = random.Read(blob) // always nil
			err := st.PutBlocks(t.Context(), store.Block{
				BlockKey: store.BlockKey{PV: "T:DESCRIBE", Bucket: bucket, Start: at + int64(n), Writer: store.WriterID{1}, N: n},
				End:      at + int64(n), Count: 1, Type: sample.Float64, Blob: blob,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.AddChannel(t.Context(), store.Channel{
		PV: "T:DESCRIBE", Shards: []int{0}, Starts: []store.Bucket{store.Day.Of(at).In(store.Keep30d), store.Day.Of(at)}, Levels: []store.Level{level},
	}); err != nil {
		t.Fatal(err)
	}
	pv, err := store.DescribePV(t.Context(), st, "T:DESCRIBE", at)
	want := []store.Part{
		{Contents: store.SampleContents, Tier: store.Keep30d, Tiered: true, Bytes: 30 * 100 << 10}, {Contents: store.RollupContents, Tier: store.Keep30d, Tiered: true, Bytes: -1},
		{Contents: store.SampleContents, Tier: store.Forever, Tiered: true, Bytes: 60 * 100 << 10},
	}
	slices.SortFunc(want, func(a, b store.Part) int { return cmp.Compare(a.Tier, b.Tier) })
	slices.SortStableFunc(pv.Parts, func(a, b store.Part) int { return cmp.Compare(a.Tier, b.Tier) })
	if err != nil || !slices.Equal(pv.Parts, want) || pv.Missing != "" || pv.Estimated {
		t.Errorf("the store holds %+v of the PV: %v, want %+v", pv, err, want)
	}
	node.Nodetool(t, "flush")
	d, err := store.Describe(t.Context(), st)
	if err != nil || d.Missing != "" || d.Estimated {
		t.Fatalf("the description is %+v: %v", d, err)
	}
	sizes, sum := map[store.Tier]int64{}, int64(0)
	for _, p := range d.Parts {
		sum += p.Bytes
		if p.Contents == store.SampleContents && p.Tiered {
			sizes[p.Tier] += p.Bytes
		}
	}
	if short, long := sizes[store.Keep30d], sizes[store.Forever]; short < 2e6 || short > 5e6 || long < 5e6 || long > 9e6 {
		t.Errorf("samples take %d bytes for 30 days and %d forever, want about 3 MB and 6 MB, of %+v", short, long, d.Parts)
	}
	if len(d.Nodes) != 1 || d.Nodes[0].Bytes != sum {
		t.Errorf("the nodes are %+v, and the parts have %d bytes", d.Nodes, sum)
	}
}

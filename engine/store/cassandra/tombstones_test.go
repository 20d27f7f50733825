package cassandra_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

// TestLong_TheDirectoryIsReadPastTombstones deletes so many PVs of an archive that a node refuses to
// read the directory in one request. The directory must be listed anyway.
func TestLong_TheDirectoryIsReadPastTombstones(t *testing.T) {
	node := cassandra.Start(t, "tombstone_warn_threshold: 20", "tombstone_failure_threshold: 200")
	cfg := cql.Config{Hosts: []string{node.Addr()}, Timeout: 30 * time.Second, Tiers: []store.Tier{store.Forever}}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	st := open(t, cfg)
	cfg, err := cfg.Complete()
	if err != nil {
		t.Fatal(err)
	}
	session := connect(t, cfg)
	const pvs, kept = 4000, 10 // every 400th stays
	var want []string
	var writes sync.WaitGroup
	slots := make(chan struct{}, 32)
	for i := range pvs {
		pv := fmt.Sprintf("T:TOMB:%05d", i)
		if i%(pvs/kept) == 0 {
			want = append(want, pv)
		}
		slots <- struct{}{}
		writes.Go(func() {
			defer func() { <-slots }()
			c := store.Channel{PV: pv, Shards: []int{1}, Starts: []store.Bucket{store.Day.Of(0)}}
			if err := st.AddChannel(t.Context(), c); err != nil {
				t.Error(err)
			}
			// A node counts the tombstones of columns, rows and ranges, and not those of partitions, which
			// Delete leaves here. The store takes its timestamps from the clock of the node.
			if i%(pvs/kept) != 0 {
				stmt := "DELETE present, shards, starts, types, levels FROM " + cfg.Keyspace + ".channel USING TIMESTAMP ? WHERE pv = ?"
				if err := session.Query(stmt, time.Now().Add(time.Hour).UnixMicro(), pv).ExecContext(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writes.Wait()
	var failure *gocql.RequestErrReadFailure
	plain := session.Query("SELECT pv, starts FROM " + cfg.Keyspace + ".channel").PageSize(1000).IterContext(t.Context())
	if err := plain.Close(); !errors.As(err, &failure) {
		t.Errorf("a node reads the whole directory: %v; the test shows nothing", err)
	} else {
		t.Logf("one request for the directory: %v, reasons %v", err, failure.ErrorMap)
	}
	var got []string
	for c, err := range st.Channels(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.PV)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the directory lists %d PVs: %s, want %d", len(got), strings.Join(got, " "), len(want))
	}
}

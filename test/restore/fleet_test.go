package restore

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

// shards is the number of shards of the archive.
const shards = 4

// level is the rollup level of the number PVs.
var level = store.LevelOf(time.Second, store.Forever)

// Both engines capture the PVs in pvs. Each PV in alone is captured only by the engine that is
// its key.
var (
	pvs   = []string{"N0", "N1", "N2", "N3", "N90D"}
	alone = map[string]string{"A": image, "B": "ONLYB"}
)

// all returns the names of all PVs.
func all() []string { return append([]string{alone["A"], alone["B"]}, pvs...) }

// fleet is a pair of engines, A and B, on one store. A seals the samples of both.
type fleet struct {
	t     *testing.T
	ioc   *ioc
	store store.Store
	gate  gate
	a, b  *engine.Engine
	from  int // number of the first sample that the engines can receive
	end   func()
}

// startFleet starts engines that capture all PVs of an IOC.
func startFleet(t *testing.T, i *ioc, node *cassandra.Node) *fleet {
	t.Helper()
	f := &fleet{t: t, ioc: i, store: openStore(t, node, keyspace), from: i.sent()}
	f.gate = gate{f.store, make(chan struct{}, 1)}
	f.a, f.b = f.engine(), f.engine()
	f.a.Apply(assignment(true, alone["A"]))
	f.b.Apply(assignment(false, alone["B"]))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.a.Run(ctx) })
	running.Go(func() { f.b.Run(ctx) })
	running.Go(func() { f.write(ctx) })
	f.end = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(f.end)
	return f
}

func (f *fleet) engine() *engine.Engine {
	return engine.New(engine.Options{
		Store: f.gate, Sources: capture.Sources{f.ioc}, Shards: shards,
		Flush: 50 * time.Millisecond, Checkpoint: 500 * time.Millisecond, Grace: time.Second,
	})
}

// assignment returns an assignment with pvs and one other PV, distributed over the shards.
func assignment(seal bool, other string) engine.Assignment {
	a := engine.Assignment{}
	for n, pv := range append([]string{other}, pvs...) {
		keep := store.Retention{Levels: [store.MaxLevels]store.Level{level}}
		if pv == "N90D" {
			keep = store.Retention{Raw: store.Keep90d}
		}
		s := a[n%shards]
		s.Seal = seal
		s.Channels = append(s.Channels, capture.Channel{PV: pv, Group: "lab/test", Settings: &capture.Settings{Retention: keep}})
		a[n%shards] = s
	}
	return a
}

// write makes the IOC send samples until ctx ends.
func (f *fleet) write(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		f.ioc.send(10)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// gate is a store that blocks writes of blocks while the gate is closed, so that engines
// cannot seal samples.
type gate struct {
	store.Store
	closed chan struct{}
}

func (g gate) close() { g.closed <- struct{}{} }
func (g gate) open()  { <-g.closed }

// PutBlocks implements store.Store.
func (g gate) PutBlocks(ctx context.Context, blocks ...store.Block) error {
	select {
	case g.closed <- struct{}{}:
		defer g.open()
		return g.Store.PutBlocks(ctx, blocks...)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// acknowledged sends n more samples of each number PV, and waits until the store has
// acknowledged all samples. It returns the number of samples of each number PV that were sent
// so far.
func (f *fleet) acknowledged(n int) (sent int) {
	f.t.Helper()
	f.ioc.send(n)
	sent = f.ioc.sent()
	stored := func(e *engine.Engine, pv string) bool {
		s, _ := e.Capture().Status(pv)
		return s.Stored >= uint64(samples(pv, sent)-samples(pv, f.from))
	}
	program.Eventually(f.t, "samples are acknowledged", func() bool {
		for _, pv := range pvs {
			if !stored(f.a, pv) || !stored(f.b, pv) {
				return false
			}
		}
		return stored(f.a, alone["A"]) && stored(f.b, alone["B"])
	})
	return sent
}

// checkpoint waits until all rows that are in the journal at the time of the call are sealed.
func (f *fleet) checkpoint() {
	f.t.Helper()
	type shardJournal struct {
		shard  int
		writer store.WriterID
	}
	want := map[shardJournal]store.Position{}
	for c := range f.claims() {
		for row, err := range f.store.Journal(f.t.Context(), c.Shard, c.Writer, c.Sealed, c.Last) {
			if err != nil {
				f.t.Fatal(err)
			}
			want[shardJournal{c.Shard, c.Writer}] = row.At
		}
	}
	program.Eventually(f.t, fmt.Sprintf("the rows of %d writers are sealed", len(want)), func() bool {
		for c := range f.claims() {
			if c.Sealed < want[shardJournal{c.Shard, c.Writer}] {
				return false
			}
		}
		return true
	})
}

// claims yields the claims of all shards.
func (f *fleet) claims() iter.Seq[store.Claim] {
	return func(yield func(store.Claim) bool) {
		for shard := range shards {
			claims, err := f.store.Claims(f.t.Context(), shard)
			if err != nil {
				f.t.Fatal(err)
			}
			for _, c := range claims {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// openStore opens the store of an archive, and closes it when the test ends.
func openStore(t *testing.T, node *cassandra.Node, keyspace string) store.Store {
	t.Helper()
	st, err := cassandrastore.Open(t.Context(), cql.Config{Hosts: []string{node.Addr()}, Keyspace: keyspace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

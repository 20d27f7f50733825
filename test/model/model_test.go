package model

import (
	"cmp"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/cassandra"
)

// The flag -seed 14 repeats the run of seed 14. The flags -seed 100 -seeds 500 run 500 seeds
// from 100 on.
var (
	firstSeed = flag.Int("seed", 0, "the first seed")
	seeds     = flag.Int("seeds", 0, "number of seeds; 0: the seeds that take less than a minute, or only the seed of -seed")
	steps     = flag.Int("steps", 0, "how many steps of each seed; 0: 80, and 40 on Cassandra")
)

func TestMain(m *testing.M) { cassandra.Main(m) }

// opener opens a store. The store may use now instead of the clock of the process.
type opener func(now func() time.Time) (store.Store, error)

func TestPebble(t *testing.T) {
	run(t, plan{seeds: 1, known: []int{44, 141}, steps: 80}, openPebble)
}

func TestLong_Pebble(t *testing.T) {
	run(t, plan{seeds: 7, first: 1, steps: 80}, openPebble)
}

func openPebble(t *testing.T) opener {
	dir := t.TempDir()
	return func(func() time.Time) (store.Store, error) { return pebble.Open(dir, pebble.Options{}) }
}

// TestLong_Cassandra runs all seeds in one keyspace, each in its own shard, because the
// creation of a keyspace takes longer than the run of a seed.
func TestLong_Cassandra(t *testing.T) {
	ks := cassandra.Shared(t)
	cfg := cql.Config{Hosts: []string{ks.Addr}, Keyspace: ks.Name, Tiers: tiers, Timeout: 20 * time.Second}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	run(t, plan{seeds: 2, steps: 40}, func(t *testing.T) opener {
		return func(now func() time.Time) (store.Store, error) {
			cfg := cfg
			cfg.Now = now
			return cassandrastore.Open(t.Context(), cfg)
		}
	})
}

// plan selects the seeds of a test and the number of steps of each seed.
type plan struct {
	seeds, first int   // number of seeds, and the first one
	known        []int // seeds that once failed
	steps        int
}

// run runs each seed in its own bubble.
func run(t *testing.T, p plan, open func(t *testing.T) opener) {
	switch {
	case *seeds > 0:
		p.seeds, p.known = *seeds, nil
	case *firstSeed > 0:
		p.seeds, p.known = 1, nil
	}
	p.steps = cmp.Or(*steps, p.steps)
	for i := range p.seeds {
		p.known = append(p.known, p.first+*firstSeed+i)
	}
	for shard, seed := range p.known {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			out, err := newOutside(open(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := out.close(); err != nil {
					t.Error(err)
				}
			}()
			synctest.Test(t, func(t *testing.T) { live(t, out, uint64(seed), shard, p.steps) })
		})
	}
}

// start is the time at which each world begins. The clock of a bubble begins in 2000.
var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// live runs the steps of a world. After each step it compares the archive with the model.
func live(t *testing.T, out *outside, seed uint64, shard, steps int) {
	time.Sleep(time.Until(start))
	w := newWorld(t, out, seed, shard)
	defer w.close()
	w.launch()
	for i := range steps {
		w.step()
		if queried := w.queriedEngines(); i%10 == 0 {
			w.compareAll(queried)
		} else {
			w.compare(w.anyChannel(), queried)
		}
	}
	w.finish()
}

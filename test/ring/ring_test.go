package ring

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/query"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

const (
	many   = 100 // number of PVs, each with ten samples a second
	shards = 64  // number of shards of varve standalone
)

// fixture has an IOC, a ring of three nodes, and the arguments with which varve archives the
// IOC's PVs in the ring.
type fixture struct {
	*epics.IOC
	*cassandra.Ring
	pvs  []string
	args []string // arguments of varve standalone
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	p := &fixture{Ring: cassandra.StartRing(t, 3), pvs: archive.Names("RING:", many)}
	p.IOC = epics.StartIOC(t, archive.Counting(p.pvs))
	groups := t.TempDir()
	program.WriteGroup(t, groups, "ring", program.Group("ring", "", p.pvs...))
	p.args = []string{"-f", groups, "--checkpoint", "10s", "--cassandra", strings.Join(p.Addrs(), ",")}
	return p
}

func (p *fixture) archive(t *testing.T) *program.Archiver {
	t.Helper()
	return program.Standalone(t, p.ClientEnv(), p.args...)
}

// reader returns a reader with its own connection to the store. It reads no engine's memory.
func (p *fixture) reader(t *testing.T, reg prometheus.Registerer) *query.Reader {
	t.Helper()
	st, err := cassandrastore.Open(t.Context(), cql.Config{Hosts: p.Addrs(), Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &query.Reader{Store: st, Shards: shards, Recent: noMemory{}}
}

// noMemory is a query.Recent that reports each PV as known and returns no samples. In an
// archive, the directory knows a PV once the PV has a block.
type noMemory struct{}

// Recent implements query.Recent.
func (noMemory) Recent(context.Context, query.RecentRequest) query.Held {
	return query.Held{Known: true}
}

// TestLong_NodesComeAndGo kills and restarts one of three nodes, suspends another, adds a
// fourth node and decommissions the first, while varve archives and users read.
func TestLong_NodesComeAndGo(t *testing.T) {
	p := newFixture(t)
	first, second, third := p.Nodes[0], p.Nodes[1], p.Nodes[2]
	createSchema(t, "varve", p.Addrs()[:1], p.Addrs()[1:2], p.Addrs()[2:])
	checkTables(t, "varve", first, second, third)
	a := p.archive(t)
	begin := a.AwaitSamples(many)
	reg := prometheus.NewRegistry()
	w := startWatch(t, a, p.reader(t, reg), p.pvs, begin)
	a.GoOn(5 * time.Second)

	calm := w.enter("second node killed")
	second.Kill()
	a.GoOn(5 * time.Second)
	createSchema(t, "other", p.Addrs())
	awaitNodes(t, reg, 2, 1)
	w.enter("second node restarts")
	second.Start(t)
	third.AwaitUp(t, 3)
	checkTables(t, "other", first, second, third)
	awaitNodes(t, reg, 3, 0)

	w.enter("third node hangs")
	third.Pause(t)
	a.GoOn(10 * time.Second)
	w.awaitChecks(5) // with fewer checks, one pause of the machine could change the median
	hang := w.enter("third node resumes")
	third.Resume(t)
	first.AwaitUp(t, 3)
	// A read makes several requests, one after another. A request that waits for the hanging
	// node times out after 5 s.
	if typical, before := hang.typicalCheck(), calm.typicalCheck(); typical > 4*time.Second+3*before {
		t.Errorf("while a node hangs, a read of the store takes %v; it took %v before", typical, before)
	}

	w.enter("fourth node joins")
	fourth := p.Grow(t)
	third.AwaitUp(t, 4)
	w.enter("first node leaves")
	first.Decommission(t)
	third.AwaitUp(t, 3)
	w.enter("three nodes left")
	a.GoOn(5 * time.Second)
	awaitNodes(t, reg, 3, 0)
	checkUsed(t, fourth)
	w.stop()

	// A new process has no samples of the old one in memory, so it reads them from the store.
	// One of its contact points has left the ring, and another one is down.
	end, channels := time.Now(), a.Channels()
	a.Stop()
	second.Stop()
	a = p.archive(t)
	for pv, events := range a.ReadAll(p.pvs, begin) {
		checkWhole(t, pv, events, end, channels[pv].Last.Time)
	}
}

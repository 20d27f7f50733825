package standalone

import (
	"testing"
	"time"

	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

// TestLong_Cassandra runs scenarios on one node, one after another.
func TestLong_Cassandra(t *testing.T) {
	node := cassandra.Start(t, "commitlog_sync: periodic", "commitlog_sync_period: 10s")
	t.Run("KillAndRestart", func(t *testing.T) {
		killAndRestart(t, either(1, 2), "--cassandra", node.Addr(), "--cassandra-keyspace", "kill")
	})
	t.Run("Pause", func(t *testing.T) {
		cassandraAway(t, node, either(6*time.Second, 30*time.Second), node.Pause, node.Resume)
	})
	t.Run("Spool", func(t *testing.T) { outageInSpool(t, node) })
	t.Run("Stop", func(t *testing.T) {
		cassandraAway(t, node, either(6*time.Second, 30*time.Second), func(testing.TB) { node.Stop() }, node.Start)
	})
}

// TestLong_CassandraCrash kills a node that syncs its commit log before it acknowledges a
// write, so that it keeps all acknowledged writes. With the default settings, a killed node
// may lose the writes of the last 100 ms, which replicas restore.
func TestLong_CassandraCrash(t *testing.T) {
	node := cassandra.Start(t, "commitlog_sync: batch")
	cassandraAway(t, node, either(6*time.Second, 30*time.Second), func(testing.TB) { node.Kill() }, node.Start)
}

// cassandraAway makes Cassandra unavailable for a while under load. The archiver must not lose
// any received sample, and must answer reads again afterwards.
func cassandraAway(t *testing.T, node *cassandra.Node, away time.Duration, stop, start func(testing.TB)) {
	p := newFixture(t, many)
	args := []string{"-f", p.groups, "--checkpoint", "15s", "--cassandra", node.Addr(), "--cassandra-keyspace", "away"}
	a := program.Standalone(t, p.ClientEnv(), args...)
	begin := a.AwaitSamples(many)
	a.GoOn(2 * time.Second)

	stop(t)
	a.GoOn(away)
	waiting := a.Summary().Pending
	if least := uint64(many * 5 * away.Seconds()); waiting < least {
		t.Errorf("after %v without Cassandra, %d samples wait for it, want at least %d", away, waiting, least)
	}
	start(t)
	back := time.Now()
	program.Eventually(t, "all samples are stored", func() bool { return a.Summary().Pending < many*10 })
	t.Logf("%d samples waited for Cassandra; they were stored %.1f s after it was back", waiting, time.Since(back).Seconds())
	checkBalance(t, a)

	// A new process has no samples in memory, so it returns only stored ones.
	o := outage{name: "SIGTERM", from: time.Now()}
	a.Stop()
	a = program.Standalone(t, p.ClientEnv(), args...)
	a.AwaitConnected(many)
	o.to = time.Now()
	checkHoles(t, a.ReadAll(p.pvs, begin), o)
}

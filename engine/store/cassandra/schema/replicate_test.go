package schema_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
)

const (
	// settle is long enough, because no request takes longer than the time-out of a write.
	settle = 3 * time.Second
	// busyWait is long enough on a machine that is busy with other tests.
	busyWait = 5 * time.Minute
)

var engines = schema.Role{Name: "engines", Password: `it's "secret"`}

// retried calls f until it succeeds.
func retried(t *testing.T, what string, f func() error) {
	t.Helper()
	for deadline := time.Now().Add(busyWait); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// archive is an archive on a ring of nodes. Tests change its number of replicas.
type archive struct {
	t     *testing.T
	admin cql.Config
	watch *gocql.Session
	begun time.Time
}

// newArchive creates an archive with one replica, and the user that engines log in as.
func newArchive(t *testing.T, ring *cassandra.Ring) *archive {
	t.Helper()
	a := &archive{t: t, begun: time.Now(), admin: cql.Config{
		Hosts: ring.Addrs(), Keyspace: "kept", ReplicationFactor: 1, Tiers: []store.Tier{store.Keep1d}, Timeout: 30 * time.Second,
		Login: login("cassandra", "cassandra"), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}}
	retried(t, "the schema", func() error { return schema.Create(t.Context(), a.admin) })
	retried(t, "the role", func() error { return schema.GrantRole(t.Context(), a.admin, engines) })
	a.watch = connect(t, a.admin)
	return a
}

// open opens the archive as engines do, through all nodes or through the given ones.
func (a *archive) open(nodes ...*cassandra.Node) (st *cassandrastore.Store) {
	a.t.Helper()
	cfg := a.admin
	if len(nodes) > 0 {
		cfg.Hosts = (&cassandra.Ring{Nodes: nodes}).Addrs()
	}
	cfg.Login, cfg.Log = login(engines.Name, engines.Password), nil
	retried(a.t, "opening the archive", func() (err error) {
		st, err = cassandrastore.Open(a.t.Context(), cfg)
		if errors.Is(err, schema.ErrNoSchema) {
			a.t.Fatalf("an engine cannot open the archive: %v", err)
		}
		return err
	})
	a.t.Cleanup(func() { _ = st.Close() })
	return st
}

// replicate starts to change the number of replicas to n. It sends the result to the channel.
func (a *archive) replicate(ctx context.Context, n int, how schema.Replication) <-chan error {
	cfg, ended := a.admin, make(chan error, 1)
	cfg.ReplicationFactor, how.Patience = n, busyWait
	go func() { ended <- schema.Replicate(ctx, cfg, how.Hasten(settle)) }()
	return ended
}

// altered waits until the keyspace has n replicas. They need not be repaired yet.
func (a *archive) altered(n int) {
	a.t.Helper()
	retried(a.t, "changing the number of replicas", func() error {
		var replication map[string]string
		err := a.watch.Query("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", a.admin.Keyspace).
			ScanContext(a.t.Context(), &replication)
		if err == nil && replication["datacenter1"] != strconv.Itoa(n) {
			err = fmt.Errorf("the replication is %v", replication)
		}
		return err
	})
}

// settled waits until a change to n replicas has ended.
func (a *archive) settled(n int, ended <-chan error) {
	a.t.Helper()
	if err := <-ended; err != nil {
		a.t.Fatal(err)
	}
	a.altered(n)
	a.t.Logf("the change to %d replicas ended after %.1f s", n, time.Since(a.begun).Seconds())
}

// TestLong_ReplicasComeAndGo increases and decreases the number of replicas of an archive on
// three nodes, while an engine writes to it and a reader checks that all acknowledged blocks
// are there. One node misses writes, and hints are off, so it does not get these writes later.
// At the end each row is on one node only, which may be the node that was down. The test
// therefore passes only if the repairs wrote the missed rows to this node, although it had
// prepared statements before it went down.
func TestLong_ReplicasComeAndGo(t *testing.T) {
	// The nodes run for a few minutes only, so better compilation costs more than it saves.
	t.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
	// With commitlog_sync batch, a killed node keeps all acknowledged rows.
	ring := cassandra.StartRing(t, 3, "hinted_handoff_enabled: false", "commitlog_sync: batch",
		"authenticator: PasswordAuthenticator", "authorizer: CassandraAuthorizer", "credentials_validity: 0ms")
	for _, n := range ring.Nodes {
		n.AwaitUp(t, 3)
	}
	kept := newArchive(t, ring)
	busy := startLoad(t, kept.open())
	busy.awaitMore(60)

	// The first process ends in its first step.
	ctx, cancel := context.WithCancel(t.Context())
	ended := kept.replicate(ctx, 3, schema.Replication{})
	kept.altered(2)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the replication of kept") || !strings.Contains(err.Error(), "next start") {
		t.Errorf("a canceled Replicate returns %v", err)
	}
	for _, n := range ring.Nodes { // one of them is a new replica that does not have the version row yet
		_ = kept.open(n)
	}
	busy.awaitMore(50)
	kept.settled(3, kept.replicate(t.Context(), 3, schema.Replication{}))
	busy.awaitMore(30)

	// A node is down while rows are written and while the number of replicas decreases. Users
	// can log in without this node.
	away := ring.Nodes[1]
	away.Kill()
	_ = kept.open()
	busy.awaitMore(150)
	ended = kept.replicate(t.Context(), 1, schema.Replication{})
	kept.altered(2)
	away.Start(t)
	kept.settled(1, ended)
	busy.awaitMore(30)
	busy.stop()

	// Without the repairs, the same reader finds missing blocks.
	wrong := &load{t: t, st: busy.st}
	for range 100 {
		wrong.write(t.Context())
	}
	kept.settled(3, kept.replicate(t.Context(), 3, schema.Replication{}.Unrepaired()))
	missing := wrong.missing()
	t.Logf("without repairs, a reader misses %d of %d rows", missing, wrong.count())
	if missing == 0 {
		t.Error("without repairs, the reader misses no rows, so this test proves nothing")
	}
}

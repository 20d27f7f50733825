package cassandra

import (
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// count returns the number of rows of table x.t.
func count(t *testing.T, n *Node) int {
	t.Helper()
	session := connect(t, n)
	defer session.Close()
	var rows int
	if err := session.Query("SELECT count(*) FROM x.t").ScanContext(t.Context(), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func connect(t *testing.T, n *Node) *gocql.Session {
	t.Helper()
	cluster := gocql.NewCluster(n.Addr())
	cluster.ProtoVersion, cluster.Timeout = 5, 30*time.Second
	cluster.Logger = gocql.NewLogger(gocql.LogLevelNone)
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func TestLong_NodeKeepsItsData(t *testing.T) {
	n := Start(t, "commitlog_sync: batch")
	session := connect(t, n)
	for _, stmt := range []string{
		"CREATE KEYSPACE x WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
		"CREATE TABLE x.t (k int PRIMARY KEY)",
		"INSERT INTO x.t (k) VALUES (1)",
	} {
		if err := session.Query(stmt).ExecContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	session.Close()
	for _, end := range []func(){n.Kill, n.Stop} {
		end()
		n.Start(t)
		if got := count(t, n); got != 1 {
			t.Errorf("after a restart, the table has %d rows, want 1", got)
		}
	}
}

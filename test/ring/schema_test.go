package ring

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/program"
)

// createSchema creates the schema of a keyspace, with the tables of one retention tier only.
// For each group of contact points, one client creates the schema, and all clients do so at
// the same time.
func createSchema(t *testing.T, keyspace string, contacts ...[]string) {
	t.Helper()
	begin := time.Now()
	g, ctx := errgroup.WithContext(t.Context())
	for _, hosts := range contacts {
		g.Go(func() error {
			return schema.Create(ctx, cql.Config{
				Hosts: hosts, Keyspace: keyspace, Tiers: []store.Tier{store.Forever},
			})
		})
	}
	if err := g.Wait(); err != nil {
		t.Errorf("creating the schema of %s: %v", keyspace, err)
	}
	t.Logf("created the schema of %s in %.1f s", keyspace, time.Since(begin).Seconds())
}

// checkTables fails the test unless all nodes get the same tables, each of them once. If a
// table is created twice, the rows of one of the two copies cannot be read. A node that has
// just started serves CQL before it has fetched the schema, so checkTables waits until the
// nodes agree.
func checkTables(t *testing.T, keyspace string, nodes ...*cassandra.Node) {
	t.Helper()
	var tables []string
	program.Eventually(t, "all nodes have the same tables of keyspace "+keyspace, func() bool {
		tables = nodes[0].Tables(t, keyspace)
		return len(tables) > 0 && !slices.ContainsFunc(nodes[1:], func(n *cassandra.Node) bool {
			return !slices.Equal(n.Tables(t, keyspace), tables)
		})
	})
	names := map[string]bool{}
	for _, dir := range tables {
		name, _, _ := strings.Cut(dir, "-")
		if names[name] {
			t.Errorf("table %s.%s was created twice", keyspace, name)
		}
		names[name] = true
	}
}

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
)

// createSchema creates the schema of a keyspace, without tables that no test uses. For each
// group of contact points, one client creates the schema, all at the same time.
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
		t.Errorf("making the schema of %s: %v", keyspace, err)
	}
	t.Logf("the schema of %s was made in %.1f s", keyspace, time.Since(begin).Seconds())
}

// checkTables fails the test unless all nodes have the same tables, each once. If a table
// was created twice, the rows of one of the two tables cannot be read.
func checkTables(t *testing.T, keyspace string, nodes ...*cassandra.Node) {
	t.Helper()
	want := nodes[0].Tables(t, keyspace)
	names := map[string]bool{}
	for _, dir := range want {
		name, _, _ := strings.Cut(dir, "-")
		if names[name] {
			t.Errorf("table %s.%s was made twice", keyspace, name)
		}
		names[name] = true
	}
	for _, n := range nodes[1:] {
		if got := n.Tables(t, keyspace); !slices.Equal(got, want) {
			t.Errorf("the tables of %s at %s are %v, and at %s %v", keyspace, nodes[0].Host, want, n.Host, got)
		}
	}
}

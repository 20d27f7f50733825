package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// ErrReplication means that the replication of a keyspace cannot be changed by one replica of
// a datacenter at a time.
var ErrReplication = errors.New("the keyspace's replication cannot be changed step by step")

// replication is the replication of a keyspace as Cassandra stores it: a class and its
// options.
type replication map[string]string

func readReplication(ctx context.Context, session *gocql.Session, keyspace string) (replication, error) {
	var r replication
	err := session.Query("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace).ScanContext(ctx, (*map[string]string)(&r))
	if err != nil {
		return nil, fmt.Errorf("reading the replication of keyspace %s: %w", keyspace, err)
	}
	return r, nil
}

// is reports whether the class is one of Cassandra's own.
func (r replication) is(class string) bool {
	return r["class"] == class || strings.HasSuffix(r["class"], "."+class)
}

// of returns the number of replicas in a datacenter. Cassandra creates its own keyspaces with
// SimpleStrategy, which ignores datacenters. of accepts SimpleStrategy with one replica, where
// this makes no difference, and returns an error for more replicas.
func (r replication) of(dc string, top *cql.Topology) (int, error) {
	given := r[dc]
	if r.is("SimpleStrategy") {
		if given = r["replication_factor"]; given != "1" || len(top.Nodes) > 1 {
			return 0, fmt.Errorf("%w: it is %v; ALTER it to NetworkTopologyStrategy, and run nodetool repair --full on all nodes", ErrReplication, r)
		}
	} else if !r.is("NetworkTopologyStrategy") {
		return 0, fmt.Errorf("%w: it is %v, and not NetworkTopologyStrategy", ErrReplication, r)
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%w: datacenter %s has no replicas; the replication is %v", ErrReplication, dc, r)
	}
	return n, nil
}

// with returns the CQL of the same replication with n replicas in a datacenter. The other
// datacenters keep their numbers.
func (r replication) with(dc string, n int) string {
	out := map[string]string{dc: strconv.Itoa(n)}
	if r.is("NetworkTopologyStrategy") {
		for key, value := range r {
			if key != "class" && key != dc {
				out[key] = value
			}
		}
	}
	cql := "{'class': 'NetworkTopologyStrategy'"
	for _, key := range slices.Sorted(maps.Keys(out)) {
		cql += fmt.Sprintf(", %s: %s", quoted(key), quoted(out[key]))
	}
	return cql + "}"
}

// quoted returns s as a CQL string.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// named returns s as a CQL name.
func named(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// setReplicas sets the number of replicas of a keyspace in a datacenter to n.
func setReplicas(ctx context.Context, session *gocql.Session, keyspace string, r replication, dc string, n int) error {
	err := session.Query("ALTER KEYSPACE " + keyspace + " WITH replication = " + r.with(dc, n)).ExecContext(ctx)
	if err != nil {
		return fmt.Errorf("giving keyspace %s %d replicas in %s: %w", keyspace, n, dc, cql.Permitted(err))
	}
	return nil
}

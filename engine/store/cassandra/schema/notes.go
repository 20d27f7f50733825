package schema

import (
	"context"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// notes are rows of schema_version beside that of the tables: what Replicate has to
// remember. Like samples they are read and written by quorum, and repaired. A note that is
// not there is 0.
type notes struct {
	session  *gocql.Session
	keyspace string // of the archive
	values   map[string]int
	clock    cql.Clock // above all timestamps that were read: a clock that is behind must not lose notes
}

// Names of notes.
func settledNote(keyspace string) string       { return "replicas " + keyspace }
func stepNote(keyspace string) string          { return "next replicas " + keyspace }
func repairNote(keyspace, table string) string { return "repaired " + keyspace + "." + table }

func (c *target) readNotes(ctx context.Context, session *gocql.Session) (*notes, error) {
	n := &notes{session: session, keyspace: c.Keyspace, values: map[string]int{}, clock: cql.Clock{Now: c.Now}}
	it := session.Query("SELECT part, version, WRITETIME(version) FROM " + c.Keyspace + ".schema_version").
		Consistency(gocql.LocalQuorum).IterContext(ctx)
	var part string
	var version int
	for stamp := int64(0); it.Scan(&part, &version, &stamp); {
		n.values[part] = version
		n.clock.NotBefore(stamp)
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("reading what is noted of replication: %w", cql.Permitted(err))
	}
	return n, nil
}

// put changes a note.
func (n *notes) put(ctx context.Context, part string, value int) error {
	if n.values[part] == value {
		return nil
	}
	err := n.session.Query("INSERT INTO "+n.keyspace+".schema_version (part, version) VALUES (?, ?)", part, value).
		Consistency(gocql.LocalQuorum).WithTimestamp(n.clock.Next()).ExecContext(ctx)
	if err != nil {
		return fmt.Errorf("noting %s: %w", part, cql.Permitted(err))
	}
	n.values[part] = value
	return nil
}

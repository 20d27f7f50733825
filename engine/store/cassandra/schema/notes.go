package schema

import (
	"context"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// notes are the rows of schema_version in which Replicate stores its progress. The table also
// contains the version of the tables. Notes are read and written by quorum, and repaired, like
// samples. A missing note is 0.
type notes struct {
	session  *gocql.Session
	keyspace string // of the archive
	values   map[string]int
	clock    cql.Clock // ahead of all timestamps that were read, so that no note is lost if the machine's clock is slow
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
		return nil, fmt.Errorf("reading the notes of replication: %w", cql.Permitted(err))
	}
	return n, nil
}

// put writes a note if it changes.
func (n *notes) put(ctx context.Context, part string, value int) error {
	if n.values[part] == value {
		return nil
	}
	err := n.session.Query("INSERT INTO "+n.keyspace+".schema_version (part, version) VALUES (?, ?)", part, value).
		Consistency(gocql.LocalQuorum).WithTimestamp(n.clock.Next()).ExecContext(ctx)
	if err != nil {
		return fmt.Errorf("writing the note %q: %w", part, cql.Permitted(err))
	}
	n.values[part] = value
	return nil
}

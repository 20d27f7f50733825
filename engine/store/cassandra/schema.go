package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// SchemaVersion is the version of the tables that this package uses. Version 1 had
// no blobs in parts, and no properties in metadata.
const SchemaVersion = 2

// schemaTimeout is for one statement: a change is agreed on by all nodes.
const schemaTimeout = time.Minute

// CreateSchema creates the keyspace and its tables, as far as they do not exist,
// adds to those of an earlier version what they lack, and returns when all nodes
// have them. It is to be run by one process at a time: Cassandra may otherwise
// create a table twice. Nothing else creates tables.
func CreateSchema(ctx context.Context, config Config) error {
	cfg, err := config.complete()
	if err != nil {
		return err
	}
	long := cfg
	long.Timeout = max(cfg.Timeout, schemaTimeout)
	session, err := long.probe()
	if err != nil {
		return err
	}
	defer session.Close()
	version, err := cfg.readVersion(ctx, session)
	switch {
	case err == nil && (version < 1 || version > SchemaVersion):
		return versionError(cfg.Keyspace, version)
	case err != nil && !errors.Is(err, ErrNoSchema):
		return err
	}
	top, err := readTopology(ctx, session)
	if err != nil {
		return err
	}
	statements, err := cfg.statements(ctx, session, &top, version)
	if err != nil {
		return err
	}
	for _, stmt := range statements {
		if err := session.Query(stmt).ExecContext(ctx); err != nil {
			return fmt.Errorf("creating the schema of keyspace %s: %w", cfg.Keyspace, permitted(err))
		}
	}
	if err := session.AwaitSchemaAgreement(ctx); err != nil {
		return fmt.Errorf("waiting until all nodes agree on the schema: %w", err)
	}
	// Last, so that a schema with a version is whole.
	err = session.Query("INSERT INTO "+cfg.Keyspace+".schema_version (part, version) VALUES ('tables', ?)", SchemaVersion).
		Consistency(gocql.Quorum).ExecContext(ctx)
	if err != nil {
		return fmt.Errorf("noting the schema version: %w", err)
	}
	return nil
}

// readVersion returns the version of the schema, or ErrNoSchema.
func (c *Config) readVersion(ctx context.Context, session *gocql.Session) (version int, err error) {
	var name string
	err = session.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'schema_version'",
		c.Keyspace).ScanContext(ctx, &name)
	if err == nil {
		err = session.Query("SELECT version FROM "+c.Keyspace+".schema_version WHERE part = 'tables'").
			ScanContext(ctx, &version)
	}
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return 0, fmt.Errorf("%w in keyspace %s: create it with `varve schema`", ErrNoSchema, c.Keyspace)
	case err != nil:
		return 0, fmt.Errorf("reading the schema version of keyspace %s: %w", c.Keyspace, permitted(err))
	}
	return version, nil
}

// permitted makes the error of a statement that the user may not run ErrForbidden.
func permitted(err error) error {
	var refused gocql.RequestError
	if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeUnauthorized {
		return fmt.Errorf("%w: %s", ErrForbidden, refused.Message())
	}
	return err
}

func versionError(keyspace string, version int) error {
	return fmt.Errorf("%w: keyspace %s has version %d, this program uses version %d", ErrVersion, keyspace, version, SchemaVersion)
}

// statements returns the DDL, in order, that a schema of some version needs; 0 is none.
func (c *Config) statements(ctx context.Context, session *gocql.Session, top *topology, version int) (out []string, err error) {
	dc, err := top.choose(c.Datacenter)
	if err != nil {
		return nil, err
	}
	var name string
	err = session.Query("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?", c.Keyspace).ScanContext(ctx, &name)
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		out = append(out, c.createKeyspace(top, dc))
	case err != nil:
		return nil, fmt.Errorf("looking for keyspace %s: %w", c.Keyspace, err)
	}
	ttl, err := c.journalTTL(ctx, session)
	if err != nil {
		return nil, err
	}
	windows := max(1, int(ttl.Hours()/24))
	for _, table := range append(slices.Clone(tables),
		journalTable+fmt.Sprintf(journalOptions, windows, int(ttl.Seconds())),
		journalPartTable+fmt.Sprintf(journalOptions, windows, int((ttl+partsOutlive).Seconds()))) {
		out = append(out, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s.%s", c.Keyspace, table))
	}
	if version == 1 {
		for _, added := range addedIn2 {
			out = append(out, fmt.Sprintf("ALTER TABLE %s.%s", c.Keyspace, added))
		}
	}
	return out, nil
}

// journalTTL returns how long the rows of the journal are kept, if there is one,
// or else are to be.
func (c *Config) journalTTL(ctx context.Context, session *gocql.Session) (time.Duration, error) {
	var seconds int
	err := session.Query("SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'journal'",
		c.Keyspace).ScanContext(ctx, &seconds)
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return c.JournalTTL, nil
	case err != nil:
		return 0, fmt.Errorf("asking how long the journal of keyspace %s is kept: %w", c.Keyspace, err)
	}
	return time.Duration(seconds) * time.Second, nil
}

// createKeyspace is not for a keyspace that exists: even IF NOT EXISTS takes the
// right to make any, which a user with a keyspace of its own need not have.
func (c *Config) createKeyspace(top *topology, dc string) string {
	replicas := c.ReplicationFactor
	if replicas == 0 {
		replicas = min(defaultReplicas, top.nodes[dc])
	}
	return fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'NetworkTopologyStrategy', '%s': %d}",
		c.Keyspace, dc, replicas)
}

// Tables of the journal. size is that of a blob that stands in parts.
const (
	journalTable = `journal (
	shard int, writer blob, n int, seq int, names blob, body blob, size int,
	PRIMARY KEY ((shard, writer, n), seq)
)`
	journalPartTable = `journal_part (
	shard int, writer blob, n int, seq int, part int, body blob,
	PRIMARY KEY ((shard, writer, n, seq), part)
)`
)

// partsOutlive is how much longer parts are kept than their rows: more than lies
// between the writing of the two.
const partsOutlive = time.Hour

// journalOptions: each table has one TTL, so that whole SSTables expire, in windows
// of a 24th of it. Rows are small in number and large, and are read from memtables
// mostly. min_threshold keeps a window from being compacted over and over; blobs are
// compressed already. gc_grace_seconds is no shorter than hints live.
const journalOptions = ` WITH compression = {'enabled': 'false'} AND gc_grace_seconds = 10800
AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS',
	'compaction_window_size': '%d', 'min_threshold': '32', 'max_threshold': '32'}
AND default_time_to_live = %d`

// addedIn2 is what the tables of version 1 lack.
var addedIn2 = []string{
	"journal ADD IF NOT EXISTS size int",
	"block_forever ADD IF NOT EXISTS stamp bigint",
	"metadata ADD IF NOT EXISTS properties frozen<map<text, text>>",
}

// tables are all others. Columns named as CQL's own words have longer names.
var tables = []string{
	`schema_version (part text PRIMARY KEY, version int)`,

	// No row has a marker: one whose columns are deleted is gone, whatever
	// timestamp the deletion of its sealed position has.
	`claim (
	shard int, writer blob, epoch bigint, since bigint, alive bigint, closed boolean, last bigint, sealed bigint,
	PRIMARY KEY (shard, writer)
)`,

	// reach is the longest time from start to end of any block in the partition,
	// its own timestamp, so that a reader knows how far back to look. A block has a
	// body, or a stamp: see putApart.
	`block_forever (
	pv text, bucket bigint, start bigint, writer blob, n int, reach bigint static,
	end_time bigint, samples int, kind smallint, low double, high double, total double, size int, stamp bigint, body blob,
	PRIMARY KEY ((pv, bucket), start, writer, n)
) WITH compression = {'enabled': 'false'} AND compaction = {'class': 'UnifiedCompactionStrategy'}`,

	`block_part_forever (
	pv text, bucket bigint, start bigint, writer blob, n int, stamp bigint, part int, body blob,
	PRIMARY KEY ((pv, bucket, start, writer, n), stamp, part)
) WITH compression = {'enabled': 'false'} AND compaction = {'class': 'UnifiedCompactionStrategy'}`,

	`block_apart_forever (
	pv text, bucket bigint, start bigint, writer blob, n int,
	PRIMARY KEY ((pv, bucket), start, writer, n)
)`,

	`channel (pv text PRIMARY KEY, present boolean, shards set<bigint>, starts set<bigint>, types set<bigint>)`,

	`mark (
	pv text, time bigint, kind smallint, reason smallint, writer blob, end_time bigint, lost bigint, note text,
	PRIMARY KEY (pv, time, kind, reason, writer)
)`,

	`metadata (
	pv text, time bigint, kind smallint, elements int, units text, precision int,
	limits frozen<list<double>>, labels frozen<list<text>>, host text,
	properties frozen<map<text, text>>,
	PRIMARY KEY (pv, time)
) WITH CLUSTERING ORDER BY (time DESC)`,
}

package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// target is the keyspace whose tables are created or changed, and its cluster.
type target struct{ cql.Config }

func complete(c cql.Config) (target, error) {
	c, err := c.Complete()
	return target{c}, err
}

// schemaTimeout is the time-out of one statement. All nodes must agree on a change.
const schemaTimeout = time.Minute

// Create creates the keyspace, tables and columns that do not exist. It returns when all nodes that answer have the tables. Several processes
// may call it at the same time. Only Create creates tables.
func Create(ctx context.Context, config cql.Config) error {
	cfg, err := complete(config)
	if err != nil {
		return err
	}
	long := cfg
	long.Timeout = max(cfg.Timeout, schemaTimeout)
	session, err := long.schemaSession(ctx)
	if err != nil {
		return err
	}
	defer cql.Close(session, cfg.Log)
	level, err := cfg.levelToUpgrade(ctx, session)
	if err != nil {
		return err
	}
	top, err := cql.ReadTopology(ctx, session)
	if err != nil {
		return err
	}
	statements, err := cfg.statements(ctx, session, level)
	if err != nil {
		return err
	}
	if err := cfg.change(ctx, session, &top, statements); err != nil {
		return err
	}
	return cfg.noteLevels(ctx, session, level)
}

// change creates the keyspace if it does not exist and runs statements in it. It returns when
// all nodes that answer have the changes.
func (c *target) change(ctx context.Context, session *gocql.Session, top *cql.Topology, statements []string) error {
	made, err := c.makeKeyspace(ctx, session, top)
	if err != nil {
		return err
	}
	for _, stmt := range statements {
		if err := session.Query(stmt).ExecContext(ctx); err != nil {
			return fmt.Errorf("creating the schema of keyspace %s: %w", c.Keyspace, cql.Permitted(err))
		}
	}
	if _, err := c.agree(ctx, top.Local); err != nil || !made {
		return err
	}
	return c.noteReplicas(ctx, session, top)
}

// levelToUpgrade returns the format level of the archive, which is 0 if there is none, or an error if
// Create must not change it.
func (c *target) levelToUpgrade(ctx context.Context, session *gocql.Session) (store.FormatLevel, error) {
	level, err := ReadLevel(ctx, session, c.Keyspace)
	if errors.Is(err, ErrNoSchema) {
		return 0, nil
	}
	if err == nil {
		if err = checkLevel(c.Keyspace, level, c.Formats); errors.Is(err, ErrOld) {
			err = nil
		}
	}
	return level, err
}

// noteLevels writes the format level of an archive that is new, or older than the first release, and the
// level up to which the keyspace has tables and columns. Create calls it last, so a schema with a level is
// complete. Create does not raise the level of other archives, so that the former release can use them.
func (c *target) noteLevels(ctx context.Context, session *gocql.Session, level store.FormatLevel) error {
	n, err := c.readNotes(ctx, session)
	if err != nil {
		return err
	}
	if store.FormatLevel(n.values[expandedNote]) < c.Formats.Latest {
		if err := n.put(ctx, expandedNote, int(c.Formats.Latest)); err != nil {
			return err
		}
	}
	switch {
	case level == 0:
		return n.put(ctx, levelNote, int(c.Formats.Latest))
	case level < firstRelease:
		return n.put(ctx, levelNote, int(firstRelease))
	}
	return nil
}

// makeKeyspace creates the keyspace if it does not exist.
func (c *target) makeKeyspace(ctx context.Context, session *gocql.Session, top *cql.Topology) (made bool, err error) {
	var name string
	err = session.Query("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?", c.Keyspace).ScanContext(ctx, &name)
	switch {
	case err == nil:
		return false, nil
	case !errors.Is(err, gocql.ErrNotFound):
		return false, fmt.Errorf("reading whether keyspace %s exists: %w", c.Keyspace, err)
	}
	if c.ReplicationFactor > 0 {
		if err := c.requireNodes(ctx, top.Local, c.ReplicationFactor); err != nil {
			return false, err
		}
	}
	if err := session.Query(c.createKeyspace(top)).ExecContext(ctx); err != nil {
		return false, fmt.Errorf("creating keyspace %s: %w", c.Keyspace, cql.Permitted(err))
	}
	return true, nil
}

// statements returns the DDL statements, in order, that add what a schema of the given format level
// may lack. Level 0 means that there is no schema. The statements only add tables and columns, so that the
// former release can go on using the archive.
func (c *target) statements(ctx context.Context, session *gocql.Session, level store.FormatLevel) (out []string, err error) {
	ttl, err := c.journalTTL(ctx, session)
	if err != nil {
		return nil, err
	}
	there, err := tableNames(ctx, session, c.Keyspace)
	if err != nil {
		return nil, err
	}
	wanted := append(slices.Clone(tables), journalTables(ttl)...)
	tiers := c.tiersFor(level)
	if err := c.checkExpiry(ctx, session, tiers); err != nil {
		return nil, err
	}
	for _, r := range tiers {
		wanted = append(wanted, tablesFor(r)...)
	}
	for _, t := range wanted {
		if !there[t.name] {
			out = append(out, t.create(c.Keyspace))
		}
	}
	for _, m := range migrations {
		for _, change := range m.changes {
			if 0 < level && level < m.to {
				out = append(out, fmt.Sprintf("ALTER TABLE %s.%s", c.Keyspace, change))
			}
		}
	}
	return out, nil
}

// tableNames returns the names of the tables of a keyspace.
func tableNames(ctx context.Context, session *gocql.Session, keyspace string) (map[string]bool, error) {
	it := session.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", keyspace).IterContext(ctx)
	names := map[string]bool{}
	for name := ""; it.Scan(&name); {
		names[name] = true
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("reading the tables of keyspace %s: %w", keyspace, err)
	}
	return names, nil
}

// journalTTL returns how long the rows of the existing journal are kept, or the configured
// time if there is no journal yet.
func (c *target) journalTTL(ctx context.Context, session *gocql.Session) (time.Duration, error) {
	var seconds int
	err := session.Query("SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'journal'",
		c.Keyspace).ScanContext(ctx, &seconds)
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return c.JournalTTL, nil
	case err != nil:
		return 0, fmt.Errorf("reading how long the journal of keyspace %s is kept: %w", c.Keyspace, err)
	}
	return time.Duration(seconds) * time.Second, nil
}

// defaultReplicas is the default number of replicas of a keyspace, if the cluster has that
// many nodes.
const defaultReplicas = 3

// createKeyspace returns the statement that creates the keyspace. It must not run if the
// keyspace exists. Even with IF NOT EXISTS it needs the permission to create any keyspace,
// which a user with a keyspace of its own may lack.
func (c *target) createKeyspace(top *cql.Topology) string {
	replicas := c.ReplicationFactor
	if replicas == 0 {
		replicas = min(defaultReplicas, top.Nodes[top.Local])
	}
	return fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'NetworkTopologyStrategy', '%s': %d}",
		c.Keyspace, top.Local, replicas)
}

// noteReplicas writes the note that all rows of a new keyspace are on all its replicas.
func (c *target) noteReplicas(ctx context.Context, session *gocql.Session, top *cql.Topology) error {
	now, err := readReplication(ctx, session, c.Keyspace)
	if err != nil {
		return err
	}
	n, err := now.of(top.Local, top)
	if err != nil {
		return err
	}
	notes, err := c.readNotes(ctx, session)
	if err != nil {
		return err
	}
	return notes.put(ctx, settledNote(c.Keyspace), n)
}

package schema

import (
	"context"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
)

var (
	// ErrNoSchema means that the keyspace contains no tables of an archive: Create was never
	// called, or was called for another keyspace.
	ErrNoSchema = errors.New("the archive's schema does not exist")
	// ErrOld means that a version of Varve from before release 0.1.0 created the tables. Create
	// upgrades them.
	ErrOld = errors.New("the archive's schema is older than release 0.1.0")
	// ErrNotExpanded means that the keyspace lacks tables or columns that a format level needs.
	ErrNotExpanded = errors.New("the archive's schema lacks tables or columns")
)

// firstRelease is the format level that release 0.1.0 wrote. Create upgrades schemas of lower levels,
// which no release wrote. Level 1 had no blobs in parts and no properties in metadata. Level 2 had only
// the tier forever and no rollups. Level 3 had no cutoff. Level 4 had no terms of sealers.
const firstRelease store.FormatLevel = 5

// tierLevel is the first level with tiers.
const tierLevel store.FormatLevel = 3

// Names of the rows of schema_version with levels. Release 0.1.0 reads only the first one, and refuses
// any number in it but 5.
const (
	// levelNote is the format level of the archive: which rows it may contain.
	levelNote = "tables"
	// expandedNote is the level up to which the keyspace has tables and columns. It is missing in
	// keyspaces that only release 0.1.0 has used, and then means the format level.
	expandedNote = "expanded"
)

// Check returns the tiers that have tables, as bits: bit r stands for tier r. It returns
// ErrNoSchema, ErrOld, ErrNotExpanded or store.ErrFormat unless a program with these format levels can use the keyspace.
func Check(ctx context.Context, session *gocql.Session, keyspace string, formats store.Formats) (tiers uint32, err error) {
	level, err := ReadLevel(ctx, session, keyspace)
	if err == nil {
		err = checkLevel(keyspace, level, formats)
	}
	if err == nil && level < formats.Latest {
		err = checkExpanded(ctx, session, keyspace, formats.Latest)
	}
	if err != nil {
		return 0, err
	}
	return Tiers(ctx, session, keyspace)
}

// checkExpanded returns ErrNotExpanded unless the keyspace has the tables and columns of a format level. This
// program reads them even if the archive has a lower level.
func checkExpanded(ctx context.Context, session *gocql.Session, keyspace string, latest store.FormatLevel) error {
	var level int
	read := session.Query("SELECT version FROM " + keyspace + ".schema_version WHERE part = '" + expandedNote + "'")
	err := read.ScanContext(ctx, &level)
	if errors.Is(err, gocql.ErrNotFound) || err == nil && store.FormatLevel(level) < latest { // a replica may be behind
		err = read.Consistency(gocql.Quorum).ScanContext(ctx, &level)
	}
	switch {
	case errors.Is(err, gocql.ErrNotFound), err == nil && store.FormatLevel(level) < latest:
		return fmt.Errorf("%w of format level %d in keyspace %s: run `varve schema` of this release", ErrNotExpanded, latest, keyspace)
	case err != nil:
		return fmt.Errorf("reading the format level of keyspace %s: %w", keyspace, cql.Permitted(err))
	}
	return nil
}

func checkLevel(keyspace string, level store.FormatLevel, formats store.Formats) error {
	if 0 < level && level < firstRelease {
		return fmt.Errorf("%w: keyspace %s has version %d; upgrade it with `varve schema`", ErrOld, keyspace, level)
	}
	if err := formats.Check(level); err != nil {
		return fmt.Errorf("keyspace %s: %w", keyspace, err)
	}
	return nil
}

// ReadLevel returns the format level of an archive, or ErrNoSchema.
func ReadLevel(ctx context.Context, session *gocql.Session, keyspace string) (level store.FormatLevel, err error) {
	var name string
	var version int
	err = session.Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'schema_version'",
		keyspace).ScanContext(ctx, &name)
	if err == nil {
		read := session.Query("SELECT version FROM " + keyspace + ".schema_version WHERE part = 'tables'")
		err = read.ScanContext(ctx, &version)
		if errors.Is(err, gocql.ErrNotFound) { // a new replica may not have the row yet
			err = read.Consistency(gocql.Quorum).ScanContext(ctx, &version)
		}
	}
	switch {
	case errors.Is(err, gocql.ErrNotFound), beingMade(err):
		return 0, fmt.Errorf("%w in keyspace %s: create it with `varve schema`", ErrNoSchema, keyspace)
	case err != nil:
		return 0, fmt.Errorf("reading the format level of keyspace %s: %w", keyspace, cql.Permitted(err))
	}
	return store.FormatLevel(version), nil
}

// beingMade reports whether a table could not be read because it is being created, so that the
// node knows only the table's name.
func beingMade(err error) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid
}

// Finalize raises the format level of an archive to the latest one of this program, and returns it. Check has
// found the tables and columns of that level before.
func Finalize(ctx context.Context, session *gocql.Session, config cql.Config) (store.FormatLevel, error) {
	c, err := complete(config)
	if err != nil {
		return 0, err
	}
	n, err := c.readNotes(ctx, session)
	if err != nil {
		return 0, err
	}
	level, latest := store.FormatLevel(n.values[levelNote]), c.Formats.Latest
	if err := checkLevel(c.Keyspace, level, c.Formats); err != nil || level == latest {
		return level, err
	}
	if err := n.put(ctx, levelNote, int(latest)); err != nil {
		return level, err
	}
	return latest, nil
}

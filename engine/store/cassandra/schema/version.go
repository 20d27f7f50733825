package schema

import (
	"context"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store/cassandra/cql"
)

var (
	// ErrNoSchema means that the keyspace contains no tables of an archive: Create was never
	// called, or was called for another keyspace.
	ErrNoSchema = errors.New("the archive's schema does not exist")
	// ErrVersion means that another version of Varve created the tables.
	ErrVersion = errors.New("the archive's schema has another version")
)

// Version is the version of the tables that this package creates. Version 1 had no blobs in
// parts and no properties in metadata. Version 2 had only the tier forever and no rollups.
// Version 3 had no cutoff. Version 4 had no terms of sealers.
// Version 5 had no deleted ranges in the directory.
const Version = 6

// tierVersion is the first version with tiers.
const tierVersion = 3

// Check returns the tiers that have tables, as bits: bit r stands for tier r. It returns
// ErrNoSchema or ErrVersion unless the keyspace has the tables of this version.
func Check(ctx context.Context, session *gocql.Session, keyspace string) (tiers uint32, err error) {
	version, err := readVersion(ctx, session, keyspace)
	if err == nil && version != Version {
		err = versionError(keyspace, version)
	}
	if err != nil {
		return 0, err
	}
	return Tiers(ctx, session, keyspace)
}

// readVersion returns the version of the schema, or ErrNoSchema.
func readVersion(ctx context.Context, session *gocql.Session, keyspace string) (version int, err error) {
	var name string
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
		return 0, fmt.Errorf("reading the schema version of keyspace %s: %w", keyspace, cql.Permitted(err))
	}
	return version, nil
}

// beingMade reports whether a table could not be read because it is being created, so that the
// node knows only the table's name.
func beingMade(err error) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid
}

func versionError(keyspace string, version int) error {
	return fmt.Errorf("%w: keyspace %s has version %d, this program uses version %d", ErrVersion, keyspace, version, Version)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// engineRate is the default of --rate into an archive with engines, in samples per second. It leaves the engines time to
// capture.
const engineRate = 100_000

// pace returns the maximum number of samples read per second, or 0 if there is no limit.
func (o *importOptions) pace() float64 {
	switch {
	case o.rateGiven:
		return o.rate
	case o.storage.locked():
		return 0
	}
	return engineRate
}

// open opens the archive. It returns nil if a dry run finds none. It never creates tables.
func (o *importOptions) open(ctx context.Context, log *slog.Logger) (store.Store, error) {
	if !o.storage.locked() {
		return o.openCassandra(ctx, log)
	}
	if o.dryRun {
		entries, err := os.ReadDir(o.storage.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--data: %w", err)
		}
		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "MANIFEST-") }) {
			return nil, nil
		}
	}
	return o.storage.openDirectory(nil, log)
}

func (o *importOptions) openCassandra(ctx context.Context, log *slog.Logger) (store.Store, error) {
	cfg, err := o.storage.cassandra(nil, log)
	if err != nil {
		return nil, err
	}
	st, err := cassandra.Open(ctx, cfg)
	switch {
	case err == nil:
		return st, nil
	case errors.Is(err, schema.ErrNoSchema):
		err = fmt.Errorf("%w (check --cassandra-keyspace %s; only varve schema creates tables)", err, o.storage.keyspace)
	case errors.Is(err, store.ErrFormat), errors.Is(err, schema.ErrOld), errors.Is(err, schema.ErrNotExpanded):
		err = fmt.Errorf("%w (import with the version of the program that the engines have)", err)
	default:
		err = o.storage.explain(err)
	}
	return nil, fmt.Errorf("opening Cassandra: %w", err)
}

// isFinal reports whether an error of Cassandra will not go away.
func isFinal(err error) bool {
	return errors.Is(err, cql.ErrForbidden) || errors.Is(err, cql.ErrCredentials) || errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrNoTier)
}

package cassandra

import (
	"context"
	"errors"
	"log/slog"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// Later returns a store that is opened as soon as the cluster answers and has the schema. Each
// attempt calls config. The store's State reports the reason for the wait. The State begins
// with a word that programs can rely on.
func Later(config func() (cql.Config, error), log *slog.Logger) *store.Pending {
	return store.OpenLater(func(ctx context.Context) (store.Store, error) {
		cfg, err := config()
		var st *Store
		if err == nil {
			st, err = Open(ctx, cfg)
		}
		if err != nil {
			log.Warn("opening the archive failed; trying again", "err", err)
			return nil, err
		}
		log.Info("the archive is open", "keyspace", st.cfg.Keyspace)
		return st, nil
	}, waiting)
}

// waiting returns the State for an error of Open. The text is the same for the same cause.
func waiting(err error) string {
	switch {
	case errors.Is(err, schema.ErrNoSchema):
		return "WaitingForSchema: the keyspace does not hold the schema"
	case errors.Is(err, schema.ErrOld):
		return "WaitingForSchema: the keyspace holds a schema from before release 0.1.0"
	case errors.Is(err, schema.ErrNotExpanded):
		return "WaitingForSchema: the keyspace lacks tables or columns of this release; run varve schema of this release"
	case errors.Is(err, store.ErrFormat):
		return "WrongRelease: " + store.ErrFormat.Error() + "; the log of the pod says which release can"
	case errors.Is(err, cql.ErrDatacenter):
		return "WrongDatacenter: the cluster has no datacenter of the name given"
	case errors.Is(err, cql.ErrCredentials):
		return "WrongCredentials: Cassandra refuses the user name and password"
	case errors.Is(err, cql.ErrForbidden):
		return "Forbidden: Cassandra does not let the user read the keyspace"
	case errors.Is(err, cql.ErrTLS):
		return "TLSFailed: one side does not accept the other's certificate, or does not use TLS; see the log"
	}
	return "StorageAway: Cassandra does not answer"
}

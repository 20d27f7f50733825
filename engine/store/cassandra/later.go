package cassandra

import (
	"context"
	"errors"
	"log/slog"

	"varve.dev/varve/engine/store"
)

// Later returns a store that is opened as soon as the cluster answers and has the
// schema. Only a configuration that can never do is an error. State of the store
// tells what it waits for; it begins with a word that programs can rely on.
func Later(config Config) (*store.Pending, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, err
	}
	log := cfg.Log
	return store.OpenLater(func(ctx context.Context) (store.Store, error) {
		st, err := Open(ctx, config)
		if err != nil {
			log.Warn("the archive can not be opened; trying again", "err", err)
			return nil, err
		}
		log.Info("the archive is open", slog.String("keyspace", cfg.Keyspace))
		return st, nil
	}, func(err error) string { return waiting(cfg.Keyspace, err) }), nil
}

// waiting says what an error of Open means, in a stable text.
func waiting(keyspace string, err error) string {
	switch {
	case errors.Is(err, ErrNoSchema):
		return "WaitingForSchema: keyspace " + keyspace + " does not hold the schema"
	case errors.Is(err, ErrVersion):
		return "WaitingForSchema: the schema of keyspace " + keyspace + " has another version"
	case errors.Is(err, ErrDatacenter):
		return "WrongDatacenter: the cluster has no datacenter of the name given"
	case errors.Is(err, ErrCredentials):
		return "WrongCredentials: Cassandra refuses the user name and password"
	}
	return "StorageAway: Cassandra does not answer"
}

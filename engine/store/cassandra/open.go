package cassandra

import (
	"context"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/semaphore"

	"varve.dev/varve/engine/store"
)

// Store is a store.Store in a keyspace.
type Store struct {
	session  *gocql.Session
	cfg      Config
	clock    clock
	inFlight *semaphore.Weighted // bytes
	metrics  *metrics
}

var _ store.Store = (*Store)(nil)

// Open connects to the cluster. Where the cause is not that the cluster is away,
// the error wraps ErrNoSchema, ErrVersion, ErrDatacenter, ErrCredentials, ErrForbidden
// or ErrTLS.
func Open(ctx context.Context, config Config) (*Store, error) {
	cfg, err := config.complete()
	if err != nil {
		return nil, err
	}
	if cfg.Datacenter, err = cfg.check(ctx); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, inFlight: semaphore.NewWeighted(cfg.InFlightBytes), metrics: newMetrics()}
	cluster := cfg.cluster()
	cluster.Keyspace = cfg.Keyspace
	cluster.RetryPolicy = retries{}
	cluster.QueryObserver, cluster.BatchObserver = s.metrics, s.metrics
	cluster.HostFilter = gocql.DataCenterHostFilter(cfg.Datacenter)
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	if s.session, err = cfg.connect(cluster, false); err != nil {
		return nil, err
	}
	if cfg.Registerer != nil {
		if err := cfg.Registerer.Register(s.metrics.set); err != nil {
			s.session.Close()
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return s, nil
}

// check returns the datacenter to use if all is well.
func (c *Config) check(ctx context.Context) (datacenter string, err error) {
	session, err := c.probe()
	if err != nil {
		return "", err
	}
	defer session.Close()
	top, err := readTopology(ctx, session)
	if err != nil {
		return "", err
	}
	if datacenter, err = top.choose(c.Datacenter); err != nil {
		return "", err
	}
	version, err := c.readVersion(ctx, session)
	if err == nil && version != SchemaVersion {
		err = versionError(c.Keyspace, version)
	}
	return datacenter, err
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.session.Close()
	if s.cfg.Registerer != nil {
		s.cfg.Registerer.Unregister(s.metrics.set)
	}
	return nil
}

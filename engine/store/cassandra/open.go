package cassandra

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

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

	tiers                atomic.Uint32 // bit r is set if tier r has its tables
	shortestTTL, outlive time.Duration // as the constants are; tests have less time
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
	var tiers uint32
	if cfg.Datacenter, tiers, err = cfg.check(ctx); err != nil {
		return nil, err
	}
	s := &Store{
		cfg: cfg, clock: clock{now: cfg.Now}, inFlight: semaphore.NewWeighted(cfg.InFlightBytes), metrics: newMetrics(),
		shortestTTL: shortestTTL, outlive: outlive,
	}
	s.tiers.Store(tiers)
	cluster := cfg.cluster()
	cluster.Keyspace = cfg.Keyspace
	cluster.RetryPolicy = retries{}
	cluster.QueryObserver, cluster.BatchObserver = s.metrics, s.metrics
	cluster.HostFilter = gocql.DataCenterHostFilter(cfg.Datacenter)
	cluster.PoolConfig.HostSelectionPolicy = s.metrics.nodes
	cluster.Metadata.CacheMode = gocql.KeyspaceOnly // which replicas there are is all that is asked
	if s.session, err = cfg.connect(cluster, false); err != nil {
		return nil, err
	}
	s.metrics.showNodes(s.countNodes)
	if cfg.Registerer != nil {
		if err := cfg.Registerer.Register(s.metrics.set); err != nil {
			s.session.Close()
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return s, nil
}

// check returns the datacenter to use, and the tiers that have tables, if all is well.
func (c *Config) check(ctx context.Context) (datacenter string, tiers uint32, err error) {
	session, err := c.probe()
	if err != nil {
		return "", 0, err
	}
	defer session.Close()
	top, err := readTopology(ctx, session)
	if err != nil {
		return "", 0, err
	}
	if datacenter, err = top.choose(c.Datacenter); err != nil {
		return "", 0, err
	}
	version, err := c.readVersion(ctx, session)
	if err == nil && version != SchemaVersion {
		err = versionError(c.Keyspace, version)
	}
	if err == nil {
		tiers, err = tiersOf(ctx, session, c.Keyspace)
	}
	return datacenter, tiers, err
}

// countNodes returns how many nodes of the datacenter this process has connections to, and
// to how many it has none.
func (s *Store) countNodes() (up, down int) {
	for _, h := range s.session.GetHosts() {
		switch {
		case h.DataCenter() != s.cfg.Datacenter:
		case h.IsUp():
			up++
		default:
			down++
		}
	}
	return up, down
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.session.Close()
	if s.cfg.Registerer != nil {
		s.cfg.Registerer.Unregister(s.metrics.set)
	}
	return nil
}

package cassandra

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/semaphore"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// Store is a store.Store in a keyspace.
type Store struct {
	session  *gocql.Session
	cfg      cql.Config
	clock    cql.Clock
	inFlight *semaphore.Weighted // bytes
	metrics  *metrics

	nodeClocks nodeClocks

	tiers                atomic.Uint32 // bit r is set if tier r has its tables
	shortestTTL, outlive time.Duration // the constants with the same names; tests set shorter times
}

var _ store.Store = (*Store)(nil)

// Open connects to the cluster. Unless the cluster is unreachable, its error wraps
// schema.ErrNoSchema, schema.ErrOld, schema.ErrNotExpanded, store.ErrFormat, cql.ErrDatacenter,
// cql.ErrCredentials, cql.ErrForbidden or cql.ErrTLS.
func Open(ctx context.Context, config cql.Config) (*Store, error) {
	cfg, err := config.Complete()
	if err != nil {
		return nil, err
	}
	var tiers uint32
	if cfg.Datacenter, tiers, err = check(ctx, &cfg); err != nil {
		return nil, err
	}
	s := &Store{
		cfg: cfg, inFlight: semaphore.NewWeighted(cfg.InFlightBytes), metrics: newMetrics(),
		shortestTTL: shortestTTL, outlive: schema.Outlive,
	}
	s.clock.Now = func() time.Time { return time.Unix(0, s.Now()) }
	s.tiers.Store(tiers)
	cluster := cfg.Cluster()
	cluster.Keyspace = cfg.Keyspace
	cluster.RetryPolicy = retries{}
	cluster.QueryObserver, cluster.BatchObserver = s.metrics, s.metrics
	cluster.HostFilter = gocql.DataCenterHostFilter(cfg.Datacenter)
	cluster.PoolConfig.HostSelectionPolicy = s.metrics.nodes
	cluster.Metadata.CacheMode = gocql.KeyspaceOnly // only the replicas are needed
	if s.session, err = cfg.Connect(cluster, false); err != nil {
		return nil, err
	}
	if _, err := s.Clocks(ctx, clock.SinceBoot); err != nil { // before the first write
		cql.Close(s.session, s.cfg.Log)
		return nil, err
	}
	s.metrics.showNodes(s.countNodes)
	if cfg.Registerer != nil {
		if err := cfg.Registerer.Register(s.metrics.set); err != nil {
			cql.Close(s.session, s.cfg.Log)
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return s, nil
}

// check returns the datacenter to use and the tiers that have tables. Its error is the reason
// why the archive cannot be opened.
func check(ctx context.Context, c *cql.Config) (datacenter string, tiers uint32, err error) {
	session, err := c.Probe()
	if err != nil {
		return "", 0, err
	}
	defer cql.Close(session, c.Log)
	top, err := cql.ReadTopology(ctx, session)
	if err != nil {
		return "", 0, err
	}
	if datacenter, err = top.Choose(c.Datacenter); err != nil {
		return "", 0, err
	}
	tiers, err = schema.Check(ctx, session, c.Keyspace, c.Formats)
	return datacenter, tiers, err
}

// countNodes returns the number of nodes of the datacenter to which this process is connected,
// and the number of nodes to which it is not connected.
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
	cql.Close(s.session, s.cfg.Log)
	if s.cfg.Registerer != nil {
		s.cfg.Registerer.Unregister(s.metrics.set)
	}
	return nil
}

package pvarchiver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// Options configure Open.
type Options struct {
	// Cluster says how to reach Cassandra. Its Keyspace is that of the archiver.
	Cluster cql.Config
	// Want decides which PVs to import. It gets their canonical names. It may be nil, for all.
	Want func(pv string) bool
}

// Source is the keyspace of a Cassandra PV Archiver.
type Source struct {
	// Skipped are the channels that are not imported.
	Skipped []migration.Skipped

	session  *gocql.Session
	log      *slog.Logger
	channels map[string][]channel // by canonical name of the PV
}

// channel is a channel of the archiver.
type channel struct {
	name string
	id   gocql.UUID
}

// protocol is version 4 of CQL's native protocol: Cassandra 2.2 and newer, which the archiver supports.
const protocol = 4

// maxChannels is how many channels an archiver may have.
const maxChannels = 20_000_000

// Open connects to Cassandra, checks the layout of the tables and reads the names of the channels. The caller must close
// the Source.
func Open(ctx context.Context, opts Options) (*Source, error) {
	cfg, err := opts.Cluster.Complete()
	if err != nil {
		return nil, err
	}
	session, err := connect(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	s := &Source{session: session, log: cfg.Log, channels: map[string][]channel{}}
	err = checkLayout(ctx, session, cfg.Keyspace)
	if err == nil {
		err = s.readChannels(ctx, opts.Want)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the connections.
func (s *Source) Close() error {
	cql.Close(s.session, s.log)
	return nil
}

// connect opens a session for the nodes of the datacenter that answers.
func connect(ctx context.Context, cfg *cql.Config) (*gocql.Session, error) {
	probe := cfg.Cluster()
	probe.ProtoVersion = protocol
	probe.NumConns, probe.DisableInitialHostLookup, probe.ReconnectInterval = 1, true, 0
	cql.Quiet(probe)
	first, err := cfg.Connect(probe, true)
	if err != nil {
		return nil, err
	}
	datacenter := ""
	err = first.Query("SELECT data_center FROM system.local").ScanContext(ctx, &datacenter)
	cql.Close(first, cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("reading the datacenter: %w", cql.Permitted(err))
	}
	cluster := cfg.Cluster()
	cluster.ProtoVersion, cluster.Keyspace = protocol, cfg.Keyspace
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.DCAwareRoundRobinPolicy(datacenter))
	cluster.RetryPolicy = &gocql.ExponentialBackoffRetryPolicy{NumRetries: 4, Min: cfg.Timeout / 20, Max: cfg.Timeout}
	cluster.Events.DisableSchemaEvents = true
	return cfg.Connect(cluster, true)
}

// channelAccess is the only control-system support whose tables are read.
const channelAccess = "channel_access"

// readChannels reads the names of the channels.
func (s *Source) readChannels(ctx context.Context, want func(string) bool) error {
	rows := s.session.Query("SELECT DISTINCT channel_name, channel_data_id, control_system_type FROM channels").PageSize(5000).IterContext(ctx)
	var name string
	var id *gocql.UUID
	var kind *string
	for n := 0; rows.Scan(&name, &id, &kind); n++ {
		if n == maxChannels {
			return errors.Join(fmt.Errorf("the table channels has more than %d channels", maxChannels), rows.Close())
		}
		s.add(name, id, kind, want)
		name, id, kind = "", nil, nil
	}
	if err := rows.Close(); err != nil {
		return fmt.Errorf("reading the table channels: %w", cql.Permitted(err))
	}
	return nil
}

// add adds a channel if its PV is wanted.
func (s *Source) add(name string, id *gocql.UUID, kind *string, want func(string) bool) {
	pv := pvname.Canonical(name)
	err := pvname.Check(pv)
	switch {
	case err != nil:
	case kind == nil || id == nil:
		err = errors.New("the channel has no configuration: it was deleted")
	case *kind != channelAccess:
		err = fmt.Errorf("its control-system support is %.60q; only %s can be imported", *kind, channelAccess)
	}
	switch {
	case err != nil:
		s.Skipped = append(s.Skipped, migration.Skipped{Path: fmt.Sprintf("channel %.100q", name), Reason: err.Error()})
	case want == nil || want(pv):
		s.channels[pv] = append(s.channels[pv], channel{name: name, id: *id})
	}
}

// PVs implements migration.Source.
func (s *Source) PVs() []string { return slices.Sorted(maps.Keys(s.channels)) }

// Read implements migration.Source. A PV may have several channels: X, X.VAL and ca://X are the same PV.
func (s *Source) Read(ctx context.Context, pv string, since, until int64, to migration.Sink) error {
	channels := s.channels[pv]
	slices.SortFunc(channels, func(a, b channel) int { return strings.Compare(a.name, b.name) })
	for _, c := range channels {
		r := &reader{Source: s, channel: c, since: since, until: until, to: to, page: firstPage}
		if err := r.read(ctx); err != nil {
			return fmt.Errorf("reading channel %s: %w", c.name, cql.Permitted(err))
		}
	}
	return nil
}

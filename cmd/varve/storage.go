package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"varve.dev/varve/engine/loglimit"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/engine/store/pebble"
)

// storageOptions select the store of an archive: Cassandra if there are hosts, otherwise a
// directory.
type storageOptions struct {
	dir        string
	dirGiven   func() bool // reports whether the user chose dir; nil if there is no flag for it
	hosts      []string
	keyspace   string
	datacenter string
	// credentials and tlsDir are directories, such as mounted Secrets.
	credentials   string
	tls           bool
	tlsDir        string
	tlsServerName string
	// earliest returns the earliest time that it may be now. It is nil in programs that do not
	// compare their clock with others.
	earliest func() int64
}

func (o *storageOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "data", "varve-data", "directory of the archive")
	o.dirGiven = func() bool { return f.Changed("data") }
	o.addCassandra(f)
}

// check returns an error unless the flags select one store.
func (o *storageOptions) check() error {
	switch {
	case o.locked() && o.dir == "":
		return errors.New("--data: the name of the directory is empty")
	case !o.locked() && o.dirGiven != nil && o.dirGiven():
		return errors.New("--cassandra and --data cannot be combined: an archive is either in Cassandra or in a directory")
	}
	return nil
}

func (o *storageOptions) addCassandra(f *pflag.FlagSet) {
	f.StringSliceVar(&o.hosts, "cassandra", nil, "store the archive in Cassandra with these contact points: HOST[:PORT],…")
	f.StringVar(&o.keyspace, "cassandra-keyspace", "varve", "keyspace of the archive")
	f.StringVar(&o.datacenter, "cassandra-datacenter", "", "data centre to use (default: the data centre of the first contact point)")
	f.StringVar(&o.credentials, "cassandra-credentials", "", "directory with the files username and password")
	f.BoolVar(&o.tls, "cassandra-tls", false, "use TLS and verify the servers' certificates")
	f.StringVar(&o.tlsDir, "cassandra-tls-dir", "",
		"directory with ca.crt (default: the system's CAs), and with tls.crt and tls.key if the servers require a client certificate")
	f.StringVar(&o.tlsServerName, "cassandra-tls-server-name", "", "name in the servers' certificates (default: the server's address, or its name in --cassandra)")
}

// open opens the store. It creates the schema first if it is missing.
func (o *storageOptions) open(ctx context.Context, reg prometheus.Registerer, log *slog.Logger) (store.Store, error) {
	if o.locked() {
		return o.openDirectory(reg, log)
	}
	cfg, err := o.cassandra(reg, log)
	if err != nil {
		return nil, err
	}
	if err := schema.Create(ctx, cfg); err != nil {
		return nil, fmt.Errorf("preparing Cassandra: %w", o.explain(err))
	}
	st, err := cassandra.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening Cassandra: %w", o.explain(err))
	}
	return st, nil
}

func (o *storageOptions) openDirectory(reg prometheus.Registerer, log *slog.Logger) (store.Store, error) {
	st, err := pebble.Open(o.dir, pebble.Options{Registerer: reg, Log: log})
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	return st, nil
}

// reopenEvery is the interval of attempts to create the schema while Cassandra is unreachable.
const reopenEvery = time.Second

// openLate opens a store whose schema another process creates. If Cassandra is unreachable, the
// store opens later, as soon as possible.
func (o *storageOptions) openLate(reg prometheus.Registerer, log *slog.Logger) (store.Store, error) {
	if o.locked() {
		return o.openDirectory(reg, log)
	}
	if _, err := o.cassandra(reg, log); err != nil {
		return nil, err
	}
	limited := slog.New(loglimit.New(log.Handler(), 10*time.Second))
	return cassandra.Later(func() (cql.Config, error) { return o.cassandra(reg, log) }, limited), nil
}

// cassandra returns the configuration that the flags describe.
func (o *storageOptions) cassandra(reg prometheus.Registerer, log *slog.Logger) (cfg cql.Config, err error) {
	cfg = cql.Config{Hosts: o.hosts, Keyspace: o.keyspace, Datacenter: o.datacenter, Earliest: o.earliest, Registerer: reg, Log: log}
	if o.credentials != "" {
		cfg.Login = o.login
		if _, _, err := o.login(); err != nil {
			return cfg, err
		}
	}
	if !o.tls && (o.tlsDir != "" || o.tlsServerName != "") {
		return cfg, errors.New("--cassandra-tls-dir and --cassandra-tls-server-name require --cassandra-tls")
	}
	if o.tls {
		cfg.TLS = o.tlsConfig
		if _, err := o.tlsConfig(); err != nil {
			return cfg, err
		}
	}
	if err := cfg.Validate(); err != nil {
		return cfg, fmt.Errorf("--cassandra: %w", err)
	}
	return cfg, nil
}

// locked reports whether only one process can use the store.
func (o *storageOptions) locked() bool { return len(o.hosts) == 0 }

// where describes the location of the store for users.
func (o *storageOptions) where() string {
	if len(o.hosts) == 0 {
		return "directory " + o.dir
	}
	return "Cassandra at " + strings.Join(o.hosts, ",")
}

// reclaim returns what an administrator must do to free the space of deleted data, or "" if
// nothing is needed.
func (o *storageOptions) reclaim() string {
	if o.locked() {
		return ""
	}
	return "run nodetool garbagecollect " + o.keyspace + " on each Cassandra node"
}

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

// storageOptions say where an archive is kept: in a directory, or in Cassandra
// where hosts are given.
type storageOptions struct {
	dir        string
	hosts      []string
	keyspace   string
	datacenter string
	// credentials and tlsDir are directories, as Secrets are mounted.
	credentials   string
	tls           bool
	tlsDir        string
	tlsServerName string
}

func (o *storageOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "data", "varve-data", "directory to keep the archive in")
	o.addCassandra(f)
}

func (o *storageOptions) addCassandra(f *pflag.FlagSet) {
	f.StringSliceVar(&o.hosts, "cassandra", nil, "keep the archive in Cassandra: contact points HOST[:PORT],…")
	f.StringVar(&o.keyspace, "cassandra-keyspace", "varve", "keyspace of the archive")
	f.StringVar(&o.datacenter, "cassandra-datacenter", "", "data centre to use (default: that of the first contact point)")
	f.StringVar(&o.credentials, "cassandra-credentials", "", "directory with the files username and password")
	f.BoolVar(&o.tls, "cassandra-tls", false, "encrypt connections, and check the servers' certificates")
	f.StringVar(&o.tlsDir, "cassandra-tls-dir", "",
		"directory with ca.crt (default: the system's authorities), and tls.crt and tls.key where servers ask for a certificate")
	f.StringVar(&o.tlsServerName, "cassandra-tls-server-name", "", "name in the servers' certificates (default: the address of the server, or a name in --cassandra)")
}

// open opens the store, and makes its schema first where that is missing.
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

// reopenEvery is how often Cassandra is tried that is away when its schema is to
// be made.
const reopenEvery = time.Second

// openLate opens a store whose schema is made elsewhere. Cassandra may be away:
// then the store is open as soon as it can be.
func (o *storageOptions) openLate(reg prometheus.Registerer, log *slog.Logger) (store.Store, error) {
	if o.locked() {
		return o.openDirectory(reg, log)
	}
	if _, err := o.cassandra(reg, log); err != nil {
		return nil, err
	}
	calm := slog.New(loglimit.New(log.Handler(), 10*time.Second))
	return cassandra.Later(func() (cql.Config, error) { return o.cassandra(reg, log) }, calm), nil
}

// cassandra returns the configuration that the flags ask for.
func (o *storageOptions) cassandra(reg prometheus.Registerer, log *slog.Logger) (cfg cql.Config, err error) {
	cfg = cql.Config{Hosts: o.hosts, Keyspace: o.keyspace, Datacenter: o.datacenter, Registerer: reg, Log: log}
	if o.credentials != "" {
		cfg.Login = o.login
		if _, _, err := o.login(); err != nil {
			return cfg, err
		}
	}
	if !o.tls && (o.tlsDir != "" || o.tlsServerName != "") {
		return cfg, errors.New("--cassandra-tls-dir and --cassandra-tls-server-name: they need --cassandra-tls")
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

// locked reports whether the store is one process's alone.
func (o *storageOptions) locked() bool { return len(o.hosts) == 0 }

// where names the place for people.
func (o *storageOptions) where() string {
	if len(o.hosts) == 0 {
		return "the directory " + o.dir
	}
	return "Cassandra at " + strings.Join(o.hosts, ",")
}

// reclaim says how what was deleted becomes free, where it does not by itself soon.
func (o *storageOptions) reclaim() string {
	if o.locked() {
		return ""
	}
	return "run nodetool garbagecollect " + o.keyspace + " on each node of Cassandra"
}

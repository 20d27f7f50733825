package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/pebble"
)

// storageOptions say where an archive is kept: in a directory, or in Cassandra
// where hosts are given.
type storageOptions struct {
	dir          string
	hosts        []string
	keyspace     string
	datacenter   string
	user         string
	passwordFile string
}

func (o *storageOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.dir, "data", "varve-data", "directory to keep the archive in")
	o.addCassandra(f)
}

func (o *storageOptions) addCassandra(f *pflag.FlagSet) {
	f.StringSliceVar(&o.hosts, "cassandra", nil, "keep the archive in Cassandra: contact points HOST[:PORT],…")
	f.StringVar(&o.keyspace, "cassandra-keyspace", "varve", "keyspace of the archive; made if missing")
	f.StringVar(&o.datacenter, "cassandra-datacenter", "", "data centre to use (default: that of the first contact point)")
	f.StringVar(&o.user, "cassandra-user", "", "user name")
	f.StringVar(&o.passwordFile, "cassandra-password-file", "", "file that holds the password")
}

// open opens the store, and makes its schema first where that is missing.
func (o *storageOptions) open(ctx context.Context, reg prometheus.Registerer, log *slog.Logger) (store.Store, error) {
	if len(o.hosts) == 0 {
		st, err := pebble.Open(o.dir, pebble.Options{Registerer: reg, Log: log})
		if err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		return st, nil
	}
	cfg, err := o.cassandra(reg, log)
	if err != nil {
		return nil, err
	}
	if err := cassandra.CreateSchema(ctx, cfg); err != nil {
		return nil, fmt.Errorf("preparing Cassandra: %w", err)
	}
	st, err := cassandra.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening Cassandra: %w", err)
	}
	return st, nil
}

// cassandra returns the configuration that the flags ask for.
func (o *storageOptions) cassandra(reg prometheus.Registerer, log *slog.Logger) (cassandra.Config, error) {
	cfg := cassandra.Config{
		Hosts: o.hosts, Keyspace: o.keyspace, Datacenter: o.datacenter, Username: o.user, Registerer: reg, Log: log,
	}
	if o.passwordFile != "" {
		text, err := os.ReadFile(o.passwordFile)
		if err != nil {
			return cfg, fmt.Errorf("--cassandra-password-file: %w", err)
		}
		cfg.Password = strings.TrimSpace(string(text))
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

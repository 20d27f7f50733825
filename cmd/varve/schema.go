package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/loglimit"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// schemaOptions are what the flags of `varve schema` set.
type schemaOptions struct {
	storageOptions
	logs     logFlags
	tiers    []string
	replicas int
	role     string // directory, as a Secret is mounted
	timeout  time.Duration
}

func newSchema() *cobra.Command {
	var o schemaOptions
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Make or check the tables of an archive in Cassandra",
		Long: `Makes the keyspace and the tables of an archive in Cassandra, where they are
missing, and waits until all nodes that answer agree. Unless it is told to, it
changes nothing that is there, and is safe to repeat, also by several processes at a
time. While Cassandra is away it tries again. varve standalone does the same at its
start.

Data that is kept for some time stands on a tier of the retention tiers, each of
which has tables of its own. What a group asks for is rounded up to a tier. A new
archive has all tiers unless --tiers names some; others can be added later.

--replication-factor N has an archive end with N replicas in the data centre, while
it is written and read. The number changes by one at a time, and each time all
replicas are made equal before the next, which takes as long as reading the archive.
It waits for nodes that are away. If it is ended, it goes on from there at the next
start. One process may do this at a time.

--role-credentials DIR makes a user for engines and retrieval, who may read and
write the tables, and nothing else.`,
		Example: `  varve schema --cassandra cass-1,cass-2 --cassandra-keyspace varve

  # With tables for what is kept for 90 days, 2 years, and forever:
  varve schema --cassandra cass-1 --tiers 90d,2y

  # With TLS, and a user:
  varve schema --cassandra cass-1,cass-2 --cassandra-credentials /etc/varve/credentials \
    --cassandra-tls --cassandra-tls-dir /etc/varve/tls

  # As the administrator of a cluster that has grown to three nodes:
  varve schema --cassandra cass-1 --cassandra-credentials /etc/varve/admin \
    --replication-factor 3 --role-credentials /etc/varve/credentials`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	o.addCassandra(f)
	f.StringSliceVar(&o.tiers, "tiers", nil,
		"tiers of the retention tiers to make tables for, forever being one anyway: 1d, 7d, 30d, 90d, 1y, 2y, 5y, 10y (default: all for a new archive, none else)")
	f.IntVar(&o.replicas, "replication-factor", 0,
		"how many nodes of the data centre are to have each sample (default: 3 or the number of nodes for a new archive, no change else)")
	f.StringVar(&o.role, "role-credentials", "", "directory with the files username and password of the user to make for engines and retrieval")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long to try while Cassandra, or a node that is needed, is away")
	o.logs.add(cmd)
	return cmd
}

func (o *schemaOptions) run(cmd *cobra.Command) error {
	log, err := o.logs.logger()
	if err != nil {
		return err
	}
	cfg, err := o.config(log)
	if err != nil {
		return err
	}
	var role schema.Role
	if o.role != "" {
		if role, err = o.roleToMake(); err != nil {
			return err
		}
	}
	if err := o.make(cmd.Context(), cfg, role, log); err != nil {
		return o.explainSchema(err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "keyspace %s has the schema of version %d\n", o.keyspace, schema.Version)
	if o.replicas > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "it has %d replicas, and all of them are whole\n", o.replicas)
	}
	if o.role != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "user %s may read and write it\n", role.Name)
	}
	return nil
}

// config returns what the flags ask for.
func (o *schemaOptions) config(log *slog.Logger) (cql.Config, error) {
	if o.locked() {
		return cql.Config{}, errors.New("--cassandra: at least one contact point is needed")
	}
	cfg, err := o.cassandra(nil, log)
	if err != nil {
		return cfg, err
	}
	for _, name := range o.tiers {
		r, err := store.ParseTier(name)
		if err != nil {
			return cfg, fmt.Errorf("--tiers: %w", err)
		}
		cfg.Tiers = append(cfg.Tiers, r)
	}
	if o.replicas < 0 {
		return cfg, fmt.Errorf("--replication-factor: %d is not 1 or more, nor 0 for the default", o.replicas)
	}
	cfg.ReplicationFactor = o.replicas
	return cfg, nil
}

// roleToMake returns the user whose credentials are mounted.
func (o *schemaOptions) roleToMake() (role schema.Role, err error) {
	if role.Name, err = credential("--role-credentials", o.role, "username"); err != nil {
		return role, err
	}
	if role.Password, err = credential("--role-credentials", o.role, "password"); err != nil {
		return role, err
	}
	if o.credentials == "" {
		return role, errors.New("--role-credentials: making a user needs --cassandra-credentials of a superuser")
	}
	if name, _, err := o.login(); err != nil {
		return role, err
	} else if name == role.Name {
		return role, fmt.Errorf("--role-credentials: %s is the user that --cassandra-credentials logs in as, and not one for engines", name)
	}
	return role, nil
}

// make does what is asked for. The timeout is for each part, and not for a repair that
// comes along.
func (o *schemaOptions) make(ctx context.Context, cfg cql.Config, role schema.Role, log *slog.Logger) error {
	err := o.retry(ctx, log, func(ctx context.Context) error { return schema.Create(ctx, cfg) })
	if err == nil && o.role != "" {
		err = o.retry(ctx, log, func(ctx context.Context) error { return schema.GrantRole(ctx, cfg, role) })
	}
	if err == nil && o.replicas > 0 {
		err = schema.Replicate(ctx, cfg, schema.Replication{Patience: o.timeout})
	}
	return err
}

// explainSchema adds to an error which flag it is about.
func (o *schemaOptions) explainSchema(err error) error {
	switch {
	case errors.Is(err, schema.ErrNodes), errors.Is(err, schema.ErrReplication):
		return fmt.Errorf("--replication-factor %d: %w", o.replicas, err)
	case errors.Is(err, schema.ErrRoles):
		return fmt.Errorf("--role-credentials %s: %w", o.role, err)
	}
	return o.explain(err)
}

// retry calls f until it succeeds. What only an administrator can change ends it at once.
func (o *schemaOptions) retry(ctx context.Context, log *slog.Logger, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	calm := slog.New(loglimit.New(log.Handler(), 10*time.Second))
	for {
		err := f(ctx)
		if err == nil || schema.IsFinal(err) {
			return err
		}
		calm.Warn("the schema can not be made yet", "err", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("giving up: %w", err)
		case <-time.After(reopenEvery):
		}
	}
}

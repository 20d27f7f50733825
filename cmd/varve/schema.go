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

// schemaOptions are the flags of `varve schema`.
type schemaOptions struct {
	storageOptions
	logs     logFlags
	tiers    []string
	replicas int
	role     string // directory, such as a mounted Secret
	timeout  time.Duration
}

func newSchema() *cobra.Command {
	var o schemaOptions
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Create or check the tables of an archive in Cassandra",
		Long: `Creates the keyspace, tables and columns of an archive in Cassandra that do not exist, and
waits until all reachable nodes agree on the schema. It removes and renames nothing, so the
former release can still use the archive. It is safe to repeat, also by several processes
at the same time. It retries while Cassandra is unreachable. varve standalone does the same
when it starts.

Each retention tier has its own tables. Requested retention times are rounded up to a
tier. A new archive has all tiers, unless --tiers names some; you can add others later.

--replication-factor N changes the number of replicas in the data centre to N, while
the archive stays in use. The number changes in steps of one. After each step all
replicas are repaired, which takes as long as reading the archive. The command waits
for nodes that are down. If it is interrupted, repeat it: it continues where it stopped.
Only one process may do this at a time.

--role-credentials DIR creates a user for engines and retrieval pods, which may only
read and write the tables.`,
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
		"retention tiers to create, in addition to forever: 1d, 7d, 30d, 90d, 1y, 2y, 5y, 10y (default: all for a new archive, otherwise none)")
	f.IntVar(&o.replicas, "replication-factor", 0,
		"number of replicas in the data centre (default: 3 or the number of nodes for a new archive, otherwise unchanged)")
	f.StringVar(&o.role, "role-credentials", "", "directory with the files username and password of the user to create for engines and retrieval pods")
	addDuration(f, &o.timeout, "timeout", 10*time.Minute, "maximum time to wait for Cassandra, or for a required node")
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
		if role, err = o.newRole(); err != nil {
			return err
		}
	}
	if err := o.createSchema(cmd.Context(), cfg, role, log); err != nil {
		return o.explainSchema(err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "keyspace %s has the tables for format level %d\n", o.keyspace, store.LatestFormat)
	if o.replicas > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "it has %d complete replicas\n", o.replicas)
	}
	if o.role != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "user %s can read and write it\n", role.Name)
	}
	return nil
}

// config returns the configuration that the flags describe.
func (o *schemaOptions) config(log *slog.Logger) (cql.Config, error) {
	if o.locked() {
		return cql.Config{}, errors.New("--cassandra is required: name at least one contact point")
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
		return cfg, fmt.Errorf("--replication-factor: %d is negative (0 means the default)", o.replicas)
	}
	cfg.ReplicationFactor = o.replicas
	return cfg, nil
}

// newRole returns the user to create, with the credentials in the directory.
func (o *schemaOptions) newRole() (role schema.Role, err error) {
	if role.Name, err = credential("--role-credentials", o.role, "username"); err != nil {
		return role, err
	}
	if role.Password, err = credential("--role-credentials", o.role, "password"); err != nil {
		return role, err
	}
	if o.credentials == "" {
		return role, errors.New("--role-credentials requires --cassandra-credentials of a superuser")
	}
	if name, _, err := o.login(); err != nil {
		return role, err
	} else if name == role.Name {
		return role, fmt.Errorf("--role-credentials: user %s is also the user of --cassandra-credentials; engines need a user of their own", name)
	}
	return role, nil
}

// createSchema creates the schema, the user and the replicas. The timeout applies to each step,
// but not to the repair of replicas.
func (o *schemaOptions) createSchema(ctx context.Context, cfg cql.Config, role schema.Role, log *slog.Logger) error {
	err := o.retry(ctx, log, func(ctx context.Context) error { return schema.Create(ctx, cfg) })
	if err == nil && o.role != "" {
		err = o.retry(ctx, log, func(ctx context.Context) error { return schema.GrantRole(ctx, cfg, role) })
	}
	if err == nil && o.replicas > 0 {
		err = schema.Replicate(ctx, cfg, schema.Replication{Patience: o.timeout})
	}
	return err
}

// explainSchema adds the flag that an error refers to.
func (o *schemaOptions) explainSchema(err error) error {
	switch {
	case errors.Is(err, schema.ErrNodes), errors.Is(err, schema.ErrReplication):
		return fmt.Errorf("--replication-factor %d: %w", o.replicas, err)
	case errors.Is(err, schema.ErrRoles):
		return fmt.Errorf("--role-credentials %s: %w", o.role, err)
	}
	return o.explain(err)
}

// retry calls f until it succeeds. It returns errors that only an administrator can fix at once.
func (o *schemaOptions) retry(ctx context.Context, log *slog.Logger, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	limited := slog.New(loglimit.New(log.Handler(), 10*time.Second))
	for {
		err := f(ctx)
		if err == nil || schema.IsFinal(err) {
			return err
		}
		limited.Warn("creating the schema failed, will retry", "err", err)
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("creating the schema was interrupted: %w", err)
			}
			return fmt.Errorf("after --timeout %v, Cassandra is still not ready: %w", o.timeout, err)
		case <-time.After(reopenEvery):
		}
	}
}

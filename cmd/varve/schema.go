package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/quiet"
	"varve.dev/varve/engine/store/cassandra"
)

func newSchema() *cobra.Command {
	var logs logFlags
	var o storageOptions
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Make or check the tables of an archive in Cassandra",
		Long: `Makes the keyspace and the tables of an archive in Cassandra, where they are
missing, and waits until all nodes agree. It changes nothing that is there, and
is safe to repeat. While Cassandra is away it tries again. One process at a time
may do so; varve standalone does it at its start.`,
		Example: `  varve schema --cassandra cass-1,cass-2 --cassandra-keyspace varve

  # With TLS, and a user:
  varve schema --cassandra cass-1,cass-2 --cassandra-credentials /etc/varve/credentials \
    --cassandra-tls --cassandra-tls-dir /etc/varve/tls`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logs.logger()
			if err != nil {
				return err
			}
			if o.locked() {
				return errors.New("--cassandra: at least one contact point is needed")
			}
			cfg, err := o.cassandra(nil, log)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if err := createSchema(ctx, cfg, log); err != nil {
				return o.explain(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "keyspace %s has the schema of version %d\n", o.keyspace, cassandra.SchemaVersion)
			return nil
		},
	}
	o.addCassandra(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to try while Cassandra is away")
	logs.add(cmd)
	return cmd
}

// createSchema makes the schema as soon as Cassandra can be asked. What only an
// administrator can change ends it at once.
func createSchema(ctx context.Context, cfg cassandra.Config, log *slog.Logger) error {
	calm := slog.New(quiet.New(log.Handler(), 10*time.Second))
	for {
		err := cassandra.CreateSchema(ctx, cfg)
		for _, final := range []error{
			nil, cassandra.ErrVersion, cassandra.ErrDatacenter, cassandra.ErrCredentials, cassandra.ErrForbidden, cassandra.ErrTLS,
		} {
			if errors.Is(err, final) {
				return err
			}
		}
		calm.Warn("the schema can not be made yet", "err", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("giving up: %w", err)
		case <-time.After(reopenEvery):
		}
	}
}

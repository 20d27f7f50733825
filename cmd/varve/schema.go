package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/store/cassandra"
)

func newSchema() *cobra.Command {
	var logs logFlags
	var o storageOptions
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Make or check the tables of an archive in Cassandra",
		Long: `Makes the keyspace and the tables of an archive in Cassandra, where they are
missing, and waits until all nodes agree. It changes nothing that is there, and
is safe to repeat. One process at a time may do so; varve standalone does it at
its start.`,
		Example: `  varve schema --cassandra cass-1,cass-2 --cassandra-keyspace varve`,
		Args:    cobra.NoArgs,
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
			if err := cassandra.CreateSchema(cmd.Context(), cfg); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "keyspace %s has the schema of version %d\n", o.keyspace, cassandra.SchemaVersion)
			return nil
		},
	}
	o.addCassandra(cmd.Flags())
	logs.add(cmd)
	return cmd
}

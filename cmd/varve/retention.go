package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/forecast"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/sources"
)

func newRetention() *cobra.Command {
	cmd := &cobra.Command{Use: "retention", Short: "Predict the effect of a new retention", Args: cobra.NoArgs}
	cmd.AddCommand(newRetentionPlan())
	return cmd
}

// planOptions are the flags of `varve retention plan`.
type planOptions struct {
	storage  storageOptions
	file     string
	group    string
	provider providerFlag
	maxPVs   int
	pvs      bool
}

func newRetentionPlan() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Predict what the retention of groups would do to stored data",
		Long: `Compares the retention of ArchiveGroups in files with the data in an archive. For each
group it prints

  how long its data is kept: requested times are rounded up to one of the retention
  tiers 1d, 7d, 30d, 90d, 1y, 2y, 5y, 10y and forever;
  how much data is stored, by tier;
  how much data moves to another tier;
  how much data is deleted because it is older than the group keeps it.

It changes nothing. Sizes are those of the compressed samples without rollups, and
estimates if a group has more PVs than --sample.

Pass all groups of the archive: a PV in several groups is kept for the longest time
that any of them requests. Data of PVs in no group stays as it is. ChannelFinder is not
queried, so the PVs that it would list count as PVs in no group.

Stop the archiver before you inspect an archive in a directory. An archive in Cassandra
can be inspected at any time.`,
		Example: `  # What would an edit of the groups in ./groups do?
  varve retention plan -f groups --data varve-data

  # Each PV of one group, in an archive in Cassandra:
  varve retention plan -f groups --group default/vacuum --pvs --cassandra cass-1,cass-2

  # The groups of a cluster:
  kubectl get archivegroups -n beamline -o yaml > groups.yaml
  varve retention plan -f groups.yaml --cassandra cass-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "file or directory with ArchiveGroups (required)")
	f.StringVar(&o.group, "group", "", "show only this group: NAMESPACE/NAME, or a name in namespace default")
	f.Var(&o.provider, "provider", "default protocol, as for varve standalone: CA or PVA")
	f.IntVar(&o.maxPVs, "sample", 200, "read the blocks of at most this number of PVs per group (0: of all PVs)")
	f.BoolVar(&o.pvs, "pvs", false, "also list each PV whose blocks were read")
	o.storage.add(f)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (o *planOptions) run(cmd *cobra.Command) error {
	if o.maxPVs < 0 {
		return fmt.Errorf("--sample: %d is negative", o.maxPVs)
	}
	files := manifest.Load(o.file)
	if err := files.Err(); err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	compiled := o.compile(&files, cmd.ErrOrStderr())
	only := o.group
	if only != "" {
		if compiled.Groups[only] == nil {
			only = "default/" + only
		}
		if compiled.Groups[only] == nil {
			return fmt.Errorf("--group: no group %q in %s", o.group, o.file)
		}
	}
	st, err := o.open(cmd.Context())
	if err != nil {
		return err
	}
	groups, err := forecast.Make(cmd.Context(), st, compiled.Assignment, forecast.Options{
		Only: only, MaxPVs: o.maxPVs, Now: time.Now(), Progress: printProgress(cmd.ErrOrStderr()),
	})
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	specs := map[string]string{}
	for i := range files.Groups {
		g := &files.Groups[i]
		specs[g.Namespace+"/"+g.Name] = compile.Describe(&g.Spec)
	}
	printPlan(cmd.OutOrStdout(), groups, specs, compiled.Groups, o.pvs)
	return nil
}

// compile compiles the groups of the files, and prints their problems.
func (o *planOptions) compile(files *manifest.Result, problems io.Writer) compile.Result {
	listed := map[string]compile.Listed{}
	for i := range files.Groups {
		g := &files.Groups[i]
		if len(g.Spec.ChannelsFrom) == 0 {
			continue
		}
		listed[g.Namespace+"/"+g.Name], _ = sources.List(g, sources.Lookup{
			ConfigMap: func(namespace, name string) (*corev1.ConfigMap, sources.State) {
				for _, cm := range files.ConfigMaps {
					if cm.Namespace == namespace && cm.Name == name {
						return cm, sources.Found
					}
				}
				return nil, sources.Missing
			},
			ChannelFinder: func(string, string) ([]string, bool, error) {
				return nil, false, errors.New("ChannelFinder is not queried: the plan lacks the PVs that it would list")
			},
		})
	}
	r := compile.Compile(files.Groups, listed, compile.Archive{Shards: engine.DefaultShards, Provider: capture.Provider(o.provider)}, time.Now())
	for name, g := range r.Groups {
		for _, p := range g.Problems {
			fmt.Fprintf(problems, "%s: %s %s\n", name, p.PV, p.Message)
		}
	}
	return r
}

// open opens an existing store. It creates nothing.
func (o *planOptions) open(ctx context.Context) (store.Store, error) {
	log := slog.New(slog.DiscardHandler)
	if o.storage.locked() {
		if _, err := os.Stat(o.storage.dir); err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		st, err := o.storage.openDirectory(nil, log)
		if errors.Is(err, pebble.ErrInUse) {
			return nil, fmt.Errorf("%w: stop the archiver that uses it, or inspect a copy of the directory", err)
		}
		return st, err
	}
	cfg, err := o.storage.cassandra(nil, log)
	if err != nil {
		return nil, err
	}
	st, err := cassandra.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening Cassandra: %w", o.storage.explain(err))
	}
	return st, nil
}

// printProgress returns a function that prints the progress every two seconds.
func printProgress(out io.Writer) func(done, all int) {
	next := time.Now().Add(2 * time.Second)
	return func(done, all int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(2 * time.Second)
			fmt.Fprintf(out, "read %d of %d PVs\n", done, all)
		}
	}
}

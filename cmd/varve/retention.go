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
	cmd := &cobra.Command{Use: "retention", Short: "Tell how long data is kept", Args: cobra.NoArgs}
	cmd.AddCommand(newRetentionPlan())
	return cmd
}

// planOptions are what the flags of `varve retention plan` set.
type planOptions struct {
	storage  storageOptions
	file     string
	group    string
	provider providerFlag
	most     int
	pvs      bool
}

func newRetentionPlan() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Tell what the retention of groups would do to stored data, before it is applied",
		Long: `Reads ArchiveGroups from files and looks into an archive. It tells of each group

  how long its data is kept: what is asked for is rounded up to a tier of the
  tiers 1d, 7d, 30d, 90d, 1y, 2y, 5y, 10y, forever;
  how much is stored, and on which tier;
  what moves to the tier that is asked for, as it is on another one;
  what goes: samples that are older than the group keeps them.

It changes nothing. Bytes are those of the samples as they are packed, and
estimates if a group has more PVs than --sample. Rollups are not counted.

The groups should be all those of the archive: a PV that several groups name is
kept for as long as one of them asks. PVs that no group names stay as they are.
Names that ChannelFinder would give are not asked for.

An archive in a directory can be looked at only while nothing else has it open;
one in Cassandra at any time.`,
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
	f.StringVarP(&o.file, "file", "f", "", "file or directory of ArchiveGroups (needed)")
	f.StringVar(&o.group, "group", "", "tell of this group only: NAMESPACE/NAME, or a name in namespace default")
	f.Var(&o.provider, "provider", "as varve standalone has it")
	f.IntVar(&o.most, "sample", 200, "look at the blocks of so many PVs of each group; 0: of all")
	f.BoolVar(&o.pvs, "pvs", false, "tell of each PV that was looked at, too")
	o.storage.add(f)
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (o *planOptions) run(cmd *cobra.Command) error {
	if o.most < 0 {
		return fmt.Errorf("--sample: %d is negative", o.most)
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
			return fmt.Errorf("--group: there is no group %q in %s", o.group, o.file)
		}
	}
	st, err := o.open(cmd.Context())
	if err != nil {
		return err
	}
	groups, err := forecast.Make(cmd.Context(), st, compiled.Assignment, forecast.Options{
		Only: only, Most: o.most, Now: time.Now(), Progress: tellProgress(cmd.ErrOrStderr()),
	})
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	specs := map[string]string{}
	for i := range files.Groups {
		g := &files.Groups[i]
		specs[g.Namespace+"/"+g.Name] = compile.Describe(&g.Spec)
	}
	tellPlan(cmd.OutOrStdout(), groups, specs, compiled.Groups, o.pvs)
	return nil
}

// compile compiles the groups of files, and tells what is wrong in them.
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
				return nil, false, errors.New("ChannelFinder is not asked: the PVs that it names are missing here")
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

// open opens the store as it is: it makes nothing that is missing.
func (o *planOptions) open(ctx context.Context) (store.Store, error) {
	log := slog.New(slog.DiscardHandler)
	if o.storage.locked() {
		if _, err := os.Stat(o.storage.dir); err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		st, err := o.storage.openDirectory(nil, log)
		if errors.Is(err, pebble.ErrInUse) {
			return nil, fmt.Errorf("%w: stop the archiver that has it open, or look at a copy of the directory", err)
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

// tellProgress tells every other second how far it is.
func tellProgress(out io.Writer) func(done, all int) {
	next := time.Now().Add(2 * time.Second)
	return func(done, all int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(2 * time.Second)
			fmt.Fprintf(out, "looked at %d of %d PVs\n", done, all)
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channelfinder"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/ownership"
	"varve.dev/varve/groups/plan"
)

// changeOptions are the flags of `varve plan`.
type changeOptions struct {
	file     string
	current  string // files in effect
	cluster  planCluster
	policies string
	prune    bool
	finder   bool
	provider providerFlag
	format   string
	most     int
}

func newPlan() *cobra.Command {
	var o changeOptions
	cmd := &cobra.Command{
		Use:   "plan -f FILE (--current FILE | --archiver NAME)",
		Short: "Print what new ArchiveGroups would change for PVs",
		Long: `Compares ArchiveGroups in files with those in effect, and prints what would change if the
files were applied: PVs that are added and removed, settings that change, and PVs that move
to another group or shard. It changes nothing.

The ArchiveGroups in effect are in files (--current, such as the directory of varve standalone),
or belong to an Archiver in a cluster (--archiver). With --archiver, the plan also uses the
ConfigMaps and ArchivePolicies of the cluster, and objects of the namespace default in the
files count as objects of --namespace.

A group in the files replaces the group of the same name; other groups stay. With --prune, the
files are all groups of the archive, and groups that they lack count as deleted.

ChannelFinder is queried only with --channelfinder. Otherwise the plan lacks the PVs that it
lists. To see what a new retention does to stored data, use varve retention plan.

Samples that the spec.deletions of a group would delete are listed first: they do not come back.

With --current, the ArchivePolicies are those of --policies, as for varve standalone.

Exit codes: 0 nothing changes, 1 something changes or a problem is new, 2 the plan failed, or
nothing seems to change and you may not read the ArchivePolicies.`,
		Example: `  # Edit a copy of the groups of varve standalone, and compare:
  varve plan -f edited --current groups --prune

  # What would kubectl apply -n beamline -f groups change?
  varve plan -f groups --namespace beamline --archiver main

  # All PVs, for a program:
  varve plan -f groups --namespace beamline --archiver main -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return exitError{fmt.Errorf("%w (-f takes one file or directory)", err), exitFailed}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, time.Now()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{err, exitFailed} })
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "file or directory with the new ArchiveGroups (required)")
	f.StringVar(&o.current, "current", "", "file or directory with the ArchiveGroups in effect")
	f.StringVar(&o.cluster.archiver, "archiver", "", "name of the Archiver whose ArchiveGroups are in effect")
	f.StringVar(&o.cluster.namespace, "namespace", "default", "namespace of the Archiver")
	f.StringVar(&o.cluster.kubeconfig, "kubeconfig", "", "kubeconfig file (default: as for kubectl)")
	f.StringVar(&o.policies, "policies", "", "with --current: YAML file of ArchivePolicies, as for varve standalone (default: none)")
	f.BoolVar(&o.prune, "prune", false, "the files are all groups of the archive: groups that they lack count as deleted")
	f.BoolVar(&o.finder, "channelfinder", false, "query ChannelFinder for the PVs of groups that use it")
	f.Var(&o.provider, "provider", "default protocol with --current, as for varve standalone: CA or PVA")
	f.StringVarP(&o.format, "format", "o", "text", "output format: text or json")
	f.IntVar(&o.most, "most", 20, "maximum number of lines in each part of the text (0: all)")
	completeFlag(cmd, "format", []string{"text", "json"})
	return cmd
}

// maxMost bounds --most.
const maxMost = 10_000_000

func (o *changeOptions) check() error {
	switch {
	case o.file == "":
		return errors.New("--file is required: a file or directory with ArchiveGroups")
	case (o.current == "") == (o.cluster.archiver == ""):
		return errors.New("--current or --archiver is required, and not both: the files or the Archiver to compare with")
	case o.policies != "" && o.current == "":
		return errors.New("--policies is for --current only: with --archiver, the ArchivePolicies of the cluster count")
	case o.format != "text" && o.format != "json":
		return fmt.Errorf("--format: %q is not text or json", o.format)
	case o.most < 0 || o.most > maxMost:
		return fmt.Errorf("--most: %d is not between 0 and %d", o.most, maxMost)
	case o.cluster.archiver == "":
		return nil
	}
	return errors.Join(checkName("--archiver", o.cluster.archiver), checkName("--namespace", o.cluster.namespace))
}

func (o *changeOptions) run(cmd *cobra.Command, now time.Time) error {
	if err := o.check(); err != nil {
		return exitError{err, exitFailed}
	}
	p, err := o.plan(cmd.Context(), now)
	if err == nil {
		err = p.print(cmd.OutOrStdout(), o)
	}
	if err != nil {
		return exitError{err, exitFailed}
	}
	return p.result()
}

// result returns an error with the exit code of a plan, or nil if nothing changes.
func (p *changePlan) result() error {
	switch {
	case !p.Empty():
		message := fmt.Sprintf("%d PVs would change now, and %d events later", len(p.PVs), len(p.Later))
		if n := len(p.Deletions); n > 0 {
			message += fmt.Sprintf("; %d deletions of samples would begin", n)
		}
		if n := len(p.NewProblems) + p.MoreProblems; n > 0 {
			message += fmt.Sprintf("; %d problems are new", n)
		}
		return exitError{errors.New(message), exitProblems}
	case p.incomplete != nil:
		return exitError{p.incomplete, exitFailed}
	}
	return nil
}

// changePlan is a plan with notes about what it lacks.
type changePlan struct {
	plan.Plan
	Notes []string `json:"notes"`
	// incomplete says why the plan does not know whether something changes. It is nil if it knows.
	incomplete error
}

// plan makes the plan.
func (o *changeOptions) plan(ctx context.Context, now time.Time) (*changePlan, error) {
	files := manifest.Load(o.file)
	if err := files.Err(); err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	applied := plan.State{Groups: files.Groups, ConfigMaps: files.ConfigMaps}
	out := &changePlan{Notes: []string{}}
	var state plan.State
	archive := compile.Archive{Shards: engine.DefaultShards, Provider: capture.Provider(o.provider), Alone: true}
	if o.current != "" {
		current := manifest.Load(o.current)
		if len(current.Groups) == 0 && len(current.Errors) > 0 {
			return nil, fmt.Errorf("--current: %w", current.Err())
		}
		for _, err := range current.Errors {
			out.Notes = append(out.Notes, "--current: a part of the ArchiveGroups in effect cannot be read: "+err.Error())
		}
		state = plan.State{Groups: current.Groups, ConfigMaps: current.ConfigMaps}
		if o.policies != "" {
			list, err := manifest.LoadPolicies(o.policies)
			if err != nil {
				return nil, fmt.Errorf("--policies: %w", err)
			}
			archive.Policies, archive.Planned = ownership.Alone(list)
		}
	} else {
		found, err := o.cluster.read(ctx, &applied)
		if err != nil {
			return nil, err
		}
		state, archive = found.state, found.archive
		out.Notes, out.incomplete = append(out.Notes, found.notes...), found.incomplete
	}
	if o.finder {
		answers, err := queryChannelFinder(ctx, state, applied)
		if err != nil {
			return nil, fmt.Errorf("--channelfinder: %w", err)
		}
		state.ChannelFinder = answers.find
	}
	after := state.With(applied, plan.Options{Prune: o.prune, DeletesData: o.current == "", Now: now})
	if o.current == "" {
		after.Groups = slices.DeleteFunc(after.Groups, func(g v1alpha1.ArchiveGroup) bool { return g.Spec.ArchiverRef.Name != o.cluster.archiver })
	}
	if unknown := slices.Compact(slices.Sorted(slices.Values(append(state.Unknown(), after.Unknown()...)))); len(unknown) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the plan lacks the PVs that ChannelFinder lists for %d groups (%s); use --channelfinder", len(unknown), firstOf(unknown)))
	}
	if absent := state.Absent(); len(absent) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("ConfigMaps of %d groups in effect are missing or have no label (%s): the archive still captures the PVs that they listed, and the plan lacks them", len(absent), firstOf(absent)))
	}
	before := state.Compile(archive, nil, now)
	out.Plan = plan.Compare(before, after.Compile(archive, &before, now), archive)
	after.NameRules(&out.Plan)
	out.Later = plan.CompareLater(state, after, now)
	return out, nil
}

// firstOf returns the first few names of a list.
func firstOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", …"
}

// finderAnswers are the answers of ChannelFinder by URL and query.
type finderAnswers map[[2]string][]string

func (a finderAnswers) find(url, query string) ([]string, bool, error) {
	names, known := a[[2]string{url, query}]
	return names, known, nil
}

// queryChannelFinder sends each query of the groups once.
func queryChannelFinder(ctx context.Context, states ...plan.State) (finderAnswers, error) {
	client := channelfinder.NewClient()
	defer client.Close()
	answers := finderAnswers{}
	for _, s := range states {
		for i := range s.Groups {
			for _, source := range s.Groups[i].Spec.ChannelsFrom {
				f := source.ChannelFinder
				if f == nil {
					continue
				}
				if _, known := answers[[2]string{f.URL, f.Query}]; known {
					continue
				}
				names, err := client.Names(ctx, f.URL, f.Query)
				if err != nil {
					return nil, err
				}
				answers[[2]string{f.URL, f.Query}] = names
			}
		}
	}
	return answers, nil
}

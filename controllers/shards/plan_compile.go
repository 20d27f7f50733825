package shards

import (
	"context"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/sources"
)

var customResourceDefinition = schema.GroupVersionKind{
	Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
}

// compiled is what the groups of an Archiver came to. It is kept to compile again
// only if one of its inputs has changed; most reconciliations are for answers of
// engines. It holds on to no channel: there may be 10 million.
type compiled struct {
	fingerprint uint64
	// shards has an entry for every place, also for shards that do not exist.
	shards      []compiledShard
	groups      map[string]*compile.Group
	generations map[string]int64
	names       []string // of groups
	expiry      time.Time
	// absent says that some source is not there; withdrawn that the groups'
	// definition is not, so that all stays as it was compiled last.
	absent, withdrawn bool
	// data of lists by name; only right after compiling.
	data map[string][]byte
}

// compiledShard is what the spec of a shard has to say of channels.
type compiledShard struct {
	lists, deletions []string // names of ConfigMaps
	channels         int      // in lists
	// leaving are lists of channels that other shards have now, which the shard
	// goes on with until those in awaits have taken theirs.
	leaving []string
	awaits  []int32
	// deleting are the groups whose data deletions are.
	deleting map[string]bool
	// kept says that the shard stays as it is, because what it captures can not
	// be read, and somebody's source is not there.
	kept bool
}

// unknown says that nothing is known of what the shard captures. It must not be
// written then: a shard without lists is an order to end.
func (s *compiledShard) unknown() bool { return s.kept && !s.busy() }

// isEmpty says whether the shard has nothing to do.
func (s *compiledShard) isEmpty() bool { return !s.busy() && len(s.deletions) == 0 }

// next returns in how long something changes by itself.
func (c *compiled) next(now time.Time) time.Duration {
	var again time.Duration
	if c.absent || c.withdrawn {
		again = unsettledInterval
	}
	if c.expiry.IsZero() {
		return again
	}
	return earliest(again, max(c.expiry.Sub(now), time.Millisecond))
}

// compile returns the latest compilation, or a new one if what it was made of has
// changed, or one of its lists is gone.
func (r *Reconciler) compile(ctx context.Context, in *observed, known *archive) (*compiled, error) {
	withdrawn, err := r.groupsWithdrawn(ctx, in, known)
	switch {
	case err != nil:
		return nil, err
	case withdrawn && known.made != nil:
		made := *known.made
		made.withdrawn = true
		return &made, nil
	case withdrawn:
		return in.asItIs(), nil
	}
	read := r.newReader(ctx, in)
	now := time.Now()
	fingerprint := read.fingerprint(in, now)
	if read.err != nil {
		return nil, read.err
	}
	if known.made != nil && known.made.fingerprint == fingerprint && in.hasLists(known.made) {
		return known.made, nil
	}
	listed := map[string]compile.Listed{}
	for i := range in.groups {
		g := &in.groups[i]
		listed[groupName(g)], _ = sources.List(g, read.lookup())
	}
	result := compile.Compile(in.groups, listed, in.archive(), now)
	made := encode(in, &result, read.lost)
	made.fingerprint, made.absent = fingerprint, read.absent
	kept := *made
	kept.data = nil
	known.made = &kept
	r.metrics.compiles.Inc()
	r.metrics.compileSeconds.Observe(time.Since(now).Seconds())
	return made, nil
}

// archive is what the Archiver says of all its groups.
func (in *observed) archive() compile.Archive {
	spec := &in.archiver.Spec
	return compile.Archive{
		Shards: int(spec.Shards), Provider: compile.ProviderOf(spec.EPICS.DefaultProvider), Alone: spec.Storage.Embedded != nil,
	}
}

// places is how many shards there may be: those of spec.shards, and as many again for
// PVs that two engines capture.
func (in *observed) places() int { return 2 * int(in.archiver.Spec.Shards) }

// exists says whether a shard is there, or is to be. Those for PVs that two engines
// capture are made when the first PV asks for it. Then they stay: their sealer may
// have samples to seal.
func (in *observed) exists(index int, s *compiledShard, holding map[int][]placement.Holder) bool {
	return index < int(in.archiver.Spec.Shards) || in.shards[index] != nil || !s.isEmpty() || len(holding[index]) > 0
}

// asItIs is what the shards say now.
func (in *observed) asItIs() *compiled {
	made := &compiled{withdrawn: true, shards: make([]compiledShard, in.places())}
	for i := range made.shards {
		made.shards[i] = in.keep(i)
	}
	return made
}

// keep leaves what a shard captures as it is. Of a shard that was lost that is what
// engines report.
func (in *observed) keep(index int) compiledShard {
	out := compiledShard{kept: true}
	s := in.shards[index]
	if s == nil {
		out.lists = in.listsInForce(index)
		return out
	}
	out.channels = int(s.Spec.Channels)
	for _, l := range s.Spec.Lists {
		if l.Leaving {
			out.leaving = append(out.leaving, l.Name)
		} else {
			out.lists = append(out.lists, l.Name)
		}
	}
	for _, l := range s.Spec.Deletions {
		out.deletions = append(out.deletions, l.Name)
	}
	return out
}

// hasLists says whether all lists are there that a compilation names.
func (in *observed) hasLists(made *compiled) bool {
	for i := range made.shards {
		s := &made.shards[i]
		for _, names := range [][]string{s.lists, s.leaving, s.deletions} {
			for _, name := range names {
				if !in.isList(name) && !s.kept {
					return false
				}
			}
		}
	}
	return true
}

// encode makes lists of channels.
func encode(in *observed, result *compile.Result, lost map[int]bool) *compiled {
	made := &compiled{
		shards: make([]compiledShard, in.places()), groups: result.Groups, expiry: result.NextExpiry,
		generations: map[string]int64{}, data: map[string][]byte{},
	}
	for i := range in.groups {
		g := &in.groups[i]
		made.generations[groupName(g)] = g.Generation
		made.names = append(made.names, groupName(g))
	}
	for i := range made.shards {
		if lost[i] {
			made.shards[i] = in.keep(i)
			continue
		}
		s := &made.shards[i]
		s.channels = len(result.Assignment[i])
		s.lists = made.encode(in.archiver.Name, result.Assignment[i])
		s.deletions = made.encode(in.archiver.Name, result.Deletions[i])
		for _, ch := range result.Deletions[i] {
			if s.deleting == nil {
				s.deleting = map[string]bool{}
			}
			s.deleting[ch.Group] = true
		}
	}
	made.encodeLeaving(in, result.Assignment)
	return made
}

func (c *compiled) encode(archiver string, channels []capture.Channel) (names []string) {
	for _, l := range channellist.Encode(channels) {
		name := listName(archiver, l.Name)
		c.data[name] = l.Data
		names = append(names, name)
	}
	return names
}

// fingerprint tells inputs of a compilation apart.
func (r *reader) fingerprint(in *observed, now time.Time) uint64 {
	h := xxhash.New()
	fmt.Fprintln(h, in.archive())
	for i := range in.groups {
		g := &in.groups[i]
		expired := g.Spec.ExpiresAt != nil && !g.Spec.ExpiresAt.After(now)
		fmt.Fprintf(h, "%s %d %t %t %t\n", g.UID, g.Generation, expired, g.DeletionTimestamp != nil,
			controllerutil.ContainsFinalizer(g, v1alpha1.DataFinalizer))
		for _, s := range g.Spec.ChannelsFrom {
			switch {
			case s.ConfigMap != nil:
				cm, state := r.configMap(g.Namespace, s.ConfigMap.Name)
				fmt.Fprintf(h, "%d %s %s\n", state, cm.UID, cm.ResourceVersion)
			case s.ChannelFinder != nil:
				names, known, err := r.reconciler.ChannelFinder.Names(s.ChannelFinder.URL, s.ChannelFinder.Query)
				r.absent = r.absent || !known
				fmt.Fprintf(h, "%t %v %d\n", known, err, len(names))
				for _, name := range names {
					_, _ = h.WriteString(name + "\n")
				}
			}
		}
	}
	if r.absent { // it counts what engines have
		fmt.Fprintf(h, "%t\n", r.reconciler.Fleet.Synced())
	}
	return h.Sum64()
}

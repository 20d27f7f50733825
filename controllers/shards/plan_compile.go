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
	"varve.dev/varve/groups/ownership"
	"varve.dev/varve/groups/sources"
)

var customResourceDefinition = schema.GroupVersionKind{
	Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
}

// compilation is the result of compiling the groups of an Archiver. The reconciler keeps it
// and compiles again only if an input has changed, because most reconciliations follow answers
// of engines. It does not keep channels, because there may be 10 million of them.
type compilation struct {
	fingerprint uint64
	// shards has an entry for every possible index, also for shards that do not exist.
	shards       []compiledShard
	groups       map[string]*compile.Group
	policies     map[string]*compile.PolicyOutcome
	generations  map[string]int64
	names        []string // names of the groups
	policiesSeen []string // names of the policies, also of those that only warn
	expiry       time.Time
	// deletions are the deletions of samples that groups request now.
	deletions []deletion
	// sourceMissing reports whether a source does not exist.
	sourceMissing bool
	// missingCRD is the CRD of groups or of policies if it is gone. All shards then keep the result of
	// the last compilation.
	missingCRD string
	// data has the content of lists by name. It is set only right after compiling.
	data map[string][]byte
}

// compiledShard is the part of a shard's spec that names channels.
type compiledShard struct {
	lists, deletions []string // names of ConfigMaps
	channels         int      // in lists
	// leaving are lists of channels that now belong to other shards. The shard continues to
	// capture them until the shards in awaits are ready.
	leaving []string
	awaits  []int32
	// former are lists that the shard captured until recently.
	former []v1alpha1.FormerChannelList
	// erasures are the deletions of samples that the shard carries out now.
	erasures []v1alpha1.ShardErasure
	// deleting are the groups whose data the deletions delete.
	deleting map[string]bool
	// kept means that the shard does not change. One of its lists cannot be read, so the PVs
	// of a group with a missing source are unknown.
	kept bool
}

// unknown reports whether the PVs that the shard captures are unknown. Such a shard must not
// be written, because without lists its engines would stop capturing.
func (s *compiledShard) unknown() bool { return s.kept && !s.busy() }

// isEmpty reports whether the shard has nothing to capture and nothing to delete.
func (s *compiledShard) isEmpty() bool { return !s.busy() && len(s.deletions) == 0 }

// groupNames returns the names of the compiled groups. A nil compilation has none.
func (c *compilation) groupNames() []string {
	if c == nil {
		return nil
	}
	return c.names
}

// policyNames returns the names of the policies of the compilation. A nil compilation has none.
func (c *compilation) policyNames() []string {
	if c == nil {
		return nil
	}
	return c.policiesSeen
}

// untilChange returns how long the compilation remains valid without an event, or zero if an
// event announces every change.
func (c *compilation) untilChange(now time.Time) time.Duration {
	var again time.Duration
	if c.sourceMissing || c.missingCRD != "" {
		again = recheckInterval
	}
	if c.expiry.IsZero() {
		return again
	}
	return shortest(again, max(c.expiry.Sub(now), time.Millisecond))
}

// isDue reports whether a time has come at which the result changes: a channel expires, or a planned pause begins
// or ends.
func (c *compilation) isDue(now time.Time) bool { return !c.expiry.IsZero() && !now.Before(c.expiry) }

// compile returns the latest compilation, or a new one if an input has changed or one
// of its lists is gone.
func (r *Reconciler) compile(ctx context.Context, in *observed, known *memory) (*compilation, error) {
	missing, err := r.missingCRD(ctx, in, known)
	if err != nil {
		return nil, err
	}
	known.logCRD(ctx, missing)
	switch {
	case missing != "" && known.compiled != nil:
		compiled := *known.compiled
		compiled.missingCRD = missing
		return &compiled, nil
	case missing != "":
		return in.keepAll(missing), nil
	}
	read := r.newSourceReader(ctx, in)
	now := time.Now()
	fingerprint := read.fingerprint(in, now)
	if read.err != nil {
		return nil, read.err
	}
	if known.compiled != nil && known.compiled.fingerprint == fingerprint && !known.compiled.isDue(now) && in.hasLists(known.compiled) {
		return known.compiled, nil
	}
	listed := map[string]compile.Listed{}
	for i := range in.groups {
		g := &in.groups[i]
		listed[groupName(g)], _ = sources.List(g, read.lookup())
	}
	archive := in.archive()
	archive.Policies, archive.Planned = ownership.Enforced(in.policies, in.archiver.Name), ownership.Planned(in.policies, in.archiver.Name)
	result := compile.Compile(in.groups, listed, archive, now)
	compiled := encode(in, &result, read.unreadable)
	compiled.fingerprint, compiled.sourceMissing = fingerprint, read.sourceMissing
	kept := *compiled
	kept.data = nil
	known.compiled = &kept
	r.metrics.compiles.Inc()
	r.metrics.compileSeconds.Observe(time.Since(now).Seconds())
	return compiled, nil
}

// archive returns the settings of the Archiver that apply to all its groups, without policies.
func (in *observed) archive() compile.Archive {
	spec := &in.archiver.Spec
	return compile.Archive{
		Shards: int(spec.Shards), Provider: compile.ProviderOf(spec.EPICS.DefaultProvider), Alone: spec.Storage.Embedded != nil,
	}
}

// maxShards is the highest possible number of shards: spec.shards, and the same number for PVs
// that two engines capture.
func (in *observed) maxShards() int { return 2 * int(in.archiver.Spec.Shards) }

// exists reports whether a shard exists or must be created. Shards for PVs that two engines
// capture are created when the first such PV appears. They stay after the last such PV is
// gone, because their sealer may still have samples to seal.
func (in *observed) exists(index int, s *compiledShard, holding map[int][]placement.Holder) bool {
	return index < int(in.archiver.Spec.Shards) || in.shards[index] != nil || !s.isEmpty() || len(holding[index]) > 0
}

// keepAll returns a compilation that does not change any shard, because a CRD is missing.
func (in *observed) keepAll(missingCRD string) *compilation {
	compiled := &compilation{missingCRD: missingCRD, shards: make([]compiledShard, in.maxShards())}
	for i := range compiled.shards {
		compiled.shards[i] = in.keep(i)
	}
	return compiled
}

// keep returns a shard without changes. If the ArchiveShard was lost, the result has the lists
// that engines report for the shard.
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
	out.erasures = s.Spec.Erasures
	return out
}

// hasLists reports whether all lists of a compilation exist.
func (in *observed) hasLists(compiled *compilation) bool {
	for i := range compiled.shards {
		s := &compiled.shards[i]
		for _, names := range [][]string{s.lists, s.leaving, s.deletions} {
			for _, name := range names {
				if !in.hasList(name) && !s.kept {
					return false
				}
			}
		}
	}
	for _, name := range compiled.deletionLists() {
		if !in.hasList(name) {
			return false
		}
	}
	return true
}

// encode turns the channels of each shard into channel lists. It does not change the shards in
// unreadable.
func encode(in *observed, result *compile.Result, unreadable map[int]bool) *compilation {
	compiled := &compilation{
		shards: make([]compiledShard, in.maxShards()), groups: result.Groups, policies: result.Policies, expiry: result.NextExpiry,
		generations: map[string]int64{}, data: map[string][]byte{},
	}
	for i := range in.groups {
		g := &in.groups[i]
		compiled.generations[groupName(g)] = g.Generation
		compiled.names = append(compiled.names, groupName(g))
	}
	for i := range in.policies {
		compiled.policiesSeen = append(compiled.policiesSeen, in.policies[i].Name)
	}
	for i := range compiled.shards {
		if unreadable[i] {
			compiled.shards[i] = in.keep(i)
			continue
		}
		s := &compiled.shards[i]
		s.channels = len(result.Assignment[i])
		s.lists = compiled.encode(in.archiver.Name, result.Assignment[i])
		s.deletions = compiled.encode(in.archiver.Name, result.Deletions[i])
		for _, ch := range result.Deletions[i] {
			if s.deleting == nil {
				s.deleting = map[string]bool{}
			}
			s.deleting[ch.Group] = true
		}
	}
	compiled.encodeLeaving(in, result.Assignment)
	compiled.encodeDeletions(in, result.Erasures)
	return compiled
}

// encode adds the lists of some channels to data and returns their names.
func (c *compilation) encode(archiver string, channels []capture.Channel) (names []string) {
	for _, l := range channellist.Encode(channels) {
		name := listName(archiver, l.Name)
		c.data[name] = l.Data
		names = append(names, name)
	}
	return names
}

// fingerprint returns a hash of all inputs of a compilation.
func (r *sourceReader) fingerprint(in *observed, now time.Time) uint64 {
	h := xxhash.New()
	fmt.Fprintln(h, in.archive())
	for i := range in.policies {
		fmt.Fprintln(h, in.policies[i].UID, in.policies[i].Generation)
	}
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
				r.sourceMissing = r.sourceMissing || !known
				fmt.Fprintf(h, "%t %v %d\n", known, err, len(names))
				for _, name := range names {
					_, _ = h.WriteString(name + "\n")
				}
			}
		}
	}
	if r.sourceMissing { // the PVs of a missing source are the PVs that engines capture
		fmt.Fprintf(h, "%t\n", r.reconciler.Fleet.Synced())
	}
	return h.Sum64()
}

package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/ownership"
	"varve.dev/varve/groups/sources"
	"varve.dev/varve/groups/summary"
)

// defaultShards is the number of shards of an Archiver that the files do not have. It does not matter here.
const defaultShards = 64

// maxProblems bounds the findings of the operator about a group.
const maxProblems = 100

// archive are the objects of one Archiver, as far as the files have them.
type archive struct {
	namespace, name string
	archiver        *v1alpha1.Archiver // nil if the files do not have it
	groups          []of[*v1alpha1.ArchiveGroup]
	policies        []of[*v1alpha1.ArchivePolicy]
}

// compile checks what the objects of each Archiver mean together.
func (c *checker) compile() {
	archives := c.archives()
	for _, a := range archives {
		c.compileArchive(a)
	}
	if len(archives) > 0 {
		c.report.Notes = append(c.report.Notes, "PVs in several groups, owners of PVs and names of Archivers are checked among the objects in the files only")
	}
}

// archives returns the Archivers that objects in the files name, in the order of their first objects.
func (c *checker) archives() (all []*archive) {
	find := func(namespace, name string) *archive {
		for _, a := range all {
			if a.namespace == namespace && a.name == name {
				return a
			}
		}
		a := &archive{namespace: namespace, name: name}
		for _, o := range c.archivers {
			if o.it.Namespace == namespace && o.it.Name == name {
				a.archiver = o.it
			}
		}
		all = append(all, a)
		return a
	}
	for _, g := range c.groups {
		a := find(g.it.Namespace, g.it.Spec.ArchiverRef.Name)
		a.groups = append(a.groups, g)
		c.checkReference(a, g.at)
	}
	for _, p := range c.policies {
		a := find(p.it.Namespace, p.it.Spec.ArchiverRef.Name)
		a.policies = append(a.policies, p)
		c.checkReference(a, p.at)
	}
	return all
}

// checkReference warns about an object of an Archiver that the files do not have, if they have another one in the
// namespace.
func (c *checker) checkReference(a *archive, obj *manifest.Object) {
	if a.archiver != nil {
		return
	}
	var others []string
	for _, o := range c.archivers {
		if o.it.Namespace == a.namespace {
			others = append(others, o.it.Name)
		}
	}
	if len(others) > 0 {
		c.addFinding(obj, "spec.archiverRef.name", Finding{
			Severity: SeverityWarning, By: ByOperator,
			Message: fmt.Sprintf("the files have no Archiver %q in namespace %s, only %s", a.name, a.namespace, strings.Join(others, ", ")),
		})
	}
}

// compileArchive compiles the groups of an Archiver, and adds what the operator would report.
func (c *checker) compileArchive(a *archive) {
	settings := compile.Archive{Shards: defaultShards}
	var provider v1alpha1.Provider
	if a.archiver != nil {
		spec := &a.archiver.Spec
		provider = spec.EPICS.DefaultProvider
		settings.Shards, settings.Provider, settings.Alone = int(spec.Shards), compile.ProviderOf(provider), spec.Storage.Embedded != nil
	}
	var policies []v1alpha1.ArchivePolicy
	for _, p := range a.policies {
		policies = append(policies, *p.it)
	}
	settings.Policies, settings.Planned = ownership.Enforced(policies, a.name), ownership.Planned(policies, a.name)
	listed := map[string]compile.Listed{}
	incomplete := map[string]bool{}
	var groups []v1alpha1.ArchiveGroup
	for _, g := range a.groups {
		name := nameOf(g.at)
		listed[name] = c.list(g, incomplete)
		groups = append(groups, *g.it)
	}
	if len(incomplete) > 0 {
		c.withoutUnknown(groups, incomplete)
	}
	result := compile.Compile(groups, listed, settings, c.options.Now)
	for i, g := range a.groups {
		compiled := result.Groups[nameOf(g.at)]
		if compiled != nil && incomplete[nameOf(g.at)] {
			compiled.ByRule = nil // a rule may apply to PVs that are unknown here
		}
		c.addProblems(g, summary.Of(&groups[i], provider, compiled), compiled)
	}
	if a.archiver != nil {
		c.addPolicies(a, policies, &result)
	}
}

// list returns the names that a group takes from ConfigMaps in the files. It notes the sources that are elsewhere.
func (c *checker) list(g of[*v1alpha1.ArchiveGroup], incomplete map[string]bool) compile.Listed {
	known := *g.it
	known.Spec.ChannelsFrom = nil
	name := nameOf(g.at)
	for i, source := range g.it.Spec.ChannelsFrom {
		where := ""
		switch {
		case source.ChannelFinder != nil:
			where = "ChannelFinder is not queried"
		case source.ConfigMap != nil && c.configMap(g.it.Namespace, source.ConfigMap.Name) == nil:
			where = fmt.Sprintf("ConfigMap %q is not in the files", source.ConfigMap.Name)
		}
		if where == "" {
			known.Spec.ChannelsFrom = append(known.Spec.ChannelsFrom, source)
			continue
		}
		incomplete[name] = true
		c.report.Notes = append(c.report.Notes, fmt.Sprintf("ArchiveGroup %s: %s, so the PVs of spec.channelsFrom[%d] are not checked", name, where, i))
	}
	listed, _ := sources.List(&known, sources.Lookup{ConfigMap: func(namespace, name string) (*corev1.ConfigMap, sources.State) {
		cm := c.configMap(namespace, name)
		if !metav1.HasLabel(cm.it.ObjectMeta, v1alpha1.LabelChannels) {
			c.addFinding(cm.at, "metadata", Finding{
				Severity: SeverityWarning, By: ByOperator,
				Message: fmt.Sprintf("ArchiveGroup %s takes PVs from the ConfigMap, which has no label %s: the operator does not read it", nameOf(g.at), v1alpha1.LabelChannels),
				Advice:  fmt.Sprintf("Add the label %s: \"true\". varve standalone reads the ConfigMap without it.", v1alpha1.LabelChannels),
			})
		}
		return cm.it, sources.Found
	}})
	listed.Incomplete = incomplete[name]
	return listed
}

func (c *checker) configMap(namespace, name string) *of[*corev1.ConfigMap] {
	for i := range c.configMaps {
		if cm := c.configMaps[i].it; cm.Namespace == namespace && cm.Name == name {
			return &c.configMaps[i]
		}
	}
	return nil
}

// withoutUnknown removes from groups what cannot be judged while the PVs of incomplete groups are unknown.
func (c *checker) withoutUnknown(groups []v1alpha1.ArchiveGroup, incomplete map[string]bool) {
	for i := range groups {
		g := &groups[i]
		if incomplete[g.Namespace+"/"+g.Name] {
			g.Spec.Fields = nil // a PV that is unknown here may use them
		}
		if len(g.Spec.Deletions) > 0 {
			g.Spec.Deletions = nil
			c.report.Notes = append(c.report.Notes, fmt.Sprintf("ArchiveGroup %s/%s: which PVs spec.deletions applies to is not checked, because PVs are not in the files", g.Namespace, g.Name))
		}
	}
}

// addProblems adds what the operator would report about a group.
func (c *checker) addProblems(g of[*v1alpha1.ArchiveGroup], described overview.Group, compiled *compile.Group) {
	if len(g.it.Spec.Channels)+len(g.it.Spec.ChannelsFrom) == 0 {
		c.addFinding(g.at, "spec", Finding{Severity: SeverityWarning, By: ByOperator, Message: "the group " + manifest.NoChannels})
	}
	places := channelPlaces(g.it)
	n := 0
	for _, p := range described.Problems {
		if p.Severity == overview.SeverityInfo {
			continue
		}
		if n++; n > maxProblems {
			break
		}
		severity := SeverityError
		if p.Severity == overview.SeverityWarning {
			severity = SeverityWarning
		}
		c.addFinding(g.at, fieldOf(p, places), Finding{Severity: severity, By: ByOperator, PV: p.PV, Message: p.Text, Advice: p.Advice})
	}
	if compiled == nil {
		return
	}
	for _, name := range compiled.Patterns {
		c.addFinding(g.at, places[pvname.Canonical(name)], Finding{Severity: SeverityWarning, By: ByOperator, Message: manifest.PatternWarning(name)})
	}
	if compiled.MorePatterns > 0 {
		c.addFinding(g.at, "", Finding{Severity: SeverityWarning, By: ByOperator, Message: fmt.Sprintf("%d more channels have names that look like patterns", compiled.MorePatterns)})
	}
}

// channelPlaces returns the field of each PV in a group. Of a PV that occurs twice, it is the last one.
func channelPlaces(g *v1alpha1.ArchiveGroup) map[string]string {
	places := make(map[string]string, len(g.Spec.Channels))
	for i := range g.Spec.Channels {
		places[pvname.Canonical(g.Spec.Channels[i].Name)] = fmt.Sprintf("spec.channels[%d].name", i)
	}
	return places
}

// entry is the entry of a group at the beginning of a problem.
var entry = regexp.MustCompile(`^(?:parsing )?(?:spec\.)?((?:rules|pauses|deletions)\[[0-9]+\])`)

// fieldOf returns the field that a problem is about, or "".
func fieldOf(p overview.Problem, places map[string]string) string {
	if m := entry.FindStringSubmatch(p.Text); m != nil {
		return "spec." + m[1]
	}
	return places[pvname.Canonical(p.PV)]
}

// addPolicies adds what the operator would warn of in policies.
func (c *checker) addPolicies(a *archive, all []v1alpha1.ArchivePolicy, result *compile.Result) {
	var names []string
	for _, g := range a.groups {
		names = append(names, g.it.Name)
	}
	slices.Sort(names)
	for _, p := range a.policies {
		facts := &ownership.Facts{Archiver: a.archiver, All: all, Groups: names, Outcome: result.Policies[p.it.Name]}
		for _, warning := range ownership.Warnings(p.it, facts) {
			c.addFinding(p.at, "spec", Finding{Severity: SeverityWarning, By: ByOperator, Message: warning})
		}
	}
}

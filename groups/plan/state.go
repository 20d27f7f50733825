package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/sources"
)

// State is the manifests that are in effect, or that would be in effect after a change.
type State struct {
	Groups     []v1alpha1.ArchiveGroup
	ConfigMaps []*corev1.ConfigMap
	// NeedLabel means that a ConfigMap counts only if it has the label v1alpha1.LabelChannels, as in a cluster.
	NeedLabel bool
	// ChannelFinder returns the answer to a query, as in sources.Lookup. If it is nil, ChannelFinder is not queried,
	// and a plan lacks the PVs that it lists.
	ChannelFinder func(url, query string) (names []string, known bool, err error)
}

// Options are the options of a change.
type Options struct {
	// Prune means that the files have all groups: groups that they lack are deleted. Outside of a cluster, the files
	// also have all ConfigMaps.
	Prune bool
	// DeletesData means that a deleted group with deletionPolicy Delete deletes its data, as in a cluster.
	DeletesData bool
	Now         time.Time
}

// With returns the state after files are applied: a group or ConfigMap replaces the one of the same name. In a
// cluster, a new group is younger than all others. s and files do not change.
func (s State) With(files State, o Options) State {
	out := State{NeedLabel: s.NeedLabel, ChannelFinder: s.ChannelFinder}
	replaced := map[string]bool{}
	for i := range files.Groups {
		g := files.Groups[i]
		if old := s.find(&g); old != nil {
			g.ObjectMeta = old.ObjectMeta
		} else if s.NeedLabel { // groups in files have no age
			g.CreationTimestamp = metav1.NewTime(o.Now)
		}
		replaced[name(&g)] = true
		out.Groups = append(out.Groups, g)
	}
	for i := range s.Groups {
		g := s.Groups[i]
		switch {
		case replaced[name(&g)]:
			continue
		case !o.Prune || !g.DeletionTimestamp.IsZero():
		case o.DeletesData && g.Spec.DeletionPolicy == v1alpha1.DeleteData:
			at := metav1.NewTime(o.Now)
			g.DeletionTimestamp, g.Finalizers = &at, []string{v1alpha1.DataFinalizer}
		default:
			continue
		}
		out.Groups = append(out.Groups, g)
	}
	out.ConfigMaps = slices.Clone(files.ConfigMaps)
	if o.Prune && !s.NeedLabel {
		return out
	}
	for _, cm := range s.ConfigMaps {
		if files.configMap(cm.Namespace, cm.Name) == nil {
			out.ConfigMaps = append(out.ConfigMaps, cm)
		}
	}
	return out
}

func name(g *v1alpha1.ArchiveGroup) string { return g.Namespace + "/" + g.Name }

func (s State) find(like *v1alpha1.ArchiveGroup) *v1alpha1.ArchiveGroup {
	for i := range s.Groups {
		if name(&s.Groups[i]) == name(like) {
			return &s.Groups[i]
		}
	}
	return nil
}

func (s State) configMap(namespace, name string) *corev1.ConfigMap {
	for _, cm := range s.ConfigMaps {
		if cm.Namespace == namespace && cm.Name == name {
			return cm
		}
	}
	return nil
}

// Compile compiles a state. before is the compilation of the state before the change, or nil if there is none. If a source
// of a group is missing, the PVs that before captures for the group stay.
func (s State) Compile(archive compile.Archive, before *compile.Result, now time.Time) compile.Result {
	held := map[string][]string{} // PVs by group
	if before != nil {
		for _, channels := range before.Assignment {
			for i := range channels {
				held[channels[i].Group] = append(held[channels[i].Group], compile.Name(&channels[i]))
			}
		}
	}
	listed := map[string]compile.Listed{}
	for i := range s.Groups {
		g := &s.Groups[i]
		if len(g.Spec.ChannelsFrom) > 0 {
			listed[name(g)], _ = sources.List(g, sources.Lookup{
				ConfigMap: s.lookUp, ChannelFinder: s.query, Held: func(group string) []string { return held[group] },
			})
		}
	}
	return compile.Compile(s.Groups, listed, archive, now)
}

func (s State) lookUp(namespace, name string) (*corev1.ConfigMap, sources.State) {
	switch cm := s.configMap(namespace, name); {
	case cm == nil:
		return nil, sources.Missing
	case s.NeedLabel && !metav1.HasLabel(cm.ObjectMeta, v1alpha1.LabelChannels):
		return cm, sources.Unlabelled
	default:
		return cm, sources.Found
	}
}

func (s State) query(url, query string) ([]string, bool, error) {
	if s.ChannelFinder == nil {
		return nil, false, errors.New("ChannelFinder is not queried")
	}
	return s.ChannelFinder(url, query)
}

// Absent returns the groups with a ConfigMap that is missing or does not count. The archive still captures the PVs that it
// listed, and a plan does not know them.
func (s State) Absent() (groups []string) {
	for i := range s.Groups {
		g := &s.Groups[i]
		if slices.ContainsFunc(g.Spec.ChannelsFrom, func(c v1alpha1.ChannelSource) bool {
			if c.ConfigMap == nil {
				return false
			}
			_, state := s.lookUp(g.Namespace, c.ConfigMap.Name)
			return state != sources.Found
		}) {
			groups = append(groups, name(g))
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// NameRules names the rules that apply to the PVs of a plan in the state after the change.
func (s State) NameRules(p *Plan) {
	finders := map[string]func(string) int{}
	for i := range s.Groups {
		if g := &s.Groups[i]; len(g.Spec.Rules) > 0 {
			finders[name(g)] = compile.RuleFinder(&g.Spec)
		}
	}
	for i := range p.PVs {
		pv := &p.PVs[i]
		find := finders[pv.Group]
		if find == nil || pv.Action == Remove {
			continue
		}
		if n := find(pv.Name); n >= 0 {
			pv.Rule = fmt.Sprintf("rules[%d]", n)
		}
	}
}

// Unknown returns the groups that take names from ChannelFinder if it is not queried.
func (s State) Unknown() (groups []string) {
	if s.ChannelFinder != nil {
		return nil
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if slices.ContainsFunc(g.Spec.ChannelsFrom, func(c v1alpha1.ChannelSource) bool { return c.ChannelFinder != nil }) {
			groups = append(groups, name(g))
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

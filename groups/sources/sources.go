// Package sources resolves channelsFrom: it finds the PV names that groups take from
// ConfigMaps and ChannelFinder, as input of compile. It is pure: its input is data from the
// caller.
//
//	channelsFrom ─┬─ configMap ──────▶ Parse ──┐
//	              ├─ channelFinder ──▶ names ──┼─▶ compile.Listed: names, problems
//	              └─ missing source ──▶ Held ──┘
//
// A source that is missing or does not answer does not stop capture. The channels captured for
// the group stay captured until the source is back or the group no longer names it.
package sources

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/groups/compile"
)

// State is the state of a ConfigMap.
type State int

const (
	// Missing means that the ConfigMap does not exist.
	Missing State = iota
	// Unlabelled means that it lacks the label v1alpha1.LabelChannels, so its content was not
	// read.
	Unlabelled
	// Found means that its content was read.
	Found
)

// Lookup gives access to the sources.
type Lookup struct {
	// ConfigMap returns a ConfigMap, which may be nil unless it is Found.
	ConfigMap func(namespace, name string) (*corev1.ConfigMap, State)
	// ChannelFinder returns the latest answer to a query. known is false before the first
	// answer. err is the reason why there is no answer, or no newer one.
	ChannelFinder func(url, query string) (names []string, known bool, err error)
	// Held returns the PVs that are currently captured for a group (namespace/name), or being
	// deleted for it, prefixed with their providers. List calls it if a source is missing. In
	// a cluster the names come from the channel lists of the ArchiveShards. It may be nil.
	Held func(group string) []string
}

// List returns the names and problems of a group's sources. known is false if a source has
// never answered. Names may then be missing although no user has removed them.
func List(g *v1alpha1.ArchiveGroup, from Lookup) (out compile.Listed, known bool) {
	l := lister{group: g, from: from, known: true}
	for _, source := range g.Spec.ChannelsFrom {
		switch {
		case source.ConfigMap != nil:
			l.configMap(source.ConfigMap.Name)
		case source.ChannelFinder != nil:
			l.channelFinder(source.ChannelFinder)
		}
	}
	if l.absent && from.Held != nil {
		l.hold(from.Held(g.Namespace + "/" + g.Name))
	}
	l.out.Incomplete = l.absent
	return l.out, l.known
}

// lister is one run of List.
type lister struct {
	group  *v1alpha1.ArchiveGroup
	from   Lookup
	out    compile.Listed
	known  bool
	absent bool // a source is missing
}

// hold adds the names of captured PVs. It skips PVs that a source lists, because the source
// may have changed their provider.
func (l *lister) hold(names []string) {
	listed := make(map[string]bool, len(l.out.Names))
	for _, name := range l.out.Names {
		listed[pvname.Canonical(name)] = true
	}
	for _, name := range names {
		if !listed[pvname.Canonical(name)] {
			l.out.Names = append(l.out.Names, name)
		}
	}
}

func (l *lister) configMap(name string) {
	cm, state := l.from.ConfigMap(l.group.Namespace, name)
	switch state {
	case Missing:
		l.absent = true
		l.out.AddProblem("", fmt.Sprintf("ConfigMap %q is missing; captured channels stay captured until it exists or channelsFrom no longer names it", name))
	case Unlabelled:
		l.absent = true
		l.out.AddProblem("", fmt.Sprintf("ConfigMap %q has no label %s, so it is not read; to label it, run: kubectl label configmap --namespace %s %s %s=true",
			name, v1alpha1.LabelChannels, l.group.Namespace, name, v1alpha1.LabelChannels))
	case Found:
		l.out.Add(Parse(cm))
	}
}

func (l *lister) channelFinder(source *v1alpha1.ChannelFinderSource) {
	names, known, err := l.from.ChannelFinder(source.URL, source.Query)
	switch {
	case err != nil && known:
		l.out.AddProblem("", err.Error()+"; the last answer stays in use")
	case err != nil:
		l.out.AddProblem("", err.Error()+"; captured channels stay captured until it answers")
	}
	if !known {
		l.known, l.absent = false, true
		return
	}
	for _, name := range names {
		if problem := check(name); problem != "" {
			l.out.AddProblem("", fmt.Sprintf("ChannelFinder %s: %s %s", source.URL, quote(name), problem))
			continue
		}
		l.out.Names = append(l.out.Names, name)
	}
}

// check returns what is wrong with a name from a source, or "". The API server checks only the
// names in the group itself.
func check(name string) string {
	if strings.ContainsAny(name, " \t") {
		return "contains a space"
	}
	if err := pvname.Check(pvname.Canonical(name)); err != nil {
		return "cannot be archived: " + err.Error()
	}
	return ""
}

// quote quotes a name, shortened if it is long.
func quote(name string) string {
	const most = 80
	if len(name) > most {
		return fmt.Sprintf("%.*q…", most, name)
	}
	return fmt.Sprintf("%q", name)
}

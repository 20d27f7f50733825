// Package sources finds the names of PVs that groups take from elsewhere. It is
// pure: what was read is handed in.
//
//	channelsFrom ─┬─ configMap ──────▶ Parse ──┐
//	              ├─ channelFinder ──▶ names ──┼─▶ compile.Listed: names, problems
//	              └─ source not there ▶ Held ──┘
//
// A source that is not there, or does not answer, ends nothing: what the group
// has captured so far is captured until the source is back or the group no longer
// names it.
package sources

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/groups/compile"
)

// State is what is known of a ConfigMap.
type State int

const (
	// Missing says that there is none.
	Missing State = iota
	// Unlabelled says that there is one without the label v1alpha1.LabelChannels, so its
	// content was not read.
	Unlabelled
	// Found says that its content was read.
	Found
)

// Lookup gives what was read.
type Lookup struct {
	// ConfigMap returns a ConfigMap; it may be nil unless it was Found.
	ConfigMap func(namespace, name string) (*corev1.ConfigMap, State)
	// ChannelFinder returns the latest answer to a query. known is false before
	// the first one; err says why there is none, or no newer one.
	ChannelFinder func(url, query string) (names []string, known bool, err error)
	// Held returns the PVs that are captured for a group (namespace/name) now, or
	// that are being deleted for it, with the provider in front. It is asked where
	// a source is not there: on a cluster from the channel lists of the
	// ArchiveShards. It may be nil.
	Held func(group string) []string
}

// List returns what the sources of a group came to. known is false if some of
// them have not answered for the first time, so that names may be missing that
// nobody has taken away.
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
	return l.out, l.known
}

// lister is one run of List.
type lister struct {
	group  *v1alpha1.ArchiveGroup
	from   Lookup
	out    compile.Listed
	known  bool
	absent bool // some source is not there
}

// hold adds the names of what is captured, but of PVs that are listed: there, they
// may have another provider now.
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
		l.out.Tell("", fmt.Sprintf("ConfigMap %q is missing; what is captured stays so until it is there or channelsFrom does not name it", name))
	case Unlabelled:
		l.absent = true
		l.out.Tell("", fmt.Sprintf("ConfigMap %q has no label %s, so it is not read: kubectl label configmap --namespace %s %s %s=true",
			name, v1alpha1.LabelChannels, l.group.Namespace, name, v1alpha1.LabelChannels))
	case Found:
		l.out.Add(Parse(cm))
	}
}

func (l *lister) channelFinder(source *v1alpha1.ChannelFinderSource) {
	names, known, err := l.from.ChannelFinder(source.URL, source.Query)
	switch {
	case err != nil && known:
		l.out.Tell("", err.Error()+"; its last answer is used")
	case err != nil:
		l.out.Tell("", err.Error()+"; what is captured stays so until it answers")
	}
	if !known {
		l.known, l.absent = false, true
		return
	}
	for _, name := range names {
		if problem := check(name); problem != "" {
			l.out.Tell("", fmt.Sprintf("ChannelFinder %s: %s %s", source.URL, quote(name), problem))
			continue
		}
		l.out.Names = append(l.out.Names, name)
	}
}

// check says what is wrong with a name that a group does not have inline, where
// the API server refuses it.
func check(name string) string {
	if strings.ContainsAny(name, " \t") {
		return "has a space in it"
	}
	if err := pvname.Check(pvname.Canonical(name)); err != nil {
		return "can not be archived: " + err.Error()
	}
	return ""
}

// quote shows a name that may be of any length.
func quote(name string) string {
	const most = 80
	if len(name) > most {
		return fmt.Sprintf("%.*q…", most, name)
	}
	return fmt.Sprintf("%q", name)
}

package manifest

import (
	"fmt"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/groups/sources"
)

// maxPatterns limits the warnings about names of a group, or of a ConfigMap, that look like patterns.
const maxPatterns = 5

// NoChannels is the warning about a group without channels.
const NoChannels = "has no channels, so nothing is archived for it; fill in spec.channels or spec.channelsFrom"

// PatternWarning is the warning about a channel whose name looks like a pattern.
func PatternWarning(name string) string {
	return fmt.Sprintf("channel %q is not a pattern: a PV of exactly this name is searched for; list the PVs, or take them from ChannelFinder with spec.channelsFrom", name)
}

// warnings returns what is valid in a file but probably not meant.
func (f *file) warnings(name string) (list []string) {
	if len(f.errs) == 0 && len(f.fresh.groups)+len(f.fresh.configMaps) == 0 {
		list = append(list, name+": the file has no ArchiveGroup and no ConfigMap")
	}
	for _, g := range f.fresh.groups {
		list = append(list, groupWarnings(name, g)...)
	}
	for _, cm := range f.fresh.configMaps {
		list = append(list, patternWarnings(fmt.Sprintf("%s: ConfigMap %q", name, cm.Name), sources.Parse(cm).Names)...)
	}
	return list
}

func groupWarnings(name string, g *v1alpha1.ArchiveGroup) (list []string) {
	prefix := fmt.Sprintf("%s: %s %q", name, v1alpha1.KindArchiveGroup, g.Name)
	if len(g.Spec.Channels)+len(g.Spec.ChannelsFrom) == 0 {
		return []string{prefix + " " + NoChannels}
	}
	names := make([]string, len(g.Spec.Channels))
	for i := range names {
		names[i] = g.Spec.Channels[i].Name
	}
	return patternWarnings(prefix, names)
}

// patternWarnings warns about names that look like patterns.
func patternWarnings(prefix string, names []string) (list []string) {
	for _, name := range names {
		if !pvname.LooksLikePattern(name) {
			continue
		}
		if len(list) == maxPatterns {
			return append(list, prefix+" has more names like this")
		}
		list = append(list, prefix+": "+PatternWarning(name))
	}
	return list
}

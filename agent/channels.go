package agent

import (
	"maps"
	"slices"

	"varve.dev/varve/engine/capture"
)

// list is a decoded channel list. It is shared and never changes.
type list struct {
	data     []byte
	channels []capture.Channel
}

// lists are channel lists of a shard, by name.
type lists map[string]*list

// names returns the names of the lists, sorted.
func (l lists) names() []string { return slices.Sorted(maps.Keys(l)) }

// progress records which of an ArchiveShard's lists have been read.
type progress struct {
	lists  lists             // lists that have been read
	broken map[string]string // why other lists cannot be read, by name
	wait   bool              // some lists have not been tried yet
}

// next returns the lists to capture, given the lists captured so far. As long as a list
// cannot be read, next also keeps the lists captured so far, because the unreadable list
// may contain their PVs.
func (p progress) next(current lists) lists {
	switch {
	case p.wait:
		return current
	case len(p.broken) == 0:
		return p.lists
	}
	all := maps.Clone(p.lists)
	for name, l := range current {
		all[name] = l
	}
	return all
}

// union returns the channels of all lists, each PV once. If several lists contain a PV,
// the first one decides its settings: wanted lists come first, then the others by name.
func union(all lists, wanted lists) []capture.Channel {
	if len(all) == 1 {
		for _, l := range all {
			return l.channels
		}
	}
	var n int
	for _, l := range all {
		n += len(l.channels)
	}
	out := make([]capture.Channel, 0, n)
	for _, name := range wanted.names() {
		if l := all[name]; l != nil {
			out = append(out, l.channels...)
		}
	}
	if len(all) == len(wanted) {
		return out // the lists of a spec contain each PV once
	}
	seen := make(map[string]bool, n)
	for _, ch := range out {
		seen[ch.PV] = true
	}
	for _, name := range all.names() {
		if wanted[name] != nil {
			continue
		}
		for _, ch := range all[name].channels {
			if !seen[ch.PV] {
				seen[ch.PV] = true
				out = append(out, ch)
			}
		}
	}
	return out
}

package agent

import (
	"maps"
	"slices"

	"varve.dev/varve/engine/capture"
)

// list is a channel list as it was read. It is shared and never changed.
type list struct {
	data     []byte
	channels []capture.Channel
}

// lists are what is captured of a shard, by name.
type lists map[string]*list

// names returns the names of lists, sorted.
func (l lists) names() []string { return slices.Sorted(maps.Keys(l)) }

// progress is how far the lists that an ArchiveShard names are read.
type progress struct {
	lists  lists             // those that are read
	broken map[string]string // why others can not be, by name
	wait   bool              // there are some that were not tried yet
}

// next returns the lists to capture of a shard, given those captured so far. As
// long as one can not be read, what was captured goes on besides: nobody knows
// whether it still is wanted.
func (p progress) next(so lists) lists {
	switch {
	case p.wait:
		return so
	case len(p.broken) == 0:
		return p.lists
	}
	all := maps.Clone(p.lists)
	for name, l := range so {
		all[name] = l
	}
	return all
}

// union returns the channels of lists, each PV once: the order of lists says
// which settings count, and those that are wanted now come first.
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
		return out // the lists of one shard name no PV twice
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

package agent

import (
	"maps"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
)

// split divides lists into those of a shard's own channels and those of channels that
// are leaving it, by what the ArchiveShard says of them.
func split(all lists, refs []v1alpha1.ChannelListReference) (own, leaving lists) {
	if !slices.ContainsFunc(refs, func(ref v1alpha1.ChannelListReference) bool { return ref.Leaving }) {
		return all, nil
	}
	own, leaving = maps.Clone(all), lists{}
	for _, ref := range refs {
		if l := all[ref.Name]; l != nil && ref.Leaving {
			leaving[ref.Name] = l
			delete(own, ref.Name)
		}
	}
	return own, leaving
}

// stayers returns the channels that shards go on with though they are leaving, by
// shard. A PV that another shard has which is captured here, and which it is not leaving,
// is captured for that one: its subscription goes along.
func stayers(held map[int]*shard) map[int][]capture.Channel {
	out := map[int][]capture.Channel{}
	leaving := map[int]lists{}
	taken := map[string]bool{} // by PV; false: somebody leaves it
	for i, s := range held {
		if len(s.leaving) == 0 {
			continue
		}
		leaving[i] = s.leaving
		for _, ch := range union(s.leaving, s.leaving) {
			taken[ch.PV] = false
		}
	}
	if len(leaving) == 0 {
		return out
	}
	for _, s := range held {
		own, _ := split(s.captured, s.spec.Lists)
		for _, l := range own {
			for _, ch := range l.channels {
				if _, is := taken[ch.PV]; is {
					taken[ch.PV] = true
				}
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(leaving)) {
		for _, ch := range union(leaving[i], leaving[i]) {
			if !taken[ch.PV] {
				taken[ch.PV] = true
				out[i] = append(out[i], ch)
			}
		}
	}
	return out
}

// ownChannels are those of a shard that are not leaving.
func (s *shard) ownChannels() []capture.Channel {
	captured, _ := split(s.captured, s.spec.Lists)
	wanted, _ := split(s.wanted, s.spec.Lists)
	return union(captured, wanted)
}

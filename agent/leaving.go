package agent

import (
	"maps"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
)

// splitLeaving separates the lists of the shard's own channels from the lists of channels that
// are leaving the shard. The references in the ArchiveShard mark the leaving lists.
func splitLeaving(all lists, refs []v1alpha1.ChannelListReference) (own, leaving lists) {
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

// stayingChannels returns the leaving channels that their shards still capture, by shard. If
// this engine also captures the PV's new shard, it captures the PV only for the new shard and
// keeps the subscription.
func stayingChannels(held map[int]*shard) map[int][]capture.Channel {
	out := map[int][]capture.Channel{}
	leaving := map[int]lists{}
	taken := map[string]bool{} // leaving PVs; true: another shard here captures the PV
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
		own, _ := splitLeaving(s.captured, s.spec.Lists)
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

// ownChannels returns the channels of a shard that are not leaving it.
func (s *shard) ownChannels() []capture.Channel {
	captured, _ := splitLeaving(s.captured, s.spec.Lists)
	wanted, _ := splitLeaving(s.wanted, s.spec.Lists)
	return union(captured, wanted)
}

// formerList is a list that a shard captured until recently.
type formerList struct {
	list *list // nil if it has not been read
	left int64 // when the shard stopped capturing it, in ns since 1970
}

// updateFormer adopts the former lists of the spec, and reports whether that changes the engine's
// assignment. read returns nil for a list that has not been read.
func (s *shard) updateFormer(read func(name string) *list) (changed bool) {
	next := map[string]formerList{}
	for _, f := range s.spec.Former {
		if f.Left != nil {
			next[f.Name] = formerList{read(f.Name), f.Left.UnixNano()}
		}
	}
	changed = !maps.Equal(next, s.former)
	s.former = next
	return changed
}

// left returns the PVs that leave the shard, and those that left it recently.
func (s *shard) left() (left []engine.Left) {
	for _, name := range s.leaving.names() {
		left = append(left, engine.Left{PVs: s.leaving[name].pvs()})
	}
	for _, name := range slices.Sorted(maps.Keys(s.former)) {
		f := s.former[name]
		if f.list == nil {
			left = append(left, engine.Left{Unknown: true, At: f.left})
			continue
		}
		left = append(left, engine.Left{PVs: f.list.pvs(), At: f.left})
	}
	return left
}

// pvs returns the PVs of a list.
func (l *list) pvs() []string {
	pvs := make([]string, len(l.channels))
	for i := range l.channels {
		pvs[i] = l.channels[i].PV
	}
	return pvs
}

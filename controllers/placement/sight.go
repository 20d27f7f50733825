package placement

import "varve.dev/varve/api/v1alpha1"

// Sight is how much of a shard an engine reaches, as the engine reports it.
type Sight struct {
	// Known is false if the engine has not reported. All other fields are then 0.
	Known bool
	// Stale reports whether the figures are from when the engine began to capture the shard,
	// because its report does not say more yet. Only Channels and Connected are set then.
	Stale bool
	// Channels is the number of the shard's channels in the engine. Connected counts those
	// that are connected, paused, or of a type that cannot be archived.
	Channels, Connected int
	// Steady counts the channels that have been connected for half a minute, Unreachable
	// those that have not been connected for half a minute. Paused channels are in neither.
	Steady, Unreachable int
	// Hosts are the IOCs that the engine has connected for the shard, the ones with the most
	// channels first. Engines name only so many.
	Hosts []Host
}

// Host is an IOC, and the number of channels that an engine has connected on it.
type Host struct {
	Name     string
	Channels int
}

// atMost returns how many channels the engine may reach: all that it has not tried in vain for
// half a minute.
func (s *Sight) atMost() int { return s.Channels - s.Unreachable }

// fewParts is the part of the expected channels, as 1/fewParts, of which an engine must miss more
// to see few of them.
const fewParts = 10

// few reports whether seen channels are far fewer than the expected ones: less than nine tenths.
// One missing channel is not enough, unless the engine sees no channel at all.
func few(seen, expected int) bool {
	missing := expected - seen
	return missing > 1 && missing*fewParts > expected || seen <= 0 && expected > 0
}

// sees reports whether an engine captures a shard and reports how much it sees of it.
func sees(slot *Slot) bool {
	return slot.Phase == v1alpha1.Capturing && slot.Sight.Known && !slot.Sight.Stale
}

// lacks reports whether an engine has not reached a good part of a shard for half a minute,
// although an engine reached it before.
func (s *Shard) lacks(slot *Slot) bool {
	return slot.Order == v1alpha1.OrderCapture && sees(slot) && few(slot.Sight.atMost(), min(s.Reached, slot.Sight.Channels))
}

// isLacking reports whether one of the engines that should capture a shard lacks a part of it.
func (s *shard) isLacking() bool {
	for i := range s.captures {
		if s.lacks(&s.captures[i]) {
			return true
		}
	}
	return false
}

// connected returns how many channels of a shard an engine has connected. If the engine does not
// report, it returns the most that the engine may have connected.
func (s *shard) connected(slot *Slot) int {
	if slot.Sight.Known && !slot.Sight.Stale {
		return slot.Sight.Connected
	}
	return max(slot.Sight.Connected, s.Reached)
}

// accepts reports whether the target of a move sees enough of the shard, so that the source may
// drain. The target must not see far fewer channels than the source. If the source lacks channels
// itself, the target must see far more: a shard whose IOCs are off does not move. An engine that
// leaves takes part in no such comparison of its own, because it ends in any case.
//
// accepts trusts a target that does not say how much it sees, because only engines of earlier
// versions do not.
func (p *plan) accepts(s *shard, from, to *Slot) bool {
	if !to.Sight.Known {
		return true
	}
	if p.seesLess(s, from, to) {
		return false
	}
	return p.engines[from.Name].Leaving || !s.lacks(from) || few(from.Sight.Connected, to.Sight.Connected)
}

// seesLess reports whether the target of a move captures the shard, but has connected far fewer
// channels than the source.
func (p *plan) seesLess(s *shard, from, to *Slot) bool {
	if to.Phase != v1alpha1.Capturing || !to.Sight.Known {
		return false
	}
	expected := s.connected(from)
	if !to.Sight.Stale { // it captures some channels for other shards while they leave this one
		expected = min(expected, to.Sight.Channels)
	}
	return few(to.Sight.Connected, expected)
}

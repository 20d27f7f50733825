package compile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"varve.dev/varve/engine/capture"
)

// Left are the channels that a shard must continue to capture until their new shards capture
// them.
type Left struct {
	// Channels are the channels with the settings they had in the shard, sorted by PV.
	Channels []capture.Channel
	// To are their new shards, sorted.
	To []int32
}

// Leaving returns the channels that have moved to another shard, by their old shard. It
// ignores paused channels and channels that no group captures any longer. old has the previous
// channels by shard; it may omit channels that the shard still has. now is the Assignment of a
// Result.
func Leaving(old, now map[int][]capture.Channel) map[int]Left {
	gone := missing(old, now)
	if len(gone) == 0 {
		return nil
	}
	first := make(map[string]int, len(gone)) // first index in gone, by PV
	for i := len(gone) - 1; i >= 0; i-- {
		first[gone[i].PV] = i
	}
	left := map[int]Left{}
	for to, channels := range now {
		for i := range channels {
			at, is := first[channels[i].PV]
			if !is || channels[i].Settings.Paused {
				continue
			}
			for ; at < len(gone) && gone[at].PV == channels[i].PV; at++ {
				l := left[gone[at].from]
				l.Channels = append(l.Channels, gone[at].Channel)
				if n := len(l.To); n == 0 || l.To[n-1] != int32(to) {
					l.To = append(l.To, int32(to))
				}
				left[gone[at].from] = l
			}
		}
	}
	for from, l := range left {
		slices.SortFunc(l.Channels, comparePVs)
		slices.Sort(l.To)
		left[from] = l
	}
	return left
}

// leaver is a channel that a shard no longer has.
type leaver struct {
	capture.Channel
	from int
}

// missing returns the channels that shards no longer have, sorted by PV, each once per shard.
func missing(old, now map[int][]capture.Channel) (gone []leaver) {
	for _, from := range slices.Sorted(maps.Keys(old)) {
		for _, ch := range old[from] {
			if ch.Settings == nil || ch.Settings.Paused {
				continue
			}
			if _, has := slices.BinarySearchFunc(now[from], ch, comparePVs); !has {
				gone = append(gone, leaver{ch, from})
			}
		}
	}
	slices.SortStableFunc(gone, func(a, b leaver) int { return cmp.Or(comparePVs(a.Channel, b.Channel), cmp.Compare(a.from, b.from)) })
	return slices.CompactFunc(gone, func(a, b leaver) bool { return a.PV == b.PV && a.from == b.from })
}

func comparePVs(a, b capture.Channel) int { return strings.Compare(a.PV, b.PV) }

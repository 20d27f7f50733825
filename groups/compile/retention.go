package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/store"
)

// retentionOf returns the retention that a group or channel requests, rounded up to tiers.
func retentionOf(r *v1alpha1.Retention) (out store.Retention, err error) {
	if r == nil {
		return out, nil
	}
	if out.Raw, err = tierOf(r.Raw); err != nil {
		return out, fmt.Errorf("parsing retention.raw: %w", err)
	}
	var levels []store.Level
	for i := range r.Rollups {
		every, err := r.Rollups[i].Every.TimeDuration()
		if err != nil {
			return out, fmt.Errorf("parsing the width of a rollup: %w", err)
		}
		tier, err := tierOf(r.Rollups[i].Keep)
		if err != nil {
			return out, fmt.Errorf("parsing the retention of a rollup: %w", err)
		}
		levels = append(levels, store.LevelOf(every, tier))
	}
	out.Levels = tiers(levels)
	return out, nil
}

func tierOf(keep *v1alpha1.Duration) (store.Tier, error) {
	d, err := durationOr(keep, 0)
	return store.TierFor(d), err
}

// keepLonger returns the retention that keeps everything that a or b would keep: raw samples
// and each rollup level for the longer time.
func keepLonger(a, b store.Retention) store.Retention {
	return store.Retention{
		Raw:    longer(a.Raw, b.Raw),
		Levels: tiers(slices.Concat(a.Levels[:], b.Levels[:])),
	}
}

func longer(a, b store.Tier) store.Tier {
	if b.Longer(a) {
		return b
	}
	return a
}

// tiers returns levels sorted by width, each width once. A level is kept at least as long as
// any finer one. If there are too many levels, tiers merges the two levels with the closest
// widths: it keeps the finer level for the longer time.
func tiers(levels []store.Level) (out [store.MaxLevels]store.Level) {
	levels = slices.DeleteFunc(slices.Clone(levels), func(l store.Level) bool { return l == 0 })
	slices.SortFunc(levels, func(a, b store.Level) int { return cmp.Compare(a.Every(), b.Every()) })
	var steps []store.Level
	for _, l := range levels {
		if n := len(steps); n > 0 {
			last := &steps[n-1]
			l = store.LevelOf(l.Every(), longer(last.Tier(), l.Tier()))
			if l.Every() == last.Every() {
				*last = l
				continue
			}
		}
		steps = append(steps, l)
	}
	for len(steps) > len(out) {
		i := closest(steps)
		steps[i] = store.LevelOf(steps[i].Every(), steps[i+1].Tier())
		steps = slices.Delete(steps, i+1, i+2)
	}
	copy(out[:], steps)
	return out
}

// closest returns the index of the level whose width is closest to the width of the next
// level.
func closest(steps []store.Level) int {
	ratio := func(i int) float64 { return float64(steps[i+1].Every()) / float64(steps[i].Every()) }
	least := 0
	for i := range len(steps) - 1 {
		if ratio(i) < ratio(least) {
			least = i
		}
	}
	return least
}

// Describe describes the retention of a group to users: how long raw samples and each rollup
// are kept, and the requested time if it differs.
func Describe(group *v1alpha1.ArchiveGroupSpec) string {
	r := cmp.Or(group.Retention, &v1alpha1.Retention{})
	var b strings.Builder
	b.WriteString("raw samples are kept " + kept(r.Raw))
	for i := range r.Rollups {
		b.WriteString(", rollups of " + string(r.Rollups[i].Every) + " " + kept(r.Rollups[i].Keep))
	}
	own := 0
	for i := range group.Channels {
		if group.Channels[i].Retention != nil {
			own++
		}
	}
	if own > 0 {
		fmt.Fprintf(&b, "; channels with their own retention: %d", own)
	}
	ruled := 0
	for i := range group.Rules {
		if group.Rules[i].Retention != nil {
			ruled++
		}
	}
	if ruled > 0 {
		fmt.Fprintf(&b, "; rules with their own retention: %d", ruled)
	}
	return b.String()
}

func kept(asked *v1alpha1.Duration) string {
	tier, err := tierOf(asked)
	switch {
	case err != nil || asked == nil:
		return "forever"
	case tier == store.Forever:
		return "forever (requested: " + string(*asked) + ")"
	}
	if d, _ := asked.TimeDuration(); d != tier.Keep() {
		return "for " + tier.String() + " (requested: " + string(*asked) + ")"
	}
	return "for " + tier.String()
}

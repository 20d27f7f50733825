package compile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/store"
)

// retentionOf rounds up to tiers what a group, or a channel, asks for.
func retentionOf(r *v1alpha1.Retention) (out store.Retention, err error) {
	if r == nil {
		return out, nil
	}
	if out.Raw, err = tierOf(r.Raw); err != nil {
		return out, fmt.Errorf("reading retention.raw: %w", err)
	}
	var levels []store.Level
	for i := range r.Rollups {
		every, err := r.Rollups[i].Every.TimeDuration()
		if err != nil {
			return out, fmt.Errorf("reading the width of a rollup: %w", err)
		}
		tier, err := tierOf(r.Rollups[i].Keep)
		if err != nil {
			return out, fmt.Errorf("reading how long a rollup is kept: %w", err)
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

// keepLonger returns the retention that keeps whatever a or b would: raw samples and
// each level for as long as either.
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

// tiers returns levels in order of their width, each width once, and none kept for
// less than a finer one. Of more than there may be, the two that are closest become
// one: the finer, kept for as long as either.
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

// closest returns the step whose width is closest to that of the next one.
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

// Describe says for people what the retention of a group comes to: what is kept for
// how long, and what was asked where that is something else.
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
		fmt.Fprintf(&b, "; channels with a retention of their own: %d", own)
	}
	return b.String()
}

func kept(asked *v1alpha1.Duration) string {
	tier, err := tierOf(asked)
	switch {
	case err != nil || asked == nil:
		return "forever"
	case tier == store.Forever:
		return "forever (" + string(*asked) + " asked)"
	}
	if d, _ := asked.TimeDuration(); d != tier.Keep() {
		return "for " + tier.String() + " (" + string(*asked) + " asked)"
	}
	return "for " + tier.String()
}

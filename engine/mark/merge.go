package mark

import (
	"cmp"
	"slices"

	"varve.dev/varve/engine/sample"
)

// maxMerged bounds the number of losses that Merge returns.
const maxMerged = 16

// Merge adds a loss to losses that wait, and returns them in the order of their times. Losses that
// overlap, or that are at most maxGap apart, become one. While there are more than maxMerged, Merge joins the
// two that are closest to each other. Merge changes the slice losses.
func Merge(losses []sample.Mark, m sample.Mark) []sample.Mark {
	losses = append(losses, m)
	slices.SortStableFunc(losses, func(a, b sample.Mark) int { return cmp.Compare(a.Time, b.Time) })
	for i := 1; i < len(losses); {
		if gap(losses, i) > maxGap {
			i++
			continue
		}
		losses = join(losses, i)
	}
	for len(losses) > maxMerged {
		closest := 1
		for i := range losses {
			if i > 0 && gap(losses, i) < gap(losses, closest) {
				closest = i
			}
		}
		losses = join(losses, closest)
	}
	return losses
}

// gap returns the time in ns between loss i and the one before it. It is negative if they overlap.
func gap(losses []sample.Mark, i int) int64 {
	return losses[i].Time - max(losses[i-1].Time, losses[i-1].End)
}

// join joins loss i to the one before it.
func join(losses []sample.Mark, i int) []sample.Mark {
	l, m := &losses[i-1], losses[i]
	l.End, l.Count = max(l.Time, l.End, m.Time, m.End), l.Count+m.Count
	return slices.Delete(losses, i, i+1)
}

package store

import (
	"cmp"
	"slices"

	"varve.dev/varve/engine/sample"
)

// Deleted is a range of time whose samples a user has deleted. Readers hide all samples with times in the
// range, wherever and whenever these samples were stored, so a range is never removed from the directory.
type Deleted struct {
	// From and To are the first and the last time of the range, in ns since 1970.
	From, To int64
	// Done means that blocks and tiles have no samples of the range any longer. An entry of the same range without
	// Done came before.
	Done bool
}

// Mask is the ranges of a PV that are deleted, sorted by time. They do not overlap or touch.
type Mask []Deleted

// Mask returns the deleted ranges of the PV.
func (c *Channel) Mask() Mask {
	if len(c.Deleted) == 0 {
		return nil
	}
	return maskOf(c.Deleted)
}

// LeaveOutFuture removes the deleted ranges that end after a time, in ns since 1970, and counts them as damaged. Users delete
// only past samples. A sealer that believed such a range would drop the PV's samples for years.
func (c *Channel) LeaveOutFuture(after int64) {
	kept := slices.DeleteFunc(slices.Clone(c.Deleted), func(d Deleted) bool { return d.To > after })
	c.Deleted, c.Damaged = kept, c.Damaged+len(c.Deleted)-len(kept)
}

// OpenMask returns the deleted ranges of which blocks or tiles may still have samples.
func (c *Channel) OpenMask() Mask {
	return maskOf(slices.DeleteFunc(slices.Clone(c.Deleted), func(d Deleted) bool { return d.Done || c.IsDone(d) }))
}

// IsDone reports whether blocks and tiles have no samples of a deleted range any longer.
func (c *Channel) IsDone(d Deleted) bool {
	return slices.Contains(c.Deleted, Deleted{From: d.From, To: d.To, Done: true})
}

func maskOf(ranges []Deleted) (m Mask) {
	ranges = slices.SortedFunc(slices.Values(ranges), func(a, b Deleted) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, d := range ranges {
		if d.From > d.To {
			continue
		}
		if n := len(m); n > 0 && (d.From <= m[n-1].To || d.From-1 == m[n-1].To) {
			m[n-1].To = max(m[n-1].To, d.To)
		} else {
			m = append(m, Deleted{From: d.From, To: d.To})
		}
	}
	return m
}

// after returns the index of the first range that ends at or after a time.
func (m Mask) after(t int64) int {
	i, _ := slices.BinarySearchFunc(m, t, func(d Deleted, t int64) int { return cmp.Compare(d.To, t) })
	return i
}

// Hides reports whether samples of a time are deleted.
func (m Mask) Hides(t int64) bool { return m.HidesAll(t, t) }

// HidesAll reports whether all samples with times in [from, to] are deleted.
func (m Mask) HidesAll(from, to int64) bool {
	i := m.after(from)
	return i < len(m) && m[i].From <= from && to <= m[i].To
}

// Overlaps reports whether samples with times in [from, to] may be deleted.
func (m Mask) Overlaps(from, to int64) bool {
	i := m.after(from)
	return i < len(m) && m[i].From <= to
}

// Within returns the parts of the ranges that are in [from, to].
func (m Mask) Within(from, to int64) (parts Mask) {
	for i := m.after(from); i < len(m) && m[i].From <= to; i++ {
		parts = append(parts, Deleted{From: max(from, m[i].From), To: min(to, m[i].To)})
	}
	return parts
}

// Keep returns the samples of a run that are not deleted. It returns the run itself if none is.
func (m Mask) Keep(r *sample.Run) *sample.Run {
	if len(m) == 0 || !slices.ContainsFunc(r.Times, m.Hides) {
		return r
	}
	kept := &sample.Run{Type: r.Type}
	for i := 0; i < r.Len(); i++ {
		j := i
		for j < r.Len() && !m.Hides(r.Times[j]) {
			j++
		}
		kept.AppendRange(r, i, j)
		i = j
	}
	return kept
}

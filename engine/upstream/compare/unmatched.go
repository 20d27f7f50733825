package compare

import "slices"

// Bounds of the samples that wait for an equal sample with another time.
const (
	maxUnmatched      = 4096
	maxUnmatchedBytes = 32 << 20
)

// unmatched are samples that only one archive has so far, by time.
type unmatched struct {
	items []item
	size  int // of their strings and arrays, in bytes
}

// match removes and returns the nearest sample that equals s, but for its time, and is at most near ns apart.
func (u *unmatched) match(s *item, near int64) (found item, ok bool) {
	for i := len(u.items) - 1; i >= 0; i-- { // the latest is the nearest
		if o := &u.items[i]; s.Time-o.Time <= near && s.same(o) {
			found = *o
			u.items = slices.Delete(u.items, i, i+1)
			u.size -= len(found.Bytes)
			return found, true
		}
	}
	return found, false
}

// add adds a sample. It returns the samples that no longer fit.
func (u *unmatched) add(s item) (dropped []item) {
	u.items = append(u.items, s)
	u.size += len(s.Bytes)
	n, size := 0, u.size
	for ; len(u.items)-n > maxUnmatched || size > maxUnmatchedBytes && n < len(u.items); n++ {
		size -= len(u.items[n].Bytes)
	}
	return u.drop(n)
}

// expire removes and returns the samples before a time.
func (u *unmatched) expire(before int64) []item {
	n := 0
	for n < len(u.items) && u.items[n].Time < before {
		n++
	}
	return u.drop(n)
}

// drop removes and returns the first n samples.
func (u *unmatched) drop(n int) []item {
	if n == 0 {
		return nil
	}
	out := slices.Clone(u.items[:n])
	for i := range out {
		u.size -= len(out[i].Bytes)
	}
	u.items = slices.Delete(u.items, 0, n)
	return out
}

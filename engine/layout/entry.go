package layout

import (
	"context"
	"slices"
	"time"

	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Entry is a PV's directory entry as a process knows it. It may lack elements that other
// processes have added since the last Refresh.
type Entry struct {
	store.Channel
}

// Directory is the part of a store that holds the directory entries of PVs.
type Directory interface {
	Channel(ctx context.Context, pv string) (store.Channel, bool, error)
}

// Refresh reads the entry of a PV from the store. Callers do so before they read the PV's
// blocks, because blocks may have moved to other buckets. now is the latest that the present may be, in ns since 1970.
func (e *Entry) Refresh(ctx context.Context, d Directory, pv string, now int64) error {
	c, _, err := d.Channel(ctx, pv)
	if err == nil {
		c.LeaveOutFuture(MaxDeleted(now))
		e.Channel = c
	}
	return err
}

// MaxDeleted returns the latest end of deleted ranges that a sealer believes, in ns since 1970. Clocks may differ.
func MaxDeleted(now int64) int64 { return now + int64(24*time.Hour) }

// Missing returns the elements that the directory entry of a PV must get before blocks are
// written from a shard. It returns false if the entry already has all of them.
func (e *Entry) Missing(pv string, shard int, blocks []store.Block) (store.Channel, bool) {
	c := store.Channel{PV: pv}
	if len(blocks) > 0 && !slices.Contains(e.Shards, shard) {
		c.Shards = []int{shard}
	}
	for i := range blocks {
		if b := blocks[i].Bucket; !listed(e.Starts, b) && !listed(c.Starts, b) {
			c.Starts = append(c.Starts, b)
		}
		if t := blocks[i].Type; !slices.Contains(e.Types, t) && !slices.Contains(c.Types, t) {
			c.Types = append(c.Types, t)
		}
	}
	return c, len(c.Shards)+len(c.Starts)+len(c.Types) > 0
}

// listed reports whether the starts tell readers that a bucket may have blocks.
func listed(starts []store.Bucket, b store.Bucket) bool {
	return slices.ContainsFunc(starts, func(s store.Bucket) bool { return s.Span() == b.Span() && s <= b })
}

// Add adds elements to the entry. The caller makes sure that the directory gets them too.
func (e *Entry) Add(c store.Channel) {
	e.Shards = append(e.Shards, c.Shards...)
	e.Starts = append(e.Starts, c.Starts...)
	e.Types = append(e.Types, c.Types...)
	e.Levels = append(e.Levels, c.Levels...)
	e.Deleted = append(e.Deleted, c.Deleted...)
}

// Earliest returns the start of the earliest bucket that the entry lists.
func (e *Entry) Earliest() int64 {
	t := int64(scan.Latest)
	for _, b := range e.Starts {
		t = min(t, b.Start())
	}
	return t
}

// ShortestSize returns the shortest bucket size that the entry lists.
func (e *Entry) ShortestSize() store.BucketSize {
	size := store.Year
	for _, b := range e.Starts {
		size = min(size, b.Size())
	}
	return size
}

package store

import (
	"context"
	"iter"

	"varve.dev/varve/engine/sample"
)

// Channel is the directory entry of a PV. Its sets only grow, so an engine can add to
// them without reading them first.
type Channel struct {
	PV string
	// Shards are the shards whose journals may hold rows of the PV.
	Shards []int
	// Starts lists where the blocks of the PV are. A bucket can contain blocks only if Starts
	// lists that bucket or an earlier bucket of its span. A writer adds a start, and waits
	// until it is acknowledged, before it writes the first block there.
	Starts []Bucket
	// Types are the types that the PV's samples have had.
	Types []sample.Type
	// Levels are the levels that the PV has rollups of. A writer adds a level, and waits until
	// it is acknowledged, before it writes the level's first tile. Tiles exist only in the
	// spans that Starts lists.
	Levels []Level
	// Deleted are the ranges of time whose samples users have deleted. A reader reads them after memory and
	// the journal, and hides these samples. A sealer does not store them.
	Deleted []Deleted
	// Damaged is the number of elements of the entry that cannot be read. Everybody goes on without them. AddChannel
	// ignores it.
	Damaged int
}

// TiersInUse returns the tiers that may hold samples of the PV, and those that may hold rollups.
func (c *Channel) TiersInUse() (samples, rollups [NumTiers]bool) {
	for _, b := range c.Starts {
		if b.Tier().Valid() {
			samples[b.Tier()] = true
		}
	}
	for _, l := range c.Levels {
		if l.Valid() {
			rollups[l.Tier()] = true
		}
	}
	return samples, rollups
}

// Directory is the part of a Store that lists the PVs and the places where their rows may be.
type Directory interface {
	// AddChannel adds the elements of c to the sets in the directory entry of the PV.
	AddChannel(ctx context.Context, c Channel) error
	// Channel returns the directory entry of a PV.
	Channel(ctx context.Context, pv string) (c Channel, found bool, err error)
	// Channels yields the whole directory, in no particular order.
	Channels(ctx context.Context) iter.Seq2[Channel, error]
}

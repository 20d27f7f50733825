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
	// Starts say where blocks of the PV are: a bucket can hold blocks only if Starts
	// lists it or an earlier bucket of its span. A start is added and acknowledged
	// before the first such block is written.
	Starts []Bucket
	// Types are the types that the PV's samples have had.
	Types []sample.Type
	// Levels are the levels that the PV has rollups of. A level is added and
	// acknowledged before its first tile is written. Tiles exist only in spans of time
	// that Starts name.
	Levels []Level
}

// Directory is the part of a Store that knows which PVs there are and where their rows
// may be.
type Directory interface {
	// AddChannel adds to the directory entry of a PV.
	AddChannel(ctx context.Context, c Channel) error
	// Channel returns the directory entry of a PV.
	Channel(ctx context.Context, pv string) (c Channel, found bool, err error)
	// Channels yields the whole directory, in no particular order.
	Channels(ctx context.Context) iter.Seq2[Channel, error]
}

package store

import (
	"context"
	"iter"
)

// Rollup is a tile of rollups of a PV: TileBins bins of one level. Its row is written
// whole, and written again when there are more bins or when samples came late.
type Rollup struct {
	PV    string
	Level Level
	Tile  Tile
	// Stamp is when the writer began to read the samples that it computed the bins from,
	// in ns since 1970. Of two rows of a tile the one with the later stamp stays. A store
	// may keep and compare whole microseconds only; either of two rows stays if their
	// stamps are in the same microsecond.
	Stamp int64
	// Blob is encoded by package rollup. It has at most MaxRollup bytes.
	Blob []byte
}

// MaxRollup is the largest Blob, in bytes, of a Rollup. A store may keep 256 of them
// together, which is less than 50 MB.
const MaxRollup = 192 << 10

// Rollups is the part of a Store that holds rollups.
type Rollups interface {
	// PutRollups writes tiles of rollups. Of two writes of a tile the one with the
	// later Stamp stays, in whatever order they arrive.
	PutRollups(ctx context.Context, rows ...Rollup) error
	// Rollups yields the tiles of a PV and a level from first to last, both included,
	// by time. Its cost grows with the length of the range as well as with the number
	// of tiles, so the range should be one that the directory allows.
	Rollups(ctx context.Context, pv string, l Level, first, last Tile) iter.Seq2[Rollup, error]
}

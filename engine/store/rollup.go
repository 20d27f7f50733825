package store

import (
	"context"
	"iter"
)

// Rollup is a tile of rollups of a PV: TileBins bins of one level. A writer writes the whole
// row, and writes it again when there are more bins or when late samples have arrived.
type Rollup struct {
	PV    string
	Level Level
	Tile  Tile
	// Stamp is the time, in ns since 1970, at which the writer began to read the samples of
	// the bins. If a tile is written twice, the store keeps the row with the later stamp. A
	// store may compare stamps in whole microseconds. If two stamps are in the same
	// microsecond, it may keep either row.
	Stamp int64
	// Blob holds the bins as package rollup encodes them. It has at most MaxRollup bytes.
	Blob []byte
}

// MaxRollup is the maximum size in bytes of the Blob of a Rollup. A store may keep 256 blobs
// in one partition, which then has at most 48 MiB.
const MaxRollup = 192 << 10

// Rollups is the part of a Store that holds rollups.
type Rollups interface {
	// PutRollups writes tiles of rollups. If a tile is written twice, the write with the later
	// Stamp wins, regardless of the order in which the writes arrive.
	PutRollups(ctx context.Context, rows ...Rollup) error
	// Rollups yields the tiles of a PV and a level from first to last, both included, by time.
	// Its cost grows with the length of the range as well as with the number of tiles, so the
	// caller should limit the range to the spans in the directory.
	Rollups(ctx context.Context, pv string, l Level, first, last Tile) iter.Seq2[Rollup, error]
}

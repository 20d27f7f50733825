package store

import (
	"fmt"
	"time"
)

// TileBins is how many bins stand in one row of a rollup.
const TileBins = 256

// Level is one level of decimated data: the width of its bins, in ms, above the low
// 4 bits, and there the tier that says how long they are kept. 0 is no level.
type Level int64

// LevelOf returns the level of bins of some width, which is whole milliseconds.
func LevelOf(every time.Duration, r Tier) Level { return Level(every.Milliseconds()<<4 | int64(r)) }

// Every returns the width of a bin.
func (l Level) Every() time.Duration { return time.Duration(l>>4) * time.Millisecond }

// Tier returns how long its rows are kept.
func (l Level) Tier() Tier { return Tier(l & 15) }

// Valid reports whether the level is one that this version knows.
func (l Level) Valid() bool { return l>>4 > 0 && l.Tier().Valid() }

// Tile returns the tile that holds a time in ns since 1970: TileBins bins, the first
// of which begins at a multiple of their width since then.
func (l Level) Tile(t int64) Tile {
	span := int64(l.Every()) * TileBins
	i := t / span
	if t%span < 0 {
		i--
	}
	return Tile(i)
}

// Start returns the first instant of a tile in ns since 1970.
func (l Level) Start(t Tile) int64 { return int64(t) * int64(l.Every()) * TileBins }

// Expires returns when the rows of a tile go, in ns since 1970; ok is false if never.
func (l Level) Expires(t Tile) (at int64, ok bool) {
	if l.Tier() == Forever {
		return 0, false
	}
	return later(later(l.Start(t), l.Every()*TileBins), l.Tier().Keep()), true
}

// String returns the width and the tier, such as "10s/2y".
func (l Level) String() string { return fmt.Sprintf("%v/%v", l.Every(), l.Tier()) }

// Tile numbers the tiles of a level from 1970-01-01 UTC on; negative ones are before.
type Tile int64

// Rollup is a tile of decimated samples of a PV. Its row is written whole, and again
// when there is more, or when samples came late.
type Rollup struct {
	PV    string
	Level Level
	Tile  Tile
	// Stamp is when the writer began to read the samples it computed the bins from,
	// in ns since 1970. Of two rows of a tile the one with the later stamp stays. A
	// store may count, and keep, whole microseconds only: of two rows of the same one
	// either stays.
	Stamp int64
	// Blob is encoded by package rollup. It has MaxRollup bytes at most.
	Blob []byte
}

// MaxRollup is the largest Blob, in bytes, that a Rollup may hold: 256 of them, which
// a store may keep together, have less than 50 MB.
const MaxRollup = 192 << 10

// MaxLevels is the number of levels that a PV can have at a time.
const MaxLevels = 8

// Retention says how long the samples of a PV are kept, and as what. The zero value
// keeps raw samples forever. It is comparable.
type Retention struct {
	Raw Tier
	// Levels are in order of their width, the finest first; the rest are 0.
	Levels [MaxLevels]Level
}

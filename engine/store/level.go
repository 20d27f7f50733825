package store

import (
	"fmt"
	"time"
)

// TileBins is the number of bins in one row of a rollup.
const TileBins = 256

// Level is one level of rollups. The low 4 bits are the tier, which says how long its rows
// are kept. The bits above them are the width of its bins in ms. 0 is no level.
type Level int64

// LevelOf returns the level whose bins have a width, which must be whole milliseconds.
func LevelOf(every time.Duration, r Tier) Level { return Level(every.Milliseconds()<<4 | int64(r)) }

// Every returns the width of a bin.
func (l Level) Every() time.Duration { return time.Duration(l>>4) * time.Millisecond }

// Tier returns how long its rows are kept.
func (l Level) Tier() Tier { return Tier(l & 15) }

// Valid reports whether this version knows the level.
func (l Level) Valid() bool { return l>>4 > 0 && l.Tier().Valid() }

// Tile returns the tile that holds a time in ns since 1970. A tile is TileBins bins; its
// start is a multiple of its length since 1970.
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

// Expires returns when the rows of a tile expire, in ns since 1970; ok is false if never.
func (l Level) Expires(t Tile) (at int64, ok bool) {
	if l.Tier() == Forever {
		return 0, false
	}
	return later(later(l.Start(t), l.Every()*TileBins), l.Tier().Keep()), true
}

// String returns the width and the tier, such as "10s/2y".
func (l Level) String() string { return fmt.Sprintf("%v/%v", l.Every(), l.Tier()) }

// Tile is the number of a tile of a level. Tile 0 starts at 1970-01-01 UTC; negative tiles
// are before it.
type Tile int64

// MaxLevels is the largest number of levels that a PV can have at a time.
const MaxLevels = 8

// Retention says how long the raw samples and the rollups of a PV are kept. The zero
// value keeps raw samples forever. It is comparable.
type Retention struct {
	Raw Tier
	// Levels are sorted by width, the finest first. Unused elements are 0.
	Levels [MaxLevels]Level
}

package store

import (
	"fmt"
	"time"
)

// TileBins is the number of bins in one row of a rollup.
const TileBins = 256

// Level is one level of rollups. The low 4 bits are the retention tier of its rows. The bits
// above them are the width of its bins in ms. 0 means no level.
type Level int64

// LevelOf returns the level with bins of the given width. The width must be a whole number of
// milliseconds.
func LevelOf(every time.Duration, r Tier) Level { return Level(every.Milliseconds()<<4 | int64(r)) }

// Every returns the width of a bin.
func (l Level) Every() time.Duration { return time.Duration(l>>4) * time.Millisecond }

// Tier returns the retention tier of its rows.
func (l Level) Tier() Tier { return Tier(l & 15) }

// Valid reports whether this version knows the level.
func (l Level) Valid() bool { return l>>4 > 0 && l.Tier().Valid() }

// Tile returns the tile that contains a time in ns since 1970. A tile has TileBins bins. Its
// start is a multiple of its length, counted from 1970.
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

// Expires returns when the rows of a tile expire, in ns since 1970. ok is false if they never
// expire.
func (l Level) Expires(t Tile) (at int64, ok bool) {
	if l.Tier() == Forever {
		return 0, false
	}
	return later(later(l.Start(t), l.Every()*TileBins), l.Tier().Keep()), true
}

// String returns the width and the tier, such as "10s/2y".
func (l Level) String() string { return fmt.Sprintf("%v/%v", l.Every(), l.Tier()) }

// Tile is the number of a tile of a level. Tile 0 starts at 1970-01-01 UTC; tiles with
// negative numbers are before 1970.
type Tile int64

// MaxLevels is the maximum number of levels of a PV.
const MaxLevels = 8

// Retention is how long the raw samples and the rollups of a PV are kept. The zero value keeps
// raw samples forever and has no rollups. Retention is comparable.
type Retention struct {
	Raw Tier
	// Levels are sorted by width, the finest first. Unused elements are 0.
	Levels [MaxLevels]Level
}

package rollup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve.dev/varve/engine/checksum"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Version is the first byte of a tile's blob. A blob of this version ends with a checksum, and one
// of firstVersion does not.
const (
	Version      = 2
	firstVersion = 1
)

// ErrCorrupt is wrapped by the errors of Decode.
var ErrCorrupt = errors.New("damaged tile")

// Tile holds the bins of a PV that are stored in one row.
type Tile struct {
	Level store.Level
	Tile  store.Tile
	// Since and Through are in ns since 1970. All samples in [Since, Through) that were sealed
	// when the row was written are in the bins of this tile or in the rows of earlier tiles.
	// Since may lie in the span of an earlier tile. Both are starts of bins. Through is after
	// the tile's start and not after its end.
	Since, Through int64
	// Bins are sorted by time. Bins without samples are left out.
	Bins []Bin
}

// Start returns the first instant of the tile.
func (t *Tile) Start() int64 { return t.Level.Start(t.Tile) }

// End returns the first instant after the tile.
func (t *Tile) End() int64 { return t.Level.Start(t.Tile + 1) }

// Append appends the encoded tile to dst.
func Append(dst []byte, t *Tile) []byte {
	from := len(dst)
	return checksum.Append(appendTile(append(dst, Version), t), from)
}

// appendTile appends what follows the version.
func appendTile(dst []byte, t *Tile) []byte {
	width := int64(t.Level.Every())
	e := encoder{dst: dst}
	e.dst = binary.AppendVarint(e.dst, (t.Since-t.Start())/width)
	e.dst = append(e.dst, byte((t.Through-t.Start())/width-1))
	e.dst = binary.AppendUvarint(e.dst, uint64(len(t.Bins)))
	if len(t.Bins) == 0 {
		return e.dst
	}
	e.column(t.Bins, func(b *Bin) int64 { return (b.Start - t.Start()) / width })
	e.column(t.Bins, func(b *Bin) int64 { return int64(flagsOf(b)) })
	e.column(t.Bins, func(b *Bin) int64 { return int64(b.Count) })
	e.column(t.Bins, func(b *Bin) int64 { return width - b.Covered })
	e.values(t.Bins)
	e.states(t.Bins)
	e.texts(t.Bins)
	return e.dst
}

// The flags of a bin are, from the lowest bit: kind (2 bits), severity (2), last severity (2),
// held, changed, numbers.
const (
	flagHeld    = 1 << 6
	flagChanged = 1 << 7
	flagNumbers = 1 << 8 // the bin has Min and Max
	flagsEnd    = 1 << 9
)

func flagsOf(b *Bin) int {
	f := int(b.Kind) | int(b.Severity&3)<<2 | int(b.LastSeverity&3)<<4
	if b.Held {
		f |= flagHeld
	}
	if b.Changed {
		f |= flagChanged
	}
	if hasNumbers(b) {
		f |= flagNumbers
	}
	return f
}

func hasNumbers(b *Bin) bool { return b.Kind == Number && !math.IsNaN(b.Min) }

// hasFirst reports whether First and Last of a bin are stored.
func hasFirst(b *Bin) bool { return b.Kind == Number || b.Kind == Choice }

// Decode sets t to the contents of a row. It reuses t's memory. Bins that were copied from t
// before may share texts and states, which never change.
func Decode(t *Tile, row *store.Rollup) error {
	t.Level, t.Tile, t.Bins = row.Level, row.Tile, t.Bins[:0]
	d := decoder{src: row.Blob}
	switch v := d.byte(); v {
	case firstVersion:
	case Version:
		if _, err := checksum.Strip(row.Blob); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		d.src = d.src[:len(d.src)-checksum.Size]
	default:
		return fmt.Errorf("%w: version %d", ErrCorrupt, v)
	}
	width := int64(t.Level.Every())
	since, through, n := d.varint(), int64(d.byte())+1, d.uvarint()
	t.Since, t.Through = t.Start()+since*width, t.Start()+through*width
	if d.bad || n > store.TileBins || since >= through || since < math.MinInt64/2/width {
		return ErrCorrupt
	}
	if n > 0 {
		d.bins(t, int(n), width)
	}
	if d.bad || len(d.src) > 0 {
		t.Bins = t.Bins[:0]
		return ErrCorrupt
	}
	return nil
}

// bins reads n bins.
func (d *decoder) bins(t *Tile, n int, width int64) {
	places, flags, counts, gaps := d.ints(n), d.ints(n), d.ints(n), d.ints(n)
	if d.bad {
		return
	}
	last := int64(-1)
	for i := range n {
		f := flags[i]
		if places[i] <= last || places[i] >= store.TileBins || f < 0 || f >= flagsEnd || gaps[i] < 0 || gaps[i] > width || counts[i] < 0 ||
			f&flagNumbers != 0 && Kind(f&3) != Number {
			d.bad = true
			return
		}
		last = places[i]
		t.Bins = append(t.Bins, Bin{
			Start: t.Start() + last*width, Width: width, Count: uint64(counts[i]), Covered: width - gaps[i],
			Kind: Kind(f & 3), Severity: sample.Severity(f >> 2 & 3), LastSeverity: sample.Severity(f >> 4 & 3),
			Held: f&flagHeld != 0, Changed: f&flagChanged != 0,
			Min: math.NaN(), Max: math.NaN(), Mean: math.NaN(), Std: math.NaN(),
		})
		if f&flagNumbers != 0 {
			t.Bins[i].Min = 0 // not NaN: marks a bin whose Min follows in a later column
		}
	}
	d.values(t.Bins)
	d.states(t.Bins, width)
	d.texts(t.Bins)
}

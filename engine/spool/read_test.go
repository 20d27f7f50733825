package spool

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// between returns the waiting values of a PV in shard 1, for a request of a range of
// milliseconds.
func (b *bench) between(pv string, from, to int64) (out []int, err error) {
	runs, err := b.Recent(pv, from*1e6, to*1e6, 1)
	for _, run := range runs {
		out = append(out, ints(run)...)
	}
	return out, err
}

func TestRecentOfARange(t *testing.T) {
	b := start(t, config(vfs.NewMem()))
	late := newRow(1, 950, 960, "A") // put after later samples, as after a clock was set back
	b.put(newRow(1, 100, 200, "A"), newRow(1, 900, 1000, "A"), late, newRow(1, 1100, 1200, "A"))
	for _, c := range []struct {
		from, to int64
		want     []int
	}{
		{0, 2000, slices.Concat(count(100, 200), count(900, 1000), count(950, 960), count(1100, 1200))},
		{0, 50, nil},
		{150, 160, count(150, 161)},
		{300, 950, slices.Concat([]int{199}, count(900, 951), []int{950})}, // the last one before, and all in between
		{1010, 1050, []int{999}},
		{957, 958, []int{957, 958, 957, 958}},
		{955, 955, []int{955, 955}},
		{1300, 1400, []int{1199}},
	} {
		if got, err := b.between("A", c.from, c.to); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d: %v, %v, want %v", c.from, c.to, got, err, c.want)
		}
	}
}

// If more samples of a PV wait than Recent returns, a reader can read all of them piece
// by piece, and never takes a part for the whole.
func TestALargeBacklogIsReadInPieces(t *testing.T) {
	b := start(t, config(vfs.NewMem()))
	const rows, n = 900, 4000 // values of 20 bytes
	for i := range rows {
		b.put(newRow(1, i*n, (i+1)*n, "A"))
	}
	if got, err := b.between("A", 0, rows*n); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%d values of %d, %v", len(got), rows*n, err)
	}
	for from := 0; from < rows*n; from += rows / 3 * n {
		got, err := b.between("A", int64(from), int64(from+rows/3*n-1))
		if err != nil || !slices.Equal(got, count(from, from+rows/3*n)) {
			t.Errorf("%d values from %d on, %v", len(got), from, err)
		}
	}
}

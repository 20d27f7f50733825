package spool

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
)

// between returns the waiting values of a PV in shard 1, for a request of a range of
// milliseconds.
func (b *fixture) between(pv string, from, to int64) (out []int, err error) {
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

// TestALargeBacklogIsReadInPieces checks that a reader can read all samples of a PV piece by
// piece if more of them wait than Recent returns. Recent must never return a part of them
// without an error.
func TestALargeBacklogIsReadInPieces(t *testing.T) {
	readBacklog(t, 8, func(from, to int) journal.SpoolRow { // values of 10,000 bytes
		return packRow(1, to, to-from, []string{"A"}, func() *sample.Run {
			run := &sample.Run{Type: sample.Uint8.Array()}
			for i := from; i < to; i++ {
				run.Append(&sample.Sample{Time: int64(i) * 1e6, Bytes: make([]byte, 10_000)})
			}
			return run
		})
	})
}

// TestLong_ALargeBacklogIsReadInPieces is TestALargeBacklogIsReadInPieces with millions of
// values of 20 bytes.
func TestLong_ALargeBacklogIsReadInPieces(t *testing.T) {
	readBacklog(t, 4000, func(from, to int) journal.SpoolRow { return newRow(1, from, to, "A") })
}

// readBacklog puts 900 rows of n values, of at least 80,000 bytes each, and reads them.
func readBacklog(t *testing.T, n int, newRow func(from, to int) journal.SpoolRow) {
	t.Helper()
	b := start(t, config(vfs.NewMem()))
	const rows = 900
	for i := 0; i < rows; i += 30 { // each call waits for an fsync
		var some []journal.SpoolRow
		for k := i; k < i+30; k++ {
			some = append(some, newRow(k*n, (k+1)*n))
		}
		b.put(some...)
	}
	if got, err := b.Recent("A", 0, int64(rows*n)*1e6, 1); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%d runs of %d values, %v", len(got), rows*n, err)
	}
	for from := 0; from < rows*n; from += rows / 3 * n {
		runs, err := b.Recent("A", int64(from)*1e6, int64(from+rows/3*n-1)*1e6, 1)
		var got []int
		for _, run := range runs {
			for i, at := range run.Times {
				if got = append(got, int(at/1e6)); run.Type.Fixed() && run.Words[i] != uint64(at/1e6) {
					t.Fatalf("the value at %d is %d", at, run.Words[i])
				}
			}
		}
		if err != nil || !slices.Equal(got, count(from, from+rows/3*n)) {
			t.Errorf("%d values from %d on, %v", len(got), from, err)
		}
	}
}

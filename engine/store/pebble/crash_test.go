package pebble

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// past is what an archive on a disk has had: the entries after each write, and how long the write-ahead log was
// then. entries[0] is a new archive.
type past struct {
	entries []map[string]string
	ends    []int
	log     string // name of the write-ahead log
}

// manyWrites are writes of each kind, in an order in which each of them changes the archive.
func manyWrites(s *Store) []func(ctx context.Context) error {
	w, other := store.WriterID{1}, store.WriterID{2}
	claim := store.Claim{Writer: w, Epoch: 1, Sealing: store.FirstTerm, Closed: true}
	row := func(n uint32) store.JournalRow {
		return store.JournalRow{Writer: w, At: store.At(1, n), Index: []byte("A"), Blob: []byte{byte(n), 7}}
	}
	block := func(pv string, day int64) store.Block {
		b := store.Day.Of(day * int64(24*time.Hour))
		return store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: b.Start(), Writer: w}, End: b.Start() + 1, Type: sample.Float64, Count: 1, Blob: []byte(pv)}
	}
	level := store.LevelOf(10*time.Second, store.Forever)
	return []func(ctx context.Context) error{
		func(ctx context.Context) error { return s.PutClaim(ctx, claim) },
		func(ctx context.Context) error { return s.PutClaim(ctx, store.Claim{Writer: other, Epoch: 2}) },
		func(ctx context.Context) error { return s.PutJournal(ctx, row(1)) },
		func(ctx context.Context) error { return s.PutJournal(ctx, row(2)) },
		func(ctx context.Context) error {
			return s.AddChannel(ctx, store.Channel{PV: "A", Shards: []int{0}, Starts: []store.Bucket{store.Day.Of(0)}, Types: []sample.Type{sample.Float64}})
		},
		func(ctx context.Context) error { return s.PutBlocks(ctx, block("A", 1), block("A", 2), block("B", 1)) },
		func(ctx context.Context) error {
			return s.PutRollups(ctx, store.Rollup{PV: "A", Level: level, Tile: 1, Stamp: 1, Blob: []byte("bins")}, store.Rollup{PV: "A", Level: level, Tile: 2, Stamp: 1, Blob: []byte("bins")})
		},
		func(ctx context.Context) error { return s.Seal(ctx, 0, w, store.At(1, 1)) },
		func(ctx context.Context) error { return s.Seal(ctx, 0, w, store.At(1, 2)) },
		func(ctx context.Context) error {
			return s.PutMarks(ctx, store.PVMark{PV: "A", Mark: sample.Mark{Time: 1, End: 2, Kind: sample.Lost, Count: 3}})
		},
		func(ctx context.Context) error {
			_, err := s.DropBucket(ctx, "A", block("A", 1).Bucket, time.Now().UnixNano())
			return err
		},
		func(ctx context.Context) error { claim.Sealed = store.At(1, 2); return s.DropClaim(ctx, claim) },
		func(ctx context.Context) error { return s.PutCutoff(ctx, store.Cutoff{Before: 1}) },
		func(ctx context.Context) error { return s.Delete(ctx, "A") },
	}
}

// record makes writes in an archive and calls after when each of them is acknowledged. The archive has been opened
// once before, because the write-ahead log of a new archive has an older form.
func record(t *testing.T, fs vfs.FS, writes func(s *Store) []func(ctx context.Context) error, after func(p *past)) *past {
	t.Helper()
	closeStore(t, openStore(t, fs))
	s := openStore(t, fs)
	defer closeStore(t, s)
	p := &past{log: lastOf(t, fs, ".log")}
	note := func() {
		p.entries, p.ends = append(p.entries, entriesOf(t, s)), append(p.ends, len(read(t, fs, p.log)))
		after(p)
	}
	note()
	for i, write := range writes(s) {
		if err := write(t.Context()); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		if note(); maps.Equal(p.entries[i], p.entries[i+1]) {
			t.Fatalf("write %d changes nothing", i)
		}
	}
	return p
}

// end returns the length of the write-ahead log after the last write.
func (p *past) end() int { return p.ends[len(p.ends)-1] }

// before returns the entries after the last write that ends at or before a byte of the write-ahead log.
func (p *past) before(at int) map[string]string {
	n, found := slices.BinarySearch(p.ends, at)
	if !found {
		n--
	}
	return p.entries[max(0, n)]
}

// TestAcknowledgedWritesSurviveACrash takes the disk as it is in a power cut after each acknowledged write:
// without anything that was not synced.
func TestAcknowledgedWritesSurviveACrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	record(t, fs, manyWrites, func(p *past) {
		n := len(p.entries) - 1
		expect(t, fmt.Sprintf("after write %d", n), fs.CrashClone(vfs.CrashCloneCfg{}), p.entries[n])
	})
}

// TestLogCutAtSomeBytes cuts the write-ahead log. The archive must have all writes before the cut, and nothing of the
// write that is cut.
func TestLogCutAtSomeBytes(t *testing.T) { cutLog(t, 53) }

// TestLong_LogCutAtEachByte is TestLogCutAtSomeBytes for each byte of the log.
func TestLong_LogCutAtEachByte(t *testing.T) { cutLog(t, 1) }

// cutLog cuts the log at bytes that are step bytes apart, and where each write ends.
func cutLog(t *testing.T, step int) {
	fs := vfs.NewMem()
	p := record(t, fs, manyWrites, func(*past) {})
	files := readAll(t, fs)
	for cut := range p.end() + 1 {
		if cut%step == 0 || slices.Contains(p.ends, cut) {
			expect(t, fmt.Sprintf("cut at %d of %d", cut, p.end()), diskWith(t, files, p.log, files[p.log][:cut]), p.before(cut))
		}
	}
}

// TestLogWithFlippedBytes damages bytes of the write-ahead log. The archive must open with all writes before the
// damaged one, and without those after it, as after a crash: as it was at an earlier time.
func TestLogWithFlippedBytes(t *testing.T) { flipLog(t, 53) }

// TestLong_LogWithEachByteFlipped is TestLogWithFlippedBytes for each byte of the log.
func TestLong_LogWithEachByteFlipped(t *testing.T) { flipLog(t, 1) }

// flipLog damages bytes of the log that are step bytes apart.
func flipLog(t *testing.T, step int) {
	fs := vfs.NewMem()
	p := record(t, fs, manyWrites, func(*past) {})
	files := readAll(t, fs)
	for at := 0; at < p.end(); at += step {
		expect(t, fmt.Sprintf("byte %d", at), diskWith(t, files, p.log, flipped(files[p.log], at)), p.before(at))
	}
}

// rowsOf20KiB are writes of large rows.
func rowsOf20KiB(s *Store) (writes []func(ctx context.Context) error) {
	for n := range uint32(5) {
		writes = append(writes, func(ctx context.Context) error {
			return s.PutJournal(ctx, store.JournalRow{At: store.At(1, n+1), Blob: bytes.Repeat([]byte{byte(n)}, 20<<10)})
		})
	}
	return writes
}

// TestLargeLogWithFlippedBytes damages bytes of a write-ahead log of several blocks of 32 KiB. The archive must open
// as it was before the damaged write, or say that it is damaged. In this case it must leave the files as they are,
// so that it opens with everything once the log has its old bytes.
func TestLargeLogWithFlippedBytes(t *testing.T) {
	fs := vfs.NewMem()
	p := record(t, fs, rowsOf20KiB, func(*past) {})
	files, refused := readAll(t, fs), 0
	for at := 100; at < p.end(); at += 12_007 {
		log := flipped(files[p.log], at)
		disk := diskWith(t, files, p.log, log)
		s, err := openMemory(disk)
		if err == nil {
			if got := entriesOf(t, s); !maps.Equal(got, p.before(at)) {
				t.Errorf("byte %d: the archive has %d entries, want %d", at, len(got), len(p.before(at)))
			}
			closeStore(t, s)
			continue
		}
		refused++
		if same := bytes.Equal(read(t, disk, p.log), log); !same || !strings.Contains(err.Error(), "replaying WAL") {
			t.Errorf("byte %d: the error is %q, and the log has the same bytes: %v", at, err, same)
		}
		expect(t, fmt.Sprintf("byte %d, mended", at), diskWith(t, readAll(t, disk), p.log, files[p.log]), p.entries[5])
	}
	if refused == 0 {
		t.Error("the archive always opens, although many writes are lost")
	}
}

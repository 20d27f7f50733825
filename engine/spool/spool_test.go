package spool

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/sample"
)

func TestRowsAreSentInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := start(t, config(vfs.NewMem())), newArchive()
		for i := range 50 {
			for shard := range 4 {
				b.put(newRow(shard, 10*i, 10*i+10, pvOf(shard)))
			}
		}
		if c := b.Counts(); c.Waiting != 2000 || c.Kept != 2000 || b.Waiting(2) != 500 {
			t.Errorf("%+v, of shard 2 %d", c, b.Waiting(2))
		}
		to.setFail(always)
		b.drain(to)
		advance(time.Minute)
		if n := len(files(t, b.fs)); n != 1 {
			t.Errorf("while the store is unreachable there are %d files", n)
		}
		to.setFail(nil)
		advance(10 * time.Second)
		for shard := range 4 {
			if got := to.words(t, shard, pvOf(shard)); !slices.Equal(got, count(0, 500)) || to.stored[pvOf(shard)] != 500 {
				t.Errorf("shard %d: %d samples, %d counted", shard, len(got), to.stored[pvOf(shard)])
			}
			for _, c := range to.claims[shard] {
				if !c.Closed || c.Epoch != 8 || c.Last != to.rows[shard][49].At {
					t.Errorf("claim %+v", c)
				}
			}
		}
		if c := b.Counts(); c.Waiting != 0 || c.Sent != 2000 || len(b.Shards()) > 0 || b.bytesLocked() > 0 {
			t.Errorf("%+v", c)
		}
		// Later rows are in another segment, with another writer ID.
		b.put(newRow(1, 500, 510, pvOf(1)))
		advance(5 * time.Second)
		if got := to.words(t, 1, pvOf(1)); !slices.Equal(got, count(0, 510)) || len(to.claims[1]) != 2 || to.open() != 0 {
			t.Errorf("%d samples of %d writers", len(got), len(to.claims[1]))
		}
		b.stop()
		if names := files(t, b.fs); len(names) > 0 {
			t.Errorf("%v are left", names)
		}
	})
}

// TestFsyncsAreShared checks that shard journals that put rows at the same time share one
// fsync.
func TestFsyncsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &counting{FS: vfs.NewMem()}
		cfg := config(disk)
		cfg.Sync = 500 * time.Millisecond
		b := start(t, cfg)
		var shardJournals sync.WaitGroup
		for shard := range 1000 {
			shardJournals.Go(func() {
				time.Sleep(rand.N(500 * time.Millisecond))
				for i := range 20 {
					b.put(newRow(shard, i, i+1, "A"))
				}
			})
		}
		began := time.Now()
		shardJournals.Wait()
		took := time.Since(began)
		if most := int(took/cfg.Sync) + 3; disk.syncs > most || took > 15*time.Second {
			t.Errorf("%d fsyncs in %v", disk.syncs, took)
		}
		if n := b.Counts().Waiting; n != 20_000 {
			t.Errorf("%d samples", n)
		}
	})
}

// counting counts fsyncs.
type counting struct {
	vfs.FS
	syncs int
}

func (c *counting) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.Create(name, category)
	return countingFile{f, c}, err
}

type countingFile struct {
	vfs.File
	fs *counting
}

func (f countingFile) Sync() error {
	f.fs.syncs++
	return f.File.Sync()
}

func TestALargeBacklogIsSplitIntoPartitions(t *testing.T) {
	e := &file{ends: map[int]*end{}, out: discard()}
	row := newRow(0, 0, 10, "A")
	row.Blob = make([]byte, partBytes/4)
	var got []string
	for range 12 {
		if err := e.append(&row); err != nil {
			t.Fatal(err)
		}
		at := e.fresh[len(e.fresh)-1].at
		got = append(got, fmt.Sprintf("%d.%d", at.N(), at.Seq()))
	}
	if want := "1.1 1.2 1.3 1.4 2.1 2.2 2.3 2.4 3.1 3.2 3.3 3.4"; strings.Join(got, " ") != want {
		t.Errorf("positions %v, want %s", got, want)
	}
}

// TestRowsOfAnEarlierProcessAreSentFirst checks that a process finds the rows that an earlier
// process left, and sends them first.
func TestRowsOfAnEarlierProcessAreSentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, to := vfs.NewMem(), newArchive()
		for life := range 5 {
			b := start(t, config(fs))
			if n := b.Counts(); n.Waiting != 100*life || n.Kept != 0 {
				t.Errorf("life %d finds %+v", life, n)
			}
			for i := range 10 {
				b.put(newRow(1, 100*life+10*i, 100*life+10*i+10, "A"))
			}
			if got := b.held(1, "A"); !slices.Equal(got, count(0, 100*life+100)) {
				t.Errorf("life %d reads %d samples", life, len(got))
			}
			b.stop()
		}
		b := start(t, config(fs))
		b.drain(to)
		advance(10 * time.Second)
		if got := to.words(t, 1, "A"); !slices.Equal(got, count(0, 500)) || b.Counts().Waiting != 0 || len(to.stored) > 0 {
			t.Errorf("%d samples; counted as put by this process: %v", len(got), to.stored)
		}
		if got := b.held(1, "A"); len(got) > 0 {
			t.Errorf("%d samples are read from the spool though they are in the store", len(got))
		}
		advance(2 * linger)
		if names := files(t, fs); len(names) > 0 {
			t.Errorf("%v are left", names)
		}
	})
}

// TestAFileCutAtAnyByteKeepsItsCompleteRows checks that Open finds the complete rows of the
// last file, regardless of the byte at which the file ends.
func TestAFileCutAtAnyByteKeepsItsCompleteRows(t *testing.T) {
	fs := vfs.NewMem()
	b := start(t, config(fs))
	var ends []int64 // of the file, after each row
	for i := range 6 {
		b.put(newRow(i%2, 10*(i/2), 10*(i/2)+10, pvOf(i%2)))
		ends = append(ends, b.bytesLocked())
	}
	b.stop()
	name := files(t, fs)[0]
	text := readFile(t, fs, name)
	if int64(len(text)) != ends[5] {
		t.Fatalf("the file has %d bytes, want %d", len(text), ends[5])
	}
	for cut := range len(text) + 1 {
		for what, tail := range map[string][]byte{"cut": nil, "zeros": make([]byte, 100), "other bytes": slices.Repeat([]byte("x"), 100)} {
			fs := vfs.NewMem()
			writeFile(t, fs, name, slices.Concat(text[:cut], tail))
			b := start(t, config(fs))
			rows := 0
			for rows < 6 && ends[rows] <= int64(cut) {
				rows++
			}
			for shard := range 2 {
				want := count(0, 10*((rows+1-shard)/2))
				if got := b.held(shard, pvOf(shard)); !slices.Equal(got, want) {
					t.Fatalf("%d bytes and %s: %d samples of shard %d are found, want %d", cut, what, len(got), shard, len(want))
				}
			}
			b.stop()
		}
	}
}

// TestAPowerCutLosesNoAcknowledgedRow simulates power cuts that lose unsynchronized bytes or
// keep some of them.
func TestAPowerCutLosesNoAcknowledgedRow(t *testing.T) { cutPower(t, 5) }

// TestLong_APowerCutLosesNoAcknowledgedRow is TestAPowerCutLosesNoAcknowledgedRow with more
// seeds.
func TestLong_APowerCutLosesNoAcknowledgedRow(t *testing.T) { cutPower(t, 1) }

// cutPower simulates a power cut with every seed below 60 that is a multiple of every. The
// seed is also the percentage of the unsynchronized bytes that are kept.
func cutPower(t *testing.T, every uint64) {
	for seed := uint64(0); seed < 60; seed += every {
		fs := vfs.NewCrashableMem()
		cfg := config(fs)
		cfg.Sync = time.Millisecond
		b := start(t, cfg)
		var mu sync.Mutex
		acked := map[int]int{}
		var crashed *vfs.MemFS
		var then map[int]int
		var shardJournals sync.WaitGroup
		rng := rand.New(rand.NewPCG(seed, 1))
		crashAt := rng.IntN(40)
		for shard := range 4 {
			shardJournals.Go(func() {
				for i := range 40 {
					b.put(newRow(shard, 100*i, 100*i+100, pvOf(shard)))
					mu.Lock()
					acked[shard] = 100*i + 100
					if i == crashAt && crashed == nil {
						then = map[int]int{}
						for s, n := range acked {
							then[s] = n
						}
						crashed = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed) % 101, RNG: rng})
					}
					mu.Unlock()
				}
			})
		}
		shardJournals.Wait()
		b.stop()
		b = start(t, config(crashed))
		for shard := range 4 {
			got := b.held(shard, pvOf(shard))
			if len(got) < then[shard] || !slices.Equal(got[:then[shard]], count(0, then[shard])) {
				t.Fatalf("seed %d: %d samples of shard %d are found, %d were acknowledged", seed, len(got), shard, then[shard])
			}
		}
		b.stop()
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	cfg := config(vfs.Default)
	cfg.Dir = t.TempDir()
	b := start(t, cfg)
	if _, err := Open(config2(cfg)); err == nil || !strings.Contains(err.Error(), cfg.Dir) {
		t.Errorf("a second process gets %v", err)
	}
	b.stop()
	b = start(t, config2(cfg))
	b.stop()
}

// config2 returns a configuration with a registry of its own.
func config2(cfg Config) Config {
	cfg.Registerer = config(nil).Registerer
	return cfg
}

func TestAFileOfAnotherArchiveIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	b := start(t, config(fs))
	b.put(newRow(1, 0, 10, "A"))
	b.stop()
	cfg := config(fs)
	cfg.Archive = "the keyspace other, with 4 shards"
	_, err := Open(cfg)
	if !errors.Is(err, ErrOtherArchive) || !strings.Contains(err.Error(), testArchive) || !strings.Contains(err.Error(), cfg.Archive) {
		t.Errorf("a process of another archive gets %v", err)
	}
	b = start(t, config(fs))
	if got := b.held(1, "A"); !slices.Equal(got, count(0, 10)) {
		t.Errorf("a process of the right archive finds %d samples", len(got))
	}
}

// TestAFileThatCannotBeReadStays checks that a file that cannot be read, or that a later version
// wrote, keeps neither new rows nor those in other files from being sent, and stays.
func TestAFileThatCannotBeReadStays(t *testing.T) {
	for name, spoil := range map[string]func(fs *faultyFS, name string){
		"a later version": func(fs *faultyFS, name string) {
			text := append(appendHeader(nil, &header{version: 2, archive: testArchive}), readFile(t, fs, name)...)
			writeFile(t, fs, name, text)
		},
		"an error of the disk": func(fs *faultyFS, name string) { fs.unreadable.Store(&name) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs, to := &faultyFS{FS: vfs.NewMem()}, newArchive()
				for i := range 2 {
					b := start(t, config(fs))
					b.put(newRow(1, 10*i, 10*i+10, "A"))
					b.stop()
				}
				bad := files(t, fs)[0]
				spoil(fs, bad)
				b := start(t, config(fs))
				b.put(newRow(1, 20, 30, "A"))
				b.drain(to)
				advance(2 * linger)
				if got := to.words(t, 1, "A"); !slices.Equal(got, count(10, 30)) {
					t.Errorf("the values %v are sent", got)
				}
				if names := files(t, fs); !slices.Equal(names, []string{bad}) {
					t.Errorf("the directory holds %v, want %s", names, bad)
				}
			})
		})
	}
}

// TestAFileThatCannotBeReadForAWhile checks that rows in newer files do not wait for a file that
// the drainer cannot read, and that the rows of that file follow when it can be read again.
func TestAFileThatCannotBeReadForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, to := &faultyFS{FS: vfs.NewMem()}, newArchive()
		for i := range 2 {
			b := start(t, config(fs))
			b.put(newRow(1, 10*i, 10*i+10, "A"))
			b.stop()
		}
		b := start(t, config(fs))
		fs.unreadable.Store(&files(t, fs)[0])
		b.drain(to)
		advance(10 * time.Second)
		if got := to.words(t, 1, "A"); !slices.Equal(got, count(10, 20)) {
			t.Errorf("while the first file cannot be read, the values %v are sent", got)
		}
		fs.unreadable.Store(new(string))
		advance(2 * rereadAfter)
		if got := to.words(t, 1, "A"); !slices.Equal(got, append(count(10, 20), count(0, 10)...)) && !slices.Equal(got, count(0, 20)) {
			t.Errorf("in the end the values %v are sent", got)
		}
	})
}

// faultyFS is a file system on which one file cannot be read.
type faultyFS struct {
	vfs.FS
	unreadable atomic.Pointer[string]
}

func (f *faultyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if bad := f.unreadable.Load(); bad != nil && *bad != "" && strings.HasSuffix(name, *bad) {
		return nil, errors.New("input/output error")
	}
	return f.FS.Open(name, opts...)
}

// TestADamagedHeaderOfARow checks that a record header that cannot be read loses only its row, which
// is reported, and blocks nothing behind it.
func TestADamagedHeaderOfARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, to := vfs.NewMem(), newArchive()
		b := start(t, config(fs))
		var at []int64
		for i := range 10 {
			at = append(at, b.bytesLocked())
			b.put(newRow(1, 10*i, 10*i+10, "A"))
		}
		text := readFile(t, fs, files(t, fs)[0])
		text[at[4]+3] ^= 1
		writeFile(t, fs, files(t, fs)[0], text)
		b.drain(to)
		advance(5 * time.Second)
		if got := to.words(t, 1, "A"); !slices.Equal(got, slices.Concat(count(0, 40), count(50, 100))) || b.Counts().Waiting != 0 {
			t.Errorf("the values %v are sent, and %d samples wait", got, b.Counts().Waiting)
		}
		if lost := to.damaged; len(lost) != 1 || lost[0].Reason != sample.Damaged || lost[0].Count != 10 {
			t.Errorf("reported as lost: %+v", lost)
		}
		if c := b.Counts(); c.Dropped != 10 || c.Sent != 90 {
			t.Errorf("%+v", c)
		}
	})
}

// TestDamageLosesAsLittleAsPossible checks that a damaged row loses only its own samples, and
// that a file with a damaged header is renamed.
func TestDamageLosesAsLittleAsPossible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, to := vfs.NewMem(), newArchive()
		b := start(t, config(fs))
		var at []int64
		for i := range 10 {
			at = append(at, b.bytesLocked())
			b.put(newRow(1, 10*i, 10*i+10, "A"))
		}
		b.stop()
		name := files(t, fs)[0]
		text := readFile(t, fs, name)
		text[at[4]+recordSize+12] ^= 1
		writeFile(t, fs, name, text)
		writeFile(t, fs, fileName(77), slices.Repeat([]byte("no spool"), 1000))
		writeFile(t, fs, "notes.txt", []byte("not ours"))
		b = start(t, config(fs))
		b.drain(to)
		advance(5 * time.Second)
		if got := to.words(t, 1, "A"); !slices.Equal(got, append(count(0, 40), count(50, 100)...)) || b.Counts().Waiting != 0 {
			t.Errorf("the values %v are sent", got)
		}
		advance(2 * linger)
		if names := files(t, fs); !slices.Equal(names, []string{fileName(77) + ".damaged", "notes.txt"}) {
			t.Errorf("the directory holds %v", names)
		}
	})
}

func readFile(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open("spool/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t *testing.T, fs vfs.FS, name string, text []byte) {
	t.Helper()
	err := fs.MkdirAll("spool", 0o700)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create("spool/"+name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(slices.Clone(text))
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

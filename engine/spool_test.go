package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/engine/store"
)

// openSpool opens a spool that is closed at the end of the test, after the engine.
func openSpool(t *testing.T, fs vfs.FS) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Config{
		Dir: "spool", Archive: "test", Size: spool.MinSize, Sync: 5 * time.Millisecond, FS: fs,
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// spooling launches an engine that has a spool and captures A and B.
func spooling(t *testing.T, st store.Store, fs vfs.FS) *life {
	l := launch(t, st, &taps{}, Options{Checkpoint: 20 * time.Millisecond, Spool: openSpool(t, fs)})
	l.assign("A", "B")
	return l
}

// spoolAll sends values of A and B while the store is unreachable and waits until all are on
// the disk. Shard journals wait some seconds before they spool samples.
func (l *life) spoolAll(t *testing.T, from, to int) {
	t.Helper()
	for _, pv := range []string{"A", "B"} {
		l.source.send(pv, from, to)
	}
	eventually(t, "all samples are in the spool", func() bool {
		s := l.Summary()
		if s.Dropped[sample.Overflow] > 0 {
			t.Fatalf("%d samples are dropped", s.Dropped[sample.Overflow])
		}
		kept := l.opts.Spool.Counts().Kept
		return kept > 0 && s.Pending == kept
	})
}

// checkCounts fails the test unless n samples of each PV count as stored.
func (l *life) checkCounts(t *testing.T, n uint64) {
	t.Helper()
	for _, pv := range []string{"A", "B"} {
		if s, _ := l.Capture().Status(pv); s.Stored != n || s.Received != n {
			t.Errorf("%s: %d samples received, %d stored, instead of %d", pv, s.Received, s.Stored, n)
		}
	}
	if s := l.Summary(); s.Stored != 2*n || s.Pending != 0 || s.Spooled != 0 {
		t.Errorf("summary: %+v", s)
	}
}

// TestAnOutageWithASpool checks that all samples are readable at every moment of an outage. At
// the end they must be stored in order and exactly once.
func TestAnOutageWithASpool(t *testing.T) {
	t.Parallel() // it waits for most of the time
	st := openStore(t)
	l := spooling(t, st, vfs.NewMem())
	sent := 0
	for range 2 {
		for _, pv := range []string{"A", "B"} {
			l.source.send(pv, sent, sent+1000)
		}
		sent += 1000
		eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
		l.store.dead.Store(true)
		l.spoolAll(t, sent, sent+8000)
		sent += 8000
		wantAll(t, l.reader, "A", sent, "while the store is away")
		if got := l.Held(); !slices.Contains(got, 0) || !slices.Contains(got, 1) || l.ShardStatus(0).Unsaved != 8000 {
			t.Errorf("the engine holds shards %v; the status is %+v", got, l.ShardStatus(0))
		}
		if got := slices.Sorted(maps.Keys(l.Waiting())); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("samples of the shards %v wait, want 0 and 1", got)
		}
		if err := l.Delete(deadline(t), 0, []string{"X"}); err == nil {
			t.Error("data is deleted while samples of the shard wait in the spool")
		}
		l.store.dead.Store(false)
		for l.Summary().Spooled > 0 {
			for _, pv := range []string{"A", "B"} {
				l.source.send(pv, sent, sent+10)
			}
			sent += 10
			wantAll(t, l.reader, "A", sent, "while the spool is drained")
		}
		wantAll(t, l.reader, "A", sent, "when the spool is empty")
	}
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	l.checkCounts(t, uint64(sent))
	eventually(t, "no samples wait", func() bool { return len(l.Waiting()) == 0 })
	eventually(t, "the claims of the spool are dropped", func() bool { return len(claims(t, st, 0)) == 1 && len(claims(t, st, 1)) == 1 })
	l.end()
	cold := &query.Reader{Store: st, Shards: 4}
	for _, pv := range []string{"A", "B"} {
		wantAll(t, cold, pv, sent, "at the end")
		if kinds := marks(t, st, pv); len(kinds) > 0 {
			t.Errorf("%s: marks %v", pv, kinds)
		}
	}
}

// inShards is an engine whose readers know in which shards a PV has been.
type inShards struct {
	*life
	shards []int
}

func (e inShards) Recent(ctx context.Context, q query.RecentRequest) query.Held {
	q.Shards = e.shards
	held := e.life.Recent(ctx, q)
	held.Known, held.Shards = true, append(held.Shards, e.shards...)
	return held
}

// TestAShardIsGivenUpDuringAnOutage checks a reader that requests a shard by number. It must
// find samples in the spool of an engine that has released the shard, even if the PV's name
// belongs to another shard.
func TestAShardIsGivenUpDuringAnOutage(t *testing.T) {
	t.Parallel() // it waits for most of the time
	st := openStore(t)
	l := launch(t, st, &taps{}, Options{Checkpoint: 20 * time.Millisecond, Spool: openSpool(t, vfs.NewMem())})
	other := (pvname.Shard("A", 4) + 1) % 4
	l.Apply(one(other, true, "A"))
	l.source.send("A", 0, 1000)
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	l.store.dead.Store(true)
	l.source.send("A", 1000, 9000)
	eventually(t, "all samples are in the spool", func() bool { return l.opts.Spool.Waiting(other) == 8000 })
	l.Apply(Assignment{})
	reader := &query.Reader{Store: st, Recent: inShards{l, []int{other}}, Shards: 4}
	wantAll(t, reader, "A", 9000, "while the store is away")
	for _, named := range []bool{true, false} { // an answer covers the writer only if it has its spooled samples
		q := query.RecentRequest{PV: "A", From: query.Earliest, To: query.Latest}
		if named {
			q.Shards = []int{other}
		}
		w := claims(t, st, other)[0].Writer
		if got := slices.Contains(l.Recent(t.Context(), q).Covers, w); got != named {
			t.Errorf("a request names the shard: %v, and the answer covers its writer: %v", named, got)
		}
	}
	l.store.dead.Store(false)
	for l.Summary().Spooled > 0 {
		wantAll(t, reader, "A", 9000, "while the spool is drained")
	}
	wantAll(t, reader, "A", 9000, "when the spool is empty")
}

// TestASpoolThatCannotBeReadFailsReads checks that a read fails, instead of omitting samples,
// if the disk with spooled samples cannot be read.
func TestASpoolThatCannotBeReadFailsReads(t *testing.T) {
	t.Parallel() // it waits for most of the time
	var broken atomic.Bool
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind == errorfs.OpFileReadAt {
			return errors.New("the disk is broken")
		}
		return nil
	}))
	l := spooling(t, openStore(t), disk)
	l.store.dead.Store(true)
	l.spoolAll(t, 0, 8000)
	wantAll(t, l.reader, "A", 8000, "while the store is away")
	broken.Store(true)
	if _, err := l.reader.Read(t.Context(), "A", query.Earliest, query.Latest, query.Options{}); !errors.Is(err, query.ErrNoAnswer) {
		t.Errorf("a read gives %v", err)
	}
	if known, err := l.reader.Known(t.Context(), "A"); !known || err != nil {
		t.Errorf("A is known: %v, %v", known, err)
	}
	broken.Store(false)
	l.store.dead.Store(false)
	wantAll(t, l.reader, "A", 8000, "when the disk is back")
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestDeleteBesideASpool checks that a deletion is refused while spooled samples would bring
// data back, even if the store accepts rows.
func TestDeleteBesideASpool(t *testing.T) {
	t.Parallel() // it waits for most of the time
	st := &refusing{Store: openStore(t)}
	l := spooling(t, st, vfs.NewMem())
	eventually(t, "the shard is sealed", func() bool { s := l.ShardStatus(0); return s.Sealing && s.Claimed })
	l.store.dead.Store(true)
	l.spoolAll(t, 0, 8000)
	st.late.Store(true) // this refuses the claims of the spool's writers
	l.store.dead.Store(false)
	eventually(t, "the shard journal is back", func() bool { return l.Storage() == "" })
	l.assign("B")
	if err := l.Delete(t.Context(), 0, []string{"A"}); !errors.Is(err, ErrSpooled) {
		t.Errorf("deleting gives %v", err)
	}
	st.late.Store(false)
	eventually(t, "the spool is drained", func() bool { return l.Summary().Spooled == 0 })
	l.assign("A", "B")
	wantAll(t, l.reader, "A", 8000, "the PV that was not deleted")
}

// TestStopAndKillDuringAnOutage ends the process while the store is unreachable. An orderly
// stop must lose nothing. A kill may lose only the samples that are not on the disk.
func TestStopAndKillDuringAnOutage(t *testing.T) {
	t.Parallel() // it waits for most of the time
	st, fs := openStore(t), vfs.NewCrashableMem()
	l := spooling(t, st, fs)
	for _, pv := range []string{"A", "B"} {
		l.source.send(pv, 0, 1000)
	}
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	l.store.dead.Store(true)
	for _, pv := range []string{"A", "B"} {
		l.source.send(pv, 1000, 1010) // too few to spool: they wait in memory
	}
	if n := l.end(); n != 0 {
		t.Fatalf("%d samples are lost at the stop", n)
	}
	if s := l.Summary(); s.Spooled != 20 {
		t.Errorf("%d samples wait in the spool", s.Spooled)
	}
	if err := l.opts.Spool.Close(); err != nil {
		t.Fatal(err)
	}

	l = launch(t, st, &taps{}, Options{Checkpoint: 20 * time.Millisecond, Spool: openSpool(t, fs)})
	l.store.dead.Store(true)
	l.assign("A", "B")
	l.spoolAll(t, 1010, 9000)
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	l.source.send("A", 9000, 9100) // these samples die with the process
	l.end()

	l = spooling(t, st, crashed)
	eventually(t, "the spool is drained", func() bool { return l.Summary().Spooled == 0 })
	wantAll(t, l.reader, "A", 9000, "after the second start")
	l.source.send("A", 9100, 9200)
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	if got := values(t, l.reader, "A"); !slices.Equal(got, append(count(0, 9000), count(9100, 9200)...)) {
		t.Errorf("%d samples are read", len(got))
	}
	if s := l.Summary(); s.Stored != 100 {
		t.Errorf("%d samples of this process count as stored, instead of 100", s.Stored)
	}
}

// TestDamageInTheSpoolIsMarked checks that one changed byte in the spool loses one row at most, and
// that each PV that misses samples has a mark. The engine finds the damage before it captures
// the PVs, and the directory does not have them yet.
func TestDamageInTheSpoolIsMarked(t *testing.T) {
	t.Parallel() // it waits for most of the time
	// The sizes of the headers of a file and of a row are in docs/format/spool.md.
	file := int64(len("varvespl") + 1 + len(store.WriterID{}) + 8 + 2 + len("test") + 4)
	for name, at := range map[string]int64{"the header of a row": file + 3, "the body of a row": file + 36 + 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, fs := openStore(t), vfs.NewMem()
			l := spooling(t, st, fs)
			l.store.dead.Store(true)
			for i := range 4 { // so that a shard has several rows
				l.spoolAll(t, 1000*i, 1000*(i+1))
			}
			l.end()
			if err := l.opts.Spool.Close(); err != nil {
				t.Fatal(err)
			}
			changeByte(t, fs, "spool/0000000000000001.spool", at)

			l = launch(t, st, &taps{}, Options{Checkpoint: 20 * time.Millisecond, Spool: openSpool(t, fs)})
			eventually(t, "the spool is drained", func() bool { return l.Summary().Spooled == 0 })
			l.assign("A", "B")
			lost := 0
			for _, pv := range []string{"A", "B"} {
				n := 4000 - len(values(t, l.reader, pv))
				if lost += n; n > 0 {
					eventually(t, "the loss of "+pv+" is marked", func() bool { return l.damageIsMarked(t, pv) })
				}
			}
			if lost == 0 || lost > 1000 {
				t.Errorf("%d of 8000 samples are lost because a byte changed", lost)
			}
		})
	}
}

// damageIsMarked reports whether a mark says that samples of a PV are lost because of damage.
func (l *life) damageIsMarked(t *testing.T, pv string) bool {
	t.Helper()
	for m, err := range l.reader.Marks(t.Context(), pv, 0, time.Now().UnixNano()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == sample.Lost && m.Reason == sample.Damaged {
			return true
		}
	}
	return false
}

// changeByte changes a bit of a file.
func changeByte(t *testing.T, fs vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{b[0] ^ 1}, at); err != nil {
		t.Fatal(err)
	}
}

// refusing is a store that can refuse the claims of late writers.
type refusing struct {
	store.Store
	late atomic.Bool
}

func (r *refusing) PutClaim(ctx context.Context, c store.Claim) error {
	if r.late.Load() && c.Epoch > 1 {
		return errDead
	}
	return r.Store.PutClaim(ctx, c)
}

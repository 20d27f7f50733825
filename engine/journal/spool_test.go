package journal

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// fakeSpool is a spool that keeps rows in order, and fails on request.
type fakeSpool struct {
	mu   sync.Mutex
	err  error
	rows []SpoolRow
}

func (d *fakeSpool) Put(rows []SpoolRow) error {
	time.Sleep(20 * time.Millisecond) // the time of an fsync
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.rows = append(d.rows, rows...)
	}
	return d.err
}

func (d *fakeSpool) Waits(int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.rows) > 0
}

// drain empties the spool, as if the store had accepted its rows.
func (d *fakeSpool) drain() {
	d.mu.Lock()
	d.rows = nil
	d.mu.Unlock()
}

func (d *fakeSpool) fail(err error) {
	d.mu.Lock()
	d.err = err
	d.mu.Unlock()
}

// words returns the values of a PV in all rows, in order.
func (d *fakeSpool) words(t *testing.T, pv string) (out []uint64) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rows {
		runs, err := Find(store.JournalRow{Index: r.Index, Blob: r.Blob}, pv)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, run := range runs {
			out = append(out, run.Words...)
			n += run.Len()
		}
		if n != r.Samples {
			t.Fatalf("a row of %d samples claims to have %d", n, r.Samples)
		}
	}
	return out
}

func refuse(*store.JournalRow) error { return errUnreachable }

// feed appends samples, one every 10 ms.
func (b *fixture) feed(h *Head, from, to int) {
	for i := from; i < to; i++ {
		b.Append(h, sample.Int64, number(i))
		testclock.Advance(10 * time.Millisecond)
	}
}

func TestAShortOutageDoesNotTouchTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 1<<20, d)
		h := b.Open("a", sample.Int64)
		b.feed(h, 0, 100)
		b.store.setFail(refuse)
		b.feed(h, 100, 400) // 3 s
		b.store.setFail(nil)
		b.feed(h, 400, 800)
		if n := b.stop(); n != 0 || len(d.rows) > 0 {
			t.Errorf("%d samples unsaved, %d rows spooled", n, len(d.rows))
		}
		if d := cmp.Diff(upTo(0, 800), b.store.words(t, "a")); d != "" {
			t.Errorf("journal (-want +got):\n%s", d)
		}
	})
}

// TestALongOutageIsSpooled checks that samples leave memory for the spool in a long outage.
// When the store is back, new samples go to it at once. No position is used for two rows,
// whether or not the row under way reached the store.
func TestALongOutageIsSpooled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 1<<20, d)
		h := b.Open("a", sample.Int64)
		b.feed(h, 0, 100)
		testclock.Advance(time.Second)
		used := b.mem.Used()
		var refused []store.JournalRow
		b.store.setFail(func(r *store.JournalRow) error {
			if r != nil {
				refused = append(refused, *r)
			}
			return errUnreachable
		})
		b.feed(h, 100, 6100) // a minute
		testclock.Advance(time.Second)
		if got := d.words(t, "a"); !slices.Equal(got, upTo(100, 6100)) {
			t.Fatalf("the spool has %d samples, not exactly those of the outage", len(got))
		}
		if now := b.mem.Used(); now > used+1000 || !b.Failing() || b.Unsaved() != 0 {
			t.Errorf("%d samples take %d bytes; before the outage %d bytes were in use", b.Unsaved(), now, used)
		}
		b.store.setFail(nil)
		testclock.Advance(5 * time.Second) // a try to insert the claim may be under way
		b.feed(h, 6100, 6200)
		testclock.Advance(time.Second)
		want := append(upTo(0, 100), upTo(6100, 6200)...)
		if diff := cmp.Diff(want, b.store.words(t, "a")); diff != "" || b.Failing() {
			t.Errorf("journal (-want +got):\n%s", diff)
		}
		var r sample.Run
		if n := h.Unsealed(&r, 1<<20); !slices.Equal(r.Words, want) {
			t.Errorf("%d samples can be sealed, not exactly those in the journal", n)
		}
		for i, row := range b.store.rows {
			if i > 0 && row.At <= b.store.rows[i-1].At || slices.ContainsFunc(refused, func(r store.JournalRow) bool { return r.At == row.At }) {
				t.Errorf("row %x follows row %x, which may be in the store", row.At, refused[0].At)
			}
		}
		if c := b.store.claims[store.WriterID{1}]; c.Closed || time.Since(time.Unix(0, c.Alive)) > 2*RenewEvery {
			t.Errorf("the claim after the outage: %+v", c)
		}
		d.drain()
		if n := b.stop(); n != 0 || len(b.lost) > 0 {
			t.Errorf("%d samples unsaved, %v lost", n, b.lost)
		}
		if c := b.store.claims[store.WriterID{1}]; !c.Closed || c.Last != b.Acked() {
			t.Errorf("the claim after the end: %+v", c)
		}
	})
}

// TestAClaimStaysOpenWhileRowsWaitInTheSpool releases a shard when rows of it wait in the spool, and
// the store is back. The claim is the only record in the store of these samples, so it must stay open,
// must be renewed, and must say that they are not saved, until the spool has sent them. If the process
// ends before that, it stays open.
func TestAClaimStaysOpenWhileRowsWaitInTheSpool(t *testing.T) {
	for name, sent := range map[string]bool{"sent": true, "never sent": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &fakeSpool{}
				st := &faulty{}
				b := startShardJournal(t, 1<<20, d, st)
				h := b.Open("a", sample.Int64)
				b.feed(h, 0, 100)
				testclock.Advance(time.Second)
				outage := time.Now()
				b.store.setFail(refuse)
				b.feed(h, 100, 2100) // 20 s
				b.store.setFail(nil)
				testclock.Advance(10 * time.Second)
				ended := make(chan int, 1)
				go func() { ended <- b.stop() }()
				claim := func() store.Claim {
					b.store.mu.Lock()
					defer b.store.mu.Unlock()
					return b.store.claims[store.WriterID{1}]
				}
				testclock.Advance(4 * time.Second)
				if c := claim(); c.Closed || c.Saved > outage.UnixNano() || time.Since(time.Unix(0, c.Alive)) > 2*RenewEvery || !b.AwaitsSpool() {
					t.Errorf("while rows wait, the claim is %+v, and AwaitsSpool is %v", c, b.AwaitsSpool())
				}
				if sent {
					d.drain()
				}
				testclock.Advance(2 * time.Second)
				if n := <-ended; n != 0 {
					t.Errorf("%d samples unsaved", n)
				}
				if c := claim(); c.Closed != sent {
					t.Errorf("at the end, closed is %v", c.Closed)
				}
			})
		})
	}
}

// TestNoPartitionIsLeftEmpty checks that a partition whose first row was abandoned gets
// another row, because readers stop at an empty partition.
func TestNoPartitionIsLeftEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 1<<20, d)
		h := b.Open("a", sample.Int64)
		for i := range 4 {
			b.feed(h, 200*i, 200*i+100)
			testclock.Advance(partitionAge)
			b.store.setFail(refuse)
			b.feed(h, 200*i+100, 200*i+200)
			testclock.Advance(10 * time.Second)
			b.store.setFail(nil)
			testclock.Advance(5 * time.Second)
		}
		b.stop()
		n := uint32(0)
		for _, r := range b.store.rows {
			if r.At.N() > n+1 {
				t.Errorf("partition %d follows partition %d", r.At.N(), n)
			}
			n = r.At.N()
		}
		if got := append(b.store.words(t, "a"), d.words(t, "a")...); len(got) != 800 {
			t.Errorf("%d samples of 800", len(got))
		}
	})
}

func TestShortMemoryIsSpooledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 100_000, d)
		h := b.Open("a", sample.Int64)
		testclock.Advance(time.Second)
		b.store.setFail(refuse)
		for i := range 20_000 { // 400 kB in 10 s
			b.Append(h, sample.Int64, number(i))
			testclock.Advance(500 * time.Microsecond)
			if i == 9_000 && len(d.words(t, "a")) == 0 {
				t.Error("the spool is still empty after 4.5 s, when memory is full")
			}
		}
		testclock.Advance(time.Second)
		b.store.setFail(nil)
		b.stop()
		got := append(d.words(t, "a"), b.store.words(t, "a")...)
		if !slices.Equal(got, upTo(0, 20_000)) || h.Lost() > 0 {
			t.Errorf("%d samples, %d lost", len(got), h.Lost())
		}
	})
}

// TestAFailingSpoolLosesNothingElse checks that a shard journal whose spool fails works as if
// it had no spool: it loses no further samples, and sends none twice.
func TestAFailingSpoolLosesNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 1<<20, d)
		h := b.Open("a", sample.Int64)
		b.feed(h, 0, 100)
		b.store.setFail(refuse)
		b.feed(h, 100, 1000)
		d.fail(errors.New("no space left on device"))
		b.feed(h, 1000, 4000)
		waiting := b.Unsaved()
		if waiting < 2900 {
			t.Errorf("%d samples wait in memory", waiting)
		}
		d.fail(nil)
		b.feed(h, 4000, 6000)
		if n := b.Unsaved(); n > 20 {
			t.Errorf("%d samples wait in memory, though the spool takes them again", n)
		}
		d.fail(errors.New("input/output error"))
		b.feed(h, 6000, 8000)
		b.store.setFail(nil)
		testclock.Advance(5 * time.Second)
		b.stop()
		got := append(b.store.words(t, "a"), d.words(t, "a")...)
		slices.Sort(got)
		if !slices.Equal(got, upTo(0, 8000)) {
			t.Errorf("%d samples of 8000, or some of them twice", len(got))
		}
		for _, words := range [][]uint64{b.store.words(t, "a"), d.words(t, "a")} {
			if !slices.IsSorted(words) {
				t.Errorf("not in order: %v", words)
			}
		}
	})
}

// TestWithoutASpoolMemoryOverflowsWithMarks checks that samples that do not fit into memory
// are dropped and marked while the spool fails.
func TestWithoutASpoolMemoryOverflowsWithMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{err: errors.New("no space left on device")}
		b := newSpoolingShardJournal(t, 20_000, d)
		h := b.Open("a", sample.Int64)
		b.store.setFail(refuse)
		b.feed(h, 0, 5000)
		b.store.setFail(nil)
		testclock.Advance(5 * time.Second)
		b.stop()
		got := b.store.words(t, "a")
		marked := 0
		for _, m := range b.lost {
			marked += int(m.Count)
		}
		if len(got) == 0 || marked == 0 || len(got)+marked != 5000 || uint64(marked) != h.Lost() {
			t.Errorf("%d stored + %d marked of 5000, %d counted", len(got), marked, h.Lost())
		}
	})
}

func TestStopSpoolsWaitingSamples(t *testing.T) {
	for name, outage := range map[string]time.Duration{"at once": 0, "soon": 2 * time.Second, "late": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &fakeSpool{}
				b := newSpoolingShardJournal(t, 1<<20, d)
				h := b.Open("a", sample.Int64)
				b.feed(h, 0, 50)
				testclock.Advance(time.Second)
				b.store.setFail(refuse)
				b.feed(h, 50, 150)
				testclock.Advance(outage)
				if n := b.stop(); n != 0 {
					t.Errorf("%d samples unsaved", n)
				}
				if got := append(b.store.words(t, "a"), d.words(t, "a")...); !slices.Equal(got, upTo(0, 150)) {
					t.Errorf("%d samples of 150", len(got))
				}
			})
		})
	}
}

// TestTheClaimPrecedesTheFirstRow checks that the claim is inserted before the first row if
// the store is unreachable at first, and that it covers the samples from before.
func TestTheClaimPrecedesTheFirstRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, began := &fakeSpool{}, time.Now().UnixNano()
		b := startShardJournal(t, 1<<20, d, &faulty{fail: refuse})
		h := b.Open("a", sample.Int64)
		b.feed(h, 0, 1000)
		if n := len(d.words(t, "a")); n < 900 {
			t.Errorf("the spool has %d samples", n)
		}
		select {
		case <-b.Claimed():
			t.Error("the shard counts as claimed")
		default:
		}
		b.store.setFail(func(r *store.JournalRow) error {
			if r != nil && b.store.claims[r.Writer].Epoch != 5 {
				t.Errorf("a row was written before the claim")
			}
			return nil
		})
		testclock.Advance(5 * time.Second)
		<-b.Claimed()
		b.feed(h, 1000, 1100)
		b.stop()
		if c := b.store.claims[store.WriterID{1}]; c.Since > began {
			t.Errorf("by its claim the writer has captured only for %v, want since the start", time.Duration(c.Alive-c.Since))
		}
		if got := append(d.words(t, "a"), b.store.words(t, "a")...); !slices.Equal(got, upTo(0, 1100)) {
			t.Errorf("%d samples of 1100", len(got))
		}
	})
}

// TestAHangingStoreDelaysNoSample checks that samples go to the spool while the store does not
// answer.
func TestAHangingStoreDelaysNoSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 1<<20, d)
		h := b.Open("a", sample.Int64)
		b.feed(h, 0, 100)
		testclock.Advance(time.Second)
		b.store.hang(true)
		b.feed(h, 100, 3100) // 30 s
		if n := b.Unsaved(); n > 20 {
			t.Errorf("%d samples wait in memory", n)
		}
		b.store.hang(false)
		testclock.Advance(15 * time.Second)
		b.feed(h, 3100, 3200)
		b.stop()
		got := append(b.store.words(t, "a"), d.words(t, "a")...)
		slices.Sort(got)
		if !slices.Equal(got, upTo(0, 3200)) {
			t.Errorf("%d samples of 3200", len(got))
		}
	})
}

// TestSyncWaitsForTheStore checks that Sync waits until samples are in the store, and not only
// in the spool.
func TestSyncWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 1<<20, d)
		defer b.stop()
		h := b.Open("a", sample.Int64)
		testclock.Advance(time.Second)
		b.store.setFail(refuse)
		b.Append(h, sample.Int64, number(1))
		synced := make(chan error, 1)
		go func() { synced <- b.Sync(context.Background()) }()
		testclock.Advance(time.Minute)
		if len(synced) > 0 || len(d.words(t, "a")) != 1 {
			t.Errorf("Sync returned: %v, with %d samples in the spool", len(synced) > 0, len(d.words(t, "a")))
		}
		b.store.setFail(nil)
		testclock.Advance(10 * time.Second)
		if len(synced) == 0 {
			t.Error("Sync did not return when the store was back")
		}
	})
}

// TestLargeValuesAreSpooled checks that spooled values that are bytes leave memory too, and
// that they do not change for a reader that holds them.
func TestLargeValuesAreSpooled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeSpool{}
		b := newSpoolingShardJournal(t, 4<<20, d)
		h := b.Open("a", sample.Uint8.Array())
		image := func(i int) *sample.Sample {
			return &sample.Sample{Time: int64(i), Bytes: slices.Repeat([]byte{byte(i)}, 200_000)}
		}
		b.Append(h, h.Type(), image(0))
		testclock.Advance(time.Second)
		b.store.setFail(refuse)
		seen := map[int]*sample.Run{}
		for i := 1; i < 100; i++ {
			b.Append(h, h.Type(), image(i))
			for _, r := range b.Recent("a", math.MinInt64, math.MaxInt64) {
				seen[i] = r
			}
			testclock.Advance(time.Second)
		}
		if used := b.mem.Used(); used > 1<<20 || h.Lost() > 0 {
			t.Errorf("%d bytes are in use, %d images lost", used, h.Lost())
		}
		for i, r := range seen {
			for k := range r.Len() {
				if r.Value(k)[0] != byte(r.Times[k]) || r.Value(k)[199_999] != byte(r.Times[k]) {
					t.Fatalf("image %d changed while a reader held it", i)
				}
			}
		}
		b.stop()
		if n := len(d.rows); n < 90 {
			t.Errorf("the spool has %d images", n)
		}
	})
}

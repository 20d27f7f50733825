package journal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// fixture is a running shard journal with its store and its recorded losses.
type fixture struct {
	*ShardJournal
	store *faulty
	lost  []sample.Mark
	stop  func() int
}

// newShardJournal starts a shard journal with a flush interval of 100 ms; stop closes it in order.
func newShardJournal(t *testing.T, memory int64) *fixture {
	return newSpoolingShardJournal(t, memory, nil)
}

// newSpoolingShardJournal starts a shard journal with a spool.
func newSpoolingShardJournal(t *testing.T, memory int64, spool Spool) *fixture {
	return startShardJournal(t, memory, spool, &faulty{})
}

func startShardJournal(t *testing.T, memory int64, spool Spool, st *faulty) *fixture {
	b := &fixture{store: st}
	mem := NewMemory(memory)
	b.ShardJournal = NewShardJournal(3, store.WriterID{1}, &Config{
		Store: b.store, Flush: 100 * time.Millisecond, RowBytes: 4096, Memory: mem, Spool: spool,
		Lost:    func(_ string, m sample.Mark) { b.lost = append(b.lost, m) },
		Metrics: NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler), Boot: st.boot,
	})
	ctx, cancel := context.WithCancel(t.Context())
	unsaved := make(chan int, 1)
	go func() {
		hard, end := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
		defer end()
		stopHard := context.AfterFunc(ctx, func() { time.AfterFunc(5*time.Second, end) })
		defer stopHard()
		unsaved <- b.Run(ctx, hard)
	}()
	b.stop = func() int { cancel(); return <-unsaved }
	return b
}

func number(i int) *sample.Sample { return &sample.Sample{Time: int64(i) * 1e6, Word: uint64(i)} }

func upTo(from, to int) (out []uint64) {
	for i := from; i < to; i++ {
		out = append(out, uint64(i))
	}
	return out
}

func TestSamplesBecomeRowsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		heads := []*Head{b.Open("b", sample.Int64), b.Open("a", sample.Int64)}
		for i := range 5000 {
			b.Append(heads[i%2], sample.Int64, number(i/2))
			if i%500 == 0 {
				testclock.Advance(30 * time.Millisecond)
			}
		}
		testclock.Advance(time.Second)
		for _, pv := range []string{"a", "b"} {
			if d := cmp.Diff(upTo(0, 2500), b.store.words(t, pv)); d != "" {
				t.Fatalf("%s in the journal (-want +got):\n%s", pv, d)
			}
		}
		for i, r := range b.store.rows[1:] {
			if r.At <= b.store.rows[i].At {
				t.Fatalf("row %x follows row %x", r.At, b.store.rows[i].At)
			}
		}
		if n := heads[0].Stored(); n != 2500 {
			t.Errorf("%d samples count as stored, want 2500", n)
		}
		testclock.Advance(2 * RenewEvery)
		if c := b.store.claims[store.WriterID{1}]; c.Closed || c.Last != b.Acked() {
			t.Errorf("after rows up to %x the claim is %+v", b.Acked(), c)
		}
		if n := b.stop(); n != 0 {
			t.Errorf("%d samples unsaved after an orderly stop", n)
		}
		c := b.store.claims[store.WriterID{1}]
		if !c.Closed || c.Last != b.Acked() || c.Epoch != 5 || c.Shard != 3 {
			t.Errorf("claim after the end: %+v", c)
		}
	})
}

func TestSealedSamplesLeaveMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		defer b.stop()
		h := b.Open("a", sample.Int64)
		for i := range 10 {
			b.Append(h, sample.Int64, number(i))
		}
		var r sample.Run
		r.Reset(sample.Int64)
		if n := h.Unsealed(&r, 1<<20); n != 0 {
			t.Fatalf("%d samples can be sealed before they are durable", n)
		}
		testclock.Advance(time.Second)
		b.Append(h, sample.Int64, number(10))
		if n := h.Unsealed(&r, 1<<20); n != 10 {
			t.Fatalf("%d samples can be sealed, want 10", n)
		}
		h.Sealed(10)
		h.Sealed(10) // again: nothing is left of them
		if got := b.Recent("a", math.MinInt64, math.MaxInt64); len(got) != 1 || !slices.Equal(got[0].Words, []uint64{10}) {
			t.Fatalf("memory holds %v, want the sample that is in no block", got)
		}
		h.Retire()
		testclock.Advance(time.Second)
		h.Sealed(11)
		if heads := b.Heads(); len(heads) != 0 {
			t.Fatalf("a retired, empty head stays")
		}
	})
}

func TestResendsTheSameBytesWhileTheStoreIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		h := b.Open("a", sample.Int64)
		testclock.Advance(time.Second)
		var refused []store.JournalRow
		b.store.setFail(func(r *store.JournalRow) error {
			if r != nil {
				refused = append(refused, *r)
			}
			return errUnreachable
		})
		for i := range 300 {
			b.Append(h, sample.Int64, number(i))
			testclock.Advance(100 * time.Millisecond)
		}
		b.store.setFail(nil) // no row is refused any longer
		if len(refused) < 5 {
			t.Fatalf("%d tries in 30 s", len(refused))
		}
		for _, r := range refused {
			if d := cmp.Diff(refused[0], r); d != "" {
				t.Fatalf("a retry differs:\n%s", d)
			}
		}
		testclock.Advance(5 * time.Second)
		b.stop()
		if d := cmp.Diff(upTo(0, 300), b.store.words(t, "a")); d != "" {
			t.Fatalf("journal (-want +got):\n%s", d)
		}
		if b.store.rows[0].At != refused[0].At {
			t.Errorf("row %x was acknowledged after %x was refused", b.store.rows[0].At, refused[0].At)
		}
		if len(b.lost) > 0 {
			t.Errorf("marked as lost: %v", b.lost)
		}
	})
}

func TestDropsTheOldestWhenMemoryIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 20*1000)
		h := b.Open("a", sample.Int64)
		testclock.Advance(time.Second)
		b.store.setFail(func(*store.JournalRow) error { return errUnreachable })
		const n = 5000
		for i := range n {
			b.Append(h, sample.Int64, number(i))
			testclock.Advance(10 * time.Millisecond)
		}
		b.store.setFail(nil)
		testclock.Advance(5 * time.Second)
		if left := b.stop(); left != 0 {
			t.Fatalf("%d samples unsaved", left)
		}
		got := b.store.words(t, "a")
		if len(got)+int(h.Lost()) != n || h.Lost() == 0 {
			t.Fatalf("%d stored + %d lost ≠ %d appended", len(got), h.Lost(), n)
		}
		var marked uint64
		missing := map[uint64]bool{}
		for _, m := range b.lost {
			marked += m.Count
			for w := uint64(m.Time / 1e6); w <= uint64(m.End/1e6); w++ {
				missing[w] = true
			}
		}
		if marked != h.Lost() {
			t.Errorf("the marks count %d lost samples, the head %d", marked, h.Lost())
		}
		for _, w := range upTo(0, n) {
			if !missing[w] && !slices.Contains(got, w) {
				t.Fatalf("sample %d is missing and not marked", w)
			}
		}
		if got[len(got)-1] != n-1 {
			t.Errorf("the newest sample kept is %d, want %d", got[len(got)-1], n-1)
		}
	})
}

// TestARowIsDurableOnlyWithAClaim tests a process that stalls in the middle of a write.
// Another engine may take it for dead and drop its claim. The row counts as durable only when
// the claim is in the store again.
func TestARowIsDurableOnlyWithAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		defer b.stop()
		testclock.Advance(time.Second)
		b.store.mu.Lock()
		b.store.stall = time.Minute
		b.store.mu.Unlock()
		b.Append(b.Open("a", sample.Int64), sample.Int64, number(1))
		testclock.Advance(time.Second)
		b.store.mu.Lock()
		if len(b.store.rows) != 1 {
			t.Errorf("%d rows are written, want 1", len(b.store.rows))
		}
		delete(b.store.claims, store.WriterID{1})
		b.store.stall, b.store.fail = 0, func(row *store.JournalRow) error {
			if row == nil {
				return errUnreachable
			}
			return nil
		}
		b.store.mu.Unlock()
		testclock.Advance(2 * time.Minute)
		if n := b.Unsaved(); n != 1 {
			t.Errorf("%d samples are unsaved, want that of the row without a claim", n)
		}
		b.store.setFail(nil)
		testclock.Advance(10 * time.Second)
		b.store.mu.Lock()
		_, claimed := b.store.claims[store.WriterID{1}]
		b.store.mu.Unlock()
		if n := b.Unsaved(); !claimed || n != 0 {
			t.Errorf("claimed: %v, with %d samples unsaved", claimed, n)
		}
	})
}

// TestAPauseCountsForTheClaim tests a virtual machine that is paused while the store answers. Go's
// monotonic clock does not see the pause. Meanwhile another engine took the writer for dead and
// dropped its claim, so the row counts only when the claim is in the store again.
func TestAPauseCountsForTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var paused atomic.Int64
		st := &faulty{boot: func() time.Duration { return time.Since(began) + time.Duration(paused.Load()) }}
		b := startShardJournal(t, 1<<20, nil, st)
		defer b.stop()
		testclock.Advance(time.Second)
		st.mu.Lock()
		st.stall = 100 * time.Millisecond // the answer to the row arrives after the pause
		st.mu.Unlock()
		b.Append(b.Open("a", sample.Int64), sample.Int64, number(1))
		for rows := 0; rows == 0; {
			testclock.Advance(10 * time.Millisecond)
			st.mu.Lock()
			rows = len(st.rows)
			st.mu.Unlock()
		}
		paused.Add(int64(time.Minute))
		st.mu.Lock()
		delete(st.claims, store.WriterID{1})
		st.stall, st.fail = 0, func(row *store.JournalRow) error {
			if row == nil {
				return errUnreachable
			}
			return nil
		}
		st.mu.Unlock()
		testclock.Advance(200 * time.Millisecond)
		if n := b.Unsaved(); n != 1 {
			t.Errorf("%d samples are unsaved, want that of the row without a claim", n)
		}
		st.setFail(nil)
		testclock.Advance(10 * time.Second)
		st.mu.Lock()
		_, claimed := st.claims[store.WriterID{1}]
		st.mu.Unlock()
		if n := b.Unsaved(); !claimed || n != 0 {
			t.Errorf("claimed: %v, with %d samples unsaved", claimed, n)
		}
	})
}

func TestStopWhileTheStoreIsUnreachableReportsUnsavedSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		h := b.Open("a", sample.Int64)
		b.store.setFail(func(*store.JournalRow) error { return errUnreachable })
		for i := range 7 {
			b.Append(h, sample.Int64, number(i))
		}
		testclock.Advance(time.Second)
		if n := b.stop(); n != 7 {
			t.Fatalf("%d samples reported as unsaved, want 7", n)
		}
		if b.store.claims[store.WriterID{1}].Closed {
			t.Fatal("the claim is closed, although samples are missing")
		}
	})
}

func TestAPartitionEndsAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		h := b.Open("a", sample.Int64)
		for i := range 150 {
			b.Append(h, sample.Int64, number(i))
			testclock.Advance(time.Second)
		}
		b.stop()
		var parts []uint32
		for _, r := range b.store.rows {
			if len(parts) == 0 || parts[len(parts)-1] != r.At.N() {
				parts = append(parts, r.At.N())
			}
		}
		if !slices.Equal(parts, []uint32{1, 2, 3}) {
			t.Fatalf("partitions %v in 150 s", parts)
		}
	})
}

func TestRowRoundTrip(t *testing.T) { checkRow(t, 120) }

// TestLong_RowRoundTrip is TestRowRoundTrip with more PVs.
func TestLong_RowRoundTrip(t *testing.T) { checkRow(t, 300) }

// checkRow encodes and decodes a row of a number of PVs.
func checkRow(t *testing.T, pvs int) {
	rng := rand.New(rand.NewPCG(1, 1))
	var e rowEncoder
	e.reset(12345)
	var want []PVRun
	for i := range pvs {
		r := &sample.Run{Type: sample.String}
		for range 1 + rng.IntN(5) {
			r.Append(&sample.Sample{Time: rng.Int64(), Bytes: fmt.Appendf(nil, "%d", rng.Int())})
		}
		pv := fmt.Sprintf("SR%02d-VA:PRES-%03d", i/50, i)
		e.add(pv, r)
		want = append(want, PVRun{pv, r})
	}
	row := store.JournalRow{}
	row.Index, row.Blob = e.finish()
	got, err := Decode(row)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("decoded (-want +got):\n%s", d)
	}
	if at, err := FlushTime(row); err != nil || at != 12345 {
		t.Errorf("flush time %d, %v", at, err)
	}
	if runs, err := Find(row, "SR01-VA:PRES-07"); len(runs) != 0 || err != nil {
		t.Errorf("a PV that is not in the row: %v, %v", runs, err)
	}
	for n := range len(row.Index) {
		cut := row
		cut.Index = row.Index[:n]
		if runs, err := Decode(cut); err == nil && len(runs) == len(want) {
			t.Fatalf("an index cut to %d of %d bytes decodes as the whole row", n, len(row.Index))
		}
	}
	if per := float64(len(row.Index)) / 300; per > 6 {
		t.Errorf("the index takes %.1f bytes per PV", per)
	}
}

func FuzzDecode(f *testing.F) {
	var e rowEncoder
	e.reset(1)
	e.add("SR:A", &sample.Run{Type: sample.Int64, Times: []int64{1}, Tags: []sample.Tag{0}, Words: []uint64{7}})
	index, blob := e.finish()
	f.Add(index, blob)
	f.Fuzz(func(t *testing.T, index, blob []byte) {
		row := store.JournalRow{Index: index, Blob: blob}
		if runs, err := Decode(row); err == nil {
			for _, r := range runs {
				if found, err := Find(row, r.PV); err != nil || len(found) == 0 {
					t.Fatalf("Decode returns %q, but Find does not find it: %v", r.PV, err)
				}
			}
		}
	})
}

func BenchmarkShardJournal(b *testing.B) {
	const pvs, each = 1000, 5
	mem := NewMemory(1 << 30)
	l := NewShardJournal(0, store.WriterID{1}, &Config{Store: &faulty{}, RowBytes: 256 << 10, Memory: mem,
		Metrics: NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler)})
	heads := make([]*Head, pvs)
	for i := range heads {
		heads[i] = l.Open(fmt.Sprintf("SR%02d-VA:PRES-%03d", i/50, i), sample.Int64)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		for range each {
			for _, h := range heads {
				l.Append(h, sample.Int64, number(i))
			}
			i++
		}
		l.flush(b.Context())
		for _, h := range heads {
			h.Sealed(h.Durable())
		}
		l.cfg.Store.(*faulty).rows = nil
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pvs*each), "ns/sample")
}

// TestGolden encodes the row that docs/format/journal.md draws.
func TestGolden(t *testing.T) {
	var e rowEncoder
	e.reset(1_700_000_000_500_000_000)
	first := &sample.Run{Type: sample.Float64}
	for i, v := range []float64{1.5, 1.5, 2.25} {
		s := sample.Sample{Time: 1_700_000_000e9 + int64(i)*1e8, Word: math.Float64bits(v)}
		if i == 2 {
			s.Tag = sample.MakeTag(sample.Minor, 4)
		}
		first.Append(&s)
	}
	second := &sample.Run{Type: sample.Float64}
	second.Append(&sample.Sample{Time: 1_700_000_000e9, Word: math.Float64bits(7)})
	e.add("SR01:P1", first)
	e.add("SR01:P2", second)
	index, blob := e.finish()
	const entries = "8094bbbfcabfce972f" + "000753523031" + "3a5031" + "1a" + "060132" + "0f"
	const body = "29a0" + "020b03018080a0abfef962c801000284800401" + "0207ac0200c012" + "020b01000080c49fd50c" + "0001" + "00000e"
	const wantIndex, wantBlob = "02" + entries + "6970ac77", body + "ad0fb6a5"
	if got := hex.EncodeToString(index); got != wantIndex {
		t.Errorf("the stored format changed: it needs a new version byte\n got %s\nwant %s", got, wantIndex)
	}
	if got := hex.EncodeToString(blob); got != wantBlob {
		t.Errorf("the stored format changed: it needs a new version byte\n got %s\nwant %s", got, wantBlob)
	}
	for version, row := range map[string]store.JournalRow{
		"1": {Index: unhex(t, "01"+entries), Blob: unhex(t, body)},
		"2": {Index: index, Blob: blob},
	} {
		runs, err := Decode(row)
		if err != nil || len(runs) != 2 || runs[0].Run.Len() != 3 || runs[1].Run.Float(0) != 7 {
			t.Errorf("a row of version %s decodes to %v, %v", version, runs, err)
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAnyChangeOfARowIsDetected changes each bit of a row, and combines the index and the body of
// two rows.
func TestAnyChangeOfARowIsDetected(t *testing.T) {
	row := func(v uint64) store.JournalRow {
		var e rowEncoder
		e.reset(1_700_000_000_500_000_000)
		r := &sample.Run{Type: sample.Int64}
		r.Append(&sample.Sample{Time: 1_700_000_000e9, Word: v})
		e.add("SR01:P1", r)
		index, blob := e.finish()
		return store.JournalRow{Index: index, Blob: blob}
	}
	a, b := row(1), row(2)
	if _, err := Decode(store.JournalRow{Index: a.Index, Blob: b.Blob}); err != nil {
		t.Errorf("rows with equal indexes: %v", err)
	}
	long := row(1 << 40)
	if _, err := Decode(store.JournalRow{Index: long.Index, Blob: b.Blob}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the body of another row: %v", err)
	}
	for _, part := range [][]byte{a.Index, a.Blob} {
		for i := range 8 * len(part) {
			part[i/8] ^= 1 << (i % 8)
			if _, err := Decode(a); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Errorf("with bit %d changed: %v", i, err)
			}
			part[i/8] ^= 1 << (i % 8)
		}
	}
	if _, err := Decode(a); err != nil {
		t.Error(err)
	}
}

// TestAClaimReportsNoUnsavedSampleAsSaved checks that Claim.Saved is never later than the
// arrival of a sample that is in no row, regardless of what fails.
func TestAClaimReportsNoUnsavedSampleAsSaved(t *testing.T) {
	for name, spool := range map[string]Spool{"without a spool": nil, "with a spool": &fakeSpool{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSpoolingShardJournal(t, 1<<20, spool)
				defer b.stop()
				h := b.Open("a", sample.Int64)
				rng := rand.New(rand.NewPCG(1, 2))
				var arrived []int64
				for i := range 2000 {
					testclock.Advance(time.Duration(rng.IntN(40)) * time.Millisecond)
					if i%300 == 100 {
						b.store.mu.Lock()
						b.store.stall = time.Duration(rng.IntN(8)) * time.Second
						b.store.mu.Unlock()
					}
					if i%500 == 200 {
						b.store.setFail(refuse)
					}
					if i%500 == 400 {
						b.store.setFail(nil)
						b.store.mu.Lock()
						b.store.stall = 0
						b.store.mu.Unlock()
					}
					arrived = append(arrived, time.Now().UnixNano())
					b.Append(h, sample.Int64, number(i))
					rows := len(b.store.words(t, "a"))
					b.store.mu.Lock()
					c := b.store.claims[store.WriterID{1}]
					b.store.mu.Unlock()
					if rows < len(arrived) && c.Saved > arrived[rows] {
						t.Fatalf("the claim says that all samples until %v are saved, but sample %d of %v is in no row", time.Unix(0, c.Saved), rows, time.Unix(0, arrived[rows]))
					}
				}
				testclock.Advance(time.Minute)
				b.store.mu.Lock()
				defer b.store.mu.Unlock()
				if late := time.Since(time.Unix(0, b.store.claims[store.WriterID{1}].Saved)); late > 10*time.Second && spool == nil {
					t.Errorf("at the end, the claim's time Saved is %v ago", late)
				}
			})
		})
	}
}

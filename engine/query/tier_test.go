package query

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const hour = 3600 * second

// TestExpiredBucketsAreNotRead checks that a bucket is read until it expires, and not
// afterwards, even if the store still has it. Buckets of the same time on other tiers are
// still read.
func TestExpiredBucketsAreNotRead(t *testing.T) {
	a := newArchive(t, 1)
	for i := range int64(5) {
		a.block(writer(1), store.Hour.Of(epoch+i*hour).In(store.Keep1d), float(epoch+i*hour+10, float64(i)))
	}
	a.block(writer(1), store.Day.Of(epoch), float(epoch+5, 9))
	all := "5:9 10:0 3600000000010:1 7200000000010:2 10800000000010:3 14400000000010:4 "
	for _, tc := range []struct {
		now  int64
		want string
	}{
		{epoch + 25*hour - 1, all},
		{epoch + 25*hour, "5:9 3600000000010:1 7200000000010:2 10800000000010:3 14400000000010:4 "},
		{epoch + 29*hour - 1, "5:9 14400000000010:4 "},
		{epoch + 29*hour, "5:9 "},
	} {
		a.now = tc.now
		a.reads(0, day, tc.want)
	}
}

// TestLastSampleBeforeTheRangeOnAnotherTier checks that the last sample before a range is the
// latest unexpired one on any tier.
func TestLastSampleBeforeTheRangeOnAnotherTier(t *testing.T) {
	a := newArchive(t, 1)
	a.block(writer(1), store.Month.Of(epoch+100).In(store.Keep1y), float(epoch+100, 1))
	a.block(writer(1), store.Day.Of(epoch+200).In(store.Keep90d), float(epoch+200, 2))
	a.block(writer(1), store.Hour.Of(epoch+300).In(store.Keep1d), float(epoch+300, 3))
	for now, want := range map[int64]string{10 * hour: "300:3 ", 2 * day: "200:2 ", 100 * day: "100:1 ", 500 * day: ""} {
		a.now = epoch + now
		a.reads(400, 500, want)
	}
}

// TestAConstantOutlivesItsTier checks a value that has not changed for longer than its tier
// keeps samples. Only carried-forward samples contain the value. A read yields it as a normal
// sample.
func TestAConstantOutlivesItsTier(t *testing.T) {
	a := newArchive(t, 1)
	a.now = epoch + 10*day
	old := float(epoch, 7)
	for h := range int64(60) { // the last two days: the first day has expired, and the first two hours of the second day are missing
		if at := a.now - h*hour; h < 23 || h > 25 {
			a.block(writer(1), store.Hour.Of(at).In(store.Keep1d), carriedForward(old))
		}
	}
	a.block(writer(1), store.Hour.Of(a.now).In(store.Keep1d), float(a.now+5, 8))
	for name, tc := range map[string]struct {
		from, to int64
		inside   bool
		want     string
	}{
		"from before the value arrived":      {-day, 9 * day, false, "0:7 "},
		"from when the value arrived":        {0, 9 * day, true, "0:7 "},
		"from after the value expired":       {3 * day, 10*day + hour, false, "0:7 864000000000005:8 "},
		"the same, only inside the range":    {3 * day, 10*day + hour, true, "864000000000005:8 "},
		"where it is carried forward":        {10*day - 5*hour, 10*day - 4*hour, false, "0:7 "},
		"where no engine carried it forward": {10*day - 24*hour, 10*day - 20*hour, false, "0:7 "},
		"the same, and the range ends there": {10*day - 24*hour, 10*day - 24*hour, false, "0:7 "},
		"before all samples":                 {-9 * day, -8 * day, false, ""},
	} {
		if got := brief(a.read(epoch+tc.from, epoch+tc.to, Options{Inside: tc.inside})); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// hookStore is a store that calls a function before a certain call of the reader.
type hookStore struct {
	store.Store
	mu       sync.Mutex // some calls are made at the same time
	call, at int
	do       func()
}

func (m *hookStore) step() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.call == m.at {
		m.do()
	}
	m.call++
}

func (m *hookStore) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	m.step()
	return m.Store.Channel(ctx, pv)
}

func (m *hookStore) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	m.step()
	return m.Store.LastBlock(ctx, pv, b, at)
}

func (m *hookStore) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	m.step()
	return m.Store.Blocks(ctx, pv, b, from, to)
}

// TestReadMissesNothingWhileBlocksMove checks that a read yields each sample once, regardless
// of when blocks are copied to another tier and deleted from the old one an hour later.
func TestReadMissesNothingWhileBlocksMove(t *testing.T) {
	const want = "0:0 1:1 3600000000002:2 3600000000003:3 "
	old := func(n int64) store.Bucket { return store.Hour.Of(epoch + n*hour).In(store.Keep30d) }
	for _, copied := range []bool{false, true} {
		for at := 0; ; at++ {
			a := newArchive(t, 1)
			a.now = epoch + 2*day
			first, second := []typed{float(epoch, 0), float(epoch+1, 1)}, []typed{float(epoch+hour+2, 2), float(epoch+hour+3, 3)}
			a.block(writer(1), old(0), first...)
			a.block(writer(1), old(1), carriedForward(first[1]))
			a.block(writer(1), old(1), second...)
			place := func() {
				a.block(writer(1), store.Day.Of(epoch), first...)
				a.block(writer(1), store.Day.Of(epoch), second...)
				a.check(a.store.PutBlocks(t.Context(), a.ready...))
				a.ready = nil
			}
			a.reader() // writes the blocks that are ready
			m := &hookStore{Store: a.store, at: at, do: place}
			if copied {
				place()
				m.do = func() {
					for n := range int64(2) {
						_, err := m.Store.DropBucket(t.Context(), testPV, old(n), math.MaxInt64)
						a.check(err)
					}
				}
			}
			under := a.store
			a.store = m
			do := m.do
			m.do = func() { a.store = under; do(); a.store = m }
			from, to := epoch+int64(at%2), epoch+hour+10 // with a sample at the start, or before it
			w := want
			if at%2 == 1 {
				w = want[len("0:0 "):]
			}
			if got := brief(a.read(from, to, Options{})); got != w {
				t.Errorf("copied before: %v; at call %d the read yields %s, want %s", copied, at, got, w)
			}
			if m.call <= at {
				if at < 5 {
					t.Fatalf("a read makes only %d calls of the store", at)
				}
				break
			}
		}
	}
}

// TestALargeConstantOutlivesItsTier checks that a read finds the value of a carried-forward
// sample that has no value itself. The value may be in another carried-forward sample.
func TestALargeConstantOutlivesItsTier(t *testing.T) {
	a := newArchive(t, 1)
	a.now = epoch + 10*day
	large := text(epoch, fmt.Sprintf("%20000d", 1))
	bare := carriedForward(text(epoch, ""))
	bare.Tag |= sample.Elsewhere
	b := store.Hour.Of(a.now).In(store.Keep1d)
	a.block(writer(1), b, bare)
	a.reads(9*day+23*hour, 11*day, "")
	a.block(writer(2), b, carriedForward(large))
	for _, from := range []int64{-day, day, 10*day + 5} {
		a.reads(from, 11*day, "0:"+string(large.Bytes)+" ")
	}
}

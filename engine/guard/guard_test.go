package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

var errAway = errors.New("node 2 does not answer")

// sizedArchive is an archive of 100 days with a fixed number of bytes per day. Tests set its
// reported size.
type sizedArchive struct {
	store.Store
	t   *testing.T
	log bytes.Buffer

	mu    sync.Mutex
	size  int64
	away  error
	limit int64
	days  map[int64]int64 // remaining bytes of each bucket
	fails error           // the error of the next deletion, returned halfway
	calls int

	reclaims int
}

const (
	perDay = int64(1 << 30)
	shards = 3
)

func newSizedArchive(t *testing.T) *sizedArchive {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	d := &sizedArchive{Store: st, t: t, days: map[int64]int64{}}
	first := store.Day.Of(time.Now().Add(-100 * 24 * time.Hour).UnixNano())
	for b := first; b.Start() < time.Now().UnixNano(); b = b.Next() {
		d.days[int64(b)] = perDay
		d.size += perDay
	}
	for shard := range shards {
		c := store.Channel{PV: fmt.Sprint("PV", shard), Shards: []int{shard}, Starts: []store.Bucket{first}}
		if err := st.AddChannel(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Reclaim counts its calls.
func (d *sizedArchive) Reclaim(context.Context) error {
	d.reclaims++
	return nil
}

func (d *sizedArchive) Size(context.Context) (int64, error)  { return d.size, d.away }
func (d *sizedArchive) Limit(context.Context) (int64, error) { return d.limit, d.away }

// DropBefore deletes the PV's third of each day.
func (d *sizedArchive) DropBefore(_ context.Context, c store.Channel, after, cutoff int64) (buckets int, bytes int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	for i := range d.days {
		b := store.Bucket(i)
		if b.End() <= after || b.End() > cutoff {
			continue
		}
		buckets, bytes = buckets+1, bytes+perDay/shards
		d.days[i] -= perDay / shards
		if d.fails != nil {
			err, d.fails = d.fails, nil
			d.days[i] += perDay / shards // the retry deletes it again
			return buckets - 1, bytes - perDay/shards, err
		}
	}
	return buckets, bytes, nil
}

// guard returns the guard of an engine that seals the given shards.
func (d *sizedArchive) guard(limit int64, sealed ...int) *Guard {
	return New(Config{
		Store: d, Limits: Limits{Bytes: limit, Readings: 1, Pause: 1}, Shards: shards, Engine: store.NewWriter(),
		Sealers: func() map[int]Sealer {
			m := map[int]Sealer{}
			for _, shard := range sealed {
				m[shard] = d
			}
			return m
		},
		Captured: func(string) (int, bool) { return 0, false },
		Reclaim:  "sweep the floor", Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
}

func (d *sizedArchive) check(g *Guard) Status {
	d.t.Helper()
	if err := g.Check(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return g.Status()
}

func (d *sizedArchive) cutoff() store.Cutoff {
	d.t.Helper()
	f, _, err := d.Cutoff(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return f
}

// given returns the bytes that all shards have deleted according to their progress.
func (d *sizedArchive) given() (n int64) {
	d.t.Helper()
	shardProgress, err := d.CutoffProgress(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, sp := range shardProgress {
		n += sp.Bytes
	}
	return n
}

func TestASizeThatIsNotKnown(t *testing.T) {
	d := newSizedArchive(t)
	d.away = errAway
	for _, limit := range []int64{d.size, 0} { // the first limit is configured, the second comes from the servers
		g := d.guard(limit, 0, 1, 2)
		for range 5 {
			if st := d.check(g); st.Reason != SizeUnknown || !strings.Contains(st.Text, errAway.Error()) {
				t.Errorf("with a node away: %+v", st)
			}
		}
	}
	if n := strings.Count(d.log.String(), errAway.Error()); n != 2 || d.cutoff().Before != 0 {
		t.Errorf("the log reports it %d times, and the cutoff is %+v", n, d.cutoff())
	}
	d.away = nil
	g := d.guard(0, 0, 1, 2)
	if st := d.check(g); st.Reason != NoLimit {
		t.Errorf("without a limit: %+v", st)
	}
	d.away = errAway
	if st := d.check(g); st.Reason != NoLimit {
		t.Errorf("without a limit, and with a node away: %+v", st)
	}
	d.away, d.limit = nil, d.size
	if st := d.check(g); st.Reason != Dropping || st.Limit != d.size {
		t.Errorf("with a limit by the servers: %+v", st)
	}
}

// TestAShardThatNobodySeals checks that the cutoff does not rise before all shards have
// followed.
func TestAShardThatNobodySeals(t *testing.T) {
	d := newSizedArchive(t)
	g := d.guard(d.size, 0, 1)
	d.check(g)
	f := d.cutoff()
	for range 5 {
		if st := d.check(g); st.Reason != Dropping || !strings.Contains(st.Message, "1 of 3 shards") || d.cutoff() != f {
			t.Errorf("a shard has no sealer: %+v, %+v", st, d.cutoff())
		}
	}
	other := d.guard(0, 2) // an engine without a limit, which does not decide
	if st := d.check(other); st.Reason != "" || other.Cutoff() != f.Before {
		t.Errorf("another engine: %+v", st)
	}
	if d.check(g); d.cutoff().Before <= f.Before {
		t.Errorf("all shards have followed, but the cutoff stays at %+v", d.cutoff())
	}
}

// TestADeletionThatFails checks that a failed deletion is retried, and that the bytes deleted
// before the failure count.
func TestADeletionThatFails(t *testing.T) {
	d := newSizedArchive(t)
	g := d.guard(d.size, 0, 1, 2)
	d.check(g)
	d.fails = errAway
	if err := g.Check(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("a deletion fails: %v", err)
	}
	if st := d.check(g); st.Reason != Dropping {
		t.Errorf("after that: %+v", st)
	}
	want := int64(0)
	for _, left := range d.days {
		want += perDay - left
	}
	if got := d.given(); got < want || got > want+perDay {
		t.Errorf("%d bytes were deleted, but %d are counted", want, got)
	}
}

// TestTwoDeciders runs two engines that both decide while shard 0 moves. Each may take one
// step and must then wait for the shards of the other.
func TestTwoDeciders(t *testing.T) {
	d := newSizedArchive(t)
	a, b := d.guard(d.size, 0, 1), d.guard(d.size, 0, 2)
	last := int64(0)
	for checks := 0; ; checks++ {
		first, second := d.check(a), d.check(b)
		if f := d.cutoff(); f.Before < last || checks > 200 {
			t.Fatalf("check %d: the cutoff is %+v", checks, f)
		}
		if last = d.cutoff().Before; first.Reason == WaitingForRoom && second.Reason == WaitingForRoom {
			break
		}
	}
	if got := d.given(); got < d.size*15/100 || got > d.size*20/100 {
		t.Errorf("%d of %d bytes were deleted, want 15 %% to 20 %%", got, d.size)
	}
	before := d.calls
	for range 5 {
		d.check(a)
		d.check(b)
	}
	if d.reclaims != 2 {
		t.Errorf("two engines together ordered the store %d times to free disk space", d.reclaims)
	}
	if d.calls != before {
		t.Errorf("while the guards wait, they read the directory: %d calls", d.calls-before)
	}
	d.size -= d.given()
	if st := d.check(a); st.Reason != BelowLimit || st.Waiting != 0 {
		t.Errorf("when all is free: %+v", st)
	}
}

// TestShardsOfRedundancyAreWaitedFor checks that the guard also waits for a shard of PVs that
// two engines capture, once an engine seals it.
func TestShardsOfRedundancyAreWaitedFor(t *testing.T) {
	d := newSizedArchive(t)
	all := []int{0, 1, 2}
	g := d.guard(d.size, all...)
	d.check(g)
	first := d.cutoff()
	c := store.Claim{Shard: shards + 1, Writer: store.NewWriter(), Epoch: 1, Sealing: store.FirstTerm}
	if err := d.PutClaim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d.check(g)
	}
	if f := d.cutoff(); first.Before == 0 || f.Before != first.Before {
		t.Errorf("the cutoff rose from %v to %v, although one shard had not followed", first, f)
	}
	other := d.guard(d.size, shards+1)
	d.check(other)
	d.check(g)
	if f := d.cutoff(); f.Before <= first.Before {
		t.Errorf("the cutoff stays at %v, although all shards follow", f)
	}
}

// TestSamplesThatMustBeKeptStay lets the archive exceed its limit by far. The guard must delete all samples that
// are older than the minimum age, none that is younger, and say why it does not continue. A clock that is ahead of those of
// the store changes nothing.
func TestSamplesThatMustBeKeptStay(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"a right clock": 0, "a clock that is ahead": 20 * dayLong} {
		t.Run(name, func(t *testing.T) { keepSamples(t, ahead) })
	}
}

// keepSamples is TestSamplesThatMustBeKeptStay with a clock.
func keepSamples(t *testing.T, ahead time.Duration) {
	const keep = 30 * dayLong
	d := newSizedArchive(t)
	g := d.guard(perDay, 0, 1, 2)
	g.cfg.Limits.Youngest = keep
	began := time.Now()
	g.cfg.Clock = clock.New(clock.Config{Read: func() (int64, time.Duration) {
		return time.Now().Add(ahead).UnixNano(), time.Since(began)
	}})
	for _, server := range []string{"1", "2", "3"} {
		g.cfg.Clock.Note(clock.Servers, clock.Reading{Source: server, Time: time.Now().UnixNano(), At: g.cfg.Clock.Boot()})
	}
	g.cfg.Clock.Judge()
	st := d.check(g)
	for checks := 0; st.Reason != NothingLeft; checks++ {
		if st = d.check(g); checks > 1000 {
			t.Fatalf("after %d checks: %+v", checks, st)
		}
	}
	youngest := time.Now().Add(-keep)
	for i, left := range d.days {
		switch b := store.Bucket(i); {
		case b.End() > youngest.UnixNano() && left != perDay:
			t.Errorf("%d of %d bytes are left of the day that begins at %v", left, perDay, time.Unix(0, b.Start()))
		case b.End() < youngest.Add(-dayLong).UnixNano() && left > shards:
			t.Errorf("%d bytes are left of the day that begins at %v", left, time.Unix(0, b.Start()))
		}
	}
	if f := d.cutoff(); f.Before > youngest.UnixNano() || !strings.Contains(st.Message, keep.String()) {
		t.Errorf("the cutoff is %v, and the status is %+v", time.Unix(0, f.Before), st)
	}
}

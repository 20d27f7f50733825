package engine

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/testclock"
)

// claimOnceStore is a store that writes each claim only once, because renewing claims for days
// of test time takes long.
type claimOnceStore struct {
	store.Store
	mu      sync.Mutex
	written map[store.WriterID]store.Claim
	dropped func(pv string, b store.Bucket) // called before a bucket is dropped; may be nil
	unfree  int64                           // deleted bytes that are not free yet; a test may reset it
	size    func() int64                    // the size to report; may be nil
}

// Size returns the size that the test sets.
func (c *claimOnceStore) Size(ctx context.Context) (int64, error) {
	if c.size != nil {
		return c.size(), nil
	}
	return c.Store.Size(ctx)
}

func (c *claimOnceStore) DropBucket(ctx context.Context, pv string, b store.Bucket, before int64) (bytes int64, err error) {
	if c.dropped != nil {
		c.dropped(pv, b)
	}
	bytes, err = c.Store.DropBucket(ctx, pv, b, before)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unfree += bytes
	return bytes, err
}

func (c *claimOnceStore) PutClaim(ctx context.Context, claim store.Claim) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, ok := c.written[claim.Writer]; ok && was.Closed == claim.Closed {
		return nil
	}
	c.written[claim.Writer] = claim
	return c.Store.PutClaim(ctx, claim)
}

// era is an archive with a fake clock and an engine that captures PV A.
type era struct {
	*life
	t     *testing.T
	st    *claimOnceStore
	limit int64         // DiskLimit of the next engine
	young time.Duration // DiskKeep of the next engine
	clock *clock.Clock  // of the next engine, compared with a store whose clocks are right; may be nil
	// silent is true while the store does not tell its time; it is set with clock.
	silent *atomic.Bool
}

// inEra runs f in a synctest bubble.
func inEra(t *testing.T, keep store.Retention, f func(t *testing.T, e *era)) {
	inEraOf(t, keep, pebble.OpenMemory, f)
}

// inEraOf is inEra with the archive that open opens.
func inEraOf(t *testing.T, keep store.Retention, open func() (*pebble.Store, error), f func(t *testing.T, e *era)) {
	synctest.Test(t, func(t *testing.T) {
		db, err := open()
		if err != nil {
			t.Fatal(err)
		}
		e := &era{t: t, st: &claimOnceStore{Store: db, written: map[store.WriterID]store.Claim{}}}
		e.begin(keep)
		defer func() { // also if f fails: nothing may keep running in the bubble
			e.end()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, e)
	})
}

// begin starts another engine, with long intervals between its periodic tasks.
func (e *era) begin(keep store.Retention) {
	source := &taps{}
	var st store.Store = e.st
	if e.clock != nil {
		st = timed{st, e.silent}
	}
	l := &life{source: source, Engine: New(Options{
		Store: st, Clock: e.clock, Sources: capture.Sources{source}, Shards: 4, Flush: time.Minute, Checkpoint: 15 * time.Minute, Exclusive: true, DiskLimit: e.limit, DiskKeep: e.young,
		Log: slog.New(slog.NewTextHandler(e.t.Output(), nil)),
	})}
	l.reader = &query.Reader{Store: e.st, Recent: l, Shards: 4}
	ctx, cancel := context.WithCancel(e.t.Context())
	unsaved := make(chan int, 1)
	go func() { unsaved <- l.Run(ctx) }()
	l.end = sync.OnceValue(func() int { cancel(); return <-unsaved })
	e.life = l
	e.keep(keep)
}

// keep changes the retention.
func (e *era) keep(keep store.Retention) {
	e.Apply(Assignment{0: {Seal: true, Channels: []capture.Channel{{PV: "A", Group: "lab/test", Settings: &capture.Settings{Retention: keep}}}}})
}

// send sends a value with the given time.
func (e *era) send(at time.Time, v float64) {
	e.source.mu.Lock()
	defer e.source.mu.Unlock()
	for _, sink := range e.source.sinks["A"] {
		sink.Sample(&sample.Sample{Time: at.UnixNano(), Word: math.Float64bits(v)})
	}
}

// read returns the values of the last period of the given length, each with its age.
func (e *era) read(ago time.Duration) string {
	e.t.Helper()
	now := time.Now()
	read, err := e.reader.Read(e.t.Context(), "A", now.Add(-ago).UnixNano(), now.UnixNano(), query.Options{})
	if err != nil {
		e.t.Fatal(err)
	}
	out := ""
	for r, err := range read.All {
		if err != nil {
			e.t.Fatal(err)
		}
		for i := range r.Len() {
			out += fmt.Sprintf("%g@%v ", r.Float(i), now.Sub(time.Unix(0, r.Times[i])).Round(time.Hour))
		}
	}
	return out
}

func (e *era) want(ago time.Duration, want, when string) {
	e.t.Helper()
	if got := e.read(ago); got != want {
		e.t.Errorf("%s: %q, want %q", when, got, want)
	}
}

const days = 24 * time.Hour

// onTier counts the samples in blocks of a tier.
func (e *era) onTier(r store.Tier) (n int) {
	e.t.Helper()
	c, _, err := e.st.Channel(e.t.Context(), "A")
	if err != nil {
		e.t.Fatal(err)
	}
	now := time.Now()
	for _, first := range c.Starts {
		if first.Tier() != r {
			continue
		}
		for b := first; b <= first.Span().Last() && b.Start() <= now.UnixNano(); b = b.Next() {
			for blk, err := range e.st.Blocks(e.t.Context(), "A", b, math.MinInt64, math.MaxInt64) {
				if err != nil {
					e.t.Fatal(err)
				}
				n += blk.Count
			}
		}
	}
	return n
}

// ages returns the ages, in hours, of all readable samples.
func (e *era) ages() (hours []int) {
	for _, s := range strings.Fields(e.read(10 * 365 * days)) {
		_, age, _ := strings.Cut(s, "@")
		d, err := time.ParseDuration(age)
		if err != nil {
			e.t.Fatal(err)
		}
		hours = append(hours, int(d.Hours()))
	}
	return hours
}

// hourly sends one value per hour.
func (e *era) hourly(hours int) {
	for range hours {
		e.send(time.Now(), 1)
		testclock.Advance(time.Hour)
	}
}

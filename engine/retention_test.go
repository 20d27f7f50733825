package engine

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/appliance"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/testclock"
)

// TestLong_AConstantStaysReadable checks a setpoint that never changes, on the shortest tier. It
// must stay readable for as long as it is captured, through varve's API and the Archiver
// Appliance's. It must survive restarts and the expiry of the block with its carried-forward
// sample.
func TestLong_AConstantStaysReadable(t *testing.T) {
	t.Parallel() // it has its own clock
	inEra(t, store.Retention{Raw: store.Keep1d}, func(t *testing.T, e *era) {
		set := time.Now()
		e.send(set.Add(-time.Hour), 41)
		e.send(set, 42)
		testclock.Advance(10 * days)
		for _, ago := range []time.Duration{0, time.Minute, time.Hour, 5 * time.Hour, 23 * time.Hour, 3 * days} {
			e.want(ago, "42@240h0m0s ", fmt.Sprintf("from %v ago", ago))
		}
		e.want(12*days, "42@240h0m0s ", "from before it was set")
		mux := http.NewServeMux()
		(&appliance.Handler{Reader: e.reader, Channels: e.life, Name: "varve", Now: time.Now, Log: slog.New(slog.DiscardHandler)}).Register(mux)
		q := url.Values{
			"pv": {"A"}, "from": {time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)}, "to": {time.Now().UTC().Format(time.RFC3339)},
		}
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/retrieval/data/getData.json?"+q.Encode(), nil))
		if body := answer.Body.String(); answer.Code != http.StatusOK || !strings.Contains(body, `"val":42`) || !strings.Contains(body, fmt.Sprint(`"secs":`, set.Unix())) {
			t.Errorf("the Appliance's API answers %d %s", answer.Code, body)
		}
		if n := inBlocks(t, e.st, "A"); n != 0 {
			t.Errorf("%d samples from ten days ago are in blocks, want only carried-forward copies", n)
		}
		// On connecting, another engine gets the value with its original time.
		e.end()
		e.begin(store.Retention{Raw: store.Keep1d})
		e.send(set, 42)
		testclock.Advance(2 * days)
		e.want(time.Hour, "42@288h0m0s ", "two days after a restart")
		e.want(3*days, "42@288h0m0s ", "two days after a restart, from long ago")
		if s, _ := e.Capture().Status("A"); s.Dropped[sample.Expired] != 0 || s.Stored != 1 {
			t.Errorf("the present value counts as %+v", s.Dropped)
		}
	})
}

// TestLong_StoredDataFollowsRetention checks that stored data follows a change of retention. Data
// with a longer retention moves to another tier. Data with a shorter one is deleted an hour
// later.
func TestLong_StoredDataFollowsRetention(t *testing.T) {
	t.Parallel() // it has its own clock
	inEra(t, store.Retention{}, func(t *testing.T, e *era) {
		whole := func(oldest int, when string) {
			t.Helper()
			for i, age := range e.ages() {
				if age != oldest-i {
					t.Fatalf("%s: sample %d is %d h old, want %d", when, i, age, oldest-i)
				}
			}
			if n := len(e.ages()); n != oldest {
				t.Errorf("%s: %d samples, want %d", when, n, oldest)
			}
		}
		e.hourly(15 * 24)
		whole(15*24, "forever")
		e.keep(store.Retention{Raw: store.Keep7d})
		testclock.Advance(50 * time.Minute)
		if n := e.onTier(store.Forever); n != 15*24 {
			t.Errorf("%d samples are left on the old tier within the hour after the change", n)
		}
		testclock.Advance(70 * time.Minute)
		if n, m := e.onTier(store.Forever), e.onTier(store.Keep7d); n != 0 || m < 7*24-2 || m > 7*24+1 {
			t.Errorf("shortened: %d samples are left on the old tier, and %d are on the new one", n, m)
		}
		if ages := e.ages(); ages[0] < 7*24-1 || ages[0] > 7*24+1 {
			t.Errorf("shortened: the oldest sample is %d h old", ages[0])
		}
		e.hourly(24)
		e.keep(store.Retention{Raw: store.Keep90d})
		oldest := e.ages()[0]
		testclock.Advance(2 * time.Hour)
		if n := e.onTier(store.Keep7d); n != 0 {
			t.Errorf("lengthened: %d samples are left on the old tier", n)
		}
		if s, _ := e.Capture().Status("A"); s.Connects != 1 {
			t.Errorf("changes of retention made the PV connect %d times", s.Connects)
		}
		testclock.Advance(9 * days)
		if ages := e.ages(); ages[0] != oldest+2+9*24 || len(ages) < 7*24-2 {
			t.Errorf("lengthened: %d samples, the oldest is %d h old, want %d", len(ages), ages[0], oldest+2+9*24)
		}
	})
}

// TestLong_AWriteBeforeADropStays simulates another sealer that does not know the new retention
// yet. The other sealer writes to a bucket after this engine has inspected the bucket and
// before it drops it. These samples must stay.
func TestLong_AWriteBeforeADropStays(t *testing.T) {
	t.Parallel() // it has its own clock
	inEra(t, store.Retention{}, func(t *testing.T, e *era) {
		e.hourly(15 * 24)
		other, n := store.NewWriter(), uint32(0)
		want := map[int64]bool{}
		e.st.dropped = func(pv string, b store.Bucket) {
			n++
			r := &sample.Run{Type: sample.Float64}
			r.Append(&sample.Sample{Time: max(b.Start(), time.Now().Add(-6*days).UnixNano()) + int64(n), Word: math.Float64bits(7)})
			blk := store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b, Start: r.Times[0], Writer: other, N: n}, End: r.Times[0], Count: 1, Type: r.Type, Blob: block.Append(nil, r)}
			if err := e.st.PutBlocks(t.Context(), blk); err != nil {
				t.Error(err)
			}
			want[blk.Start] = true
		}
		e.keep(store.Retention{Raw: store.Keep7d})
		testclock.Advance(2 * time.Hour)
		if len(want) == 0 || e.onTier(store.Forever) != len(want) {
			t.Errorf("%d samples were written to a bucket right before its deletion; %d of them are still in their bucket", len(want), e.onTier(store.Forever))
		}
		if got := strings.Count(e.read(8*days), "7@"); got != len(want) {
			t.Errorf("a read returns %d of the %d samples that were written right before a deletion", got, len(want))
		}
	})
}

// change is a requested retention and the time of the request.
type change struct {
	at   time.Time
	keep store.Tier
}

// kept reports whether a sample must still exist. A requested retention applies until the next
// request, or until now. The sample must exist if, at the end of each of these periods, it was
// at least two hours younger than the retention allowed. A user who requests a longer
// retention must do so before the sample is deleted.
func kept(sent time.Time, requested []change) bool {
	for i, c := range requested {
		end := time.Now()
		if i+1 < len(requested) {
			end = requested[i+1].at
		}
		if c.keep != store.Forever && end.After(sent) && end.Sub(sent)+2*time.Hour > c.keep.Keep() {
			return false
		}
	}
	return true
}

// TestRetentionAtAnyTime requests random retentions and restarts sealers during tier migrations.
// Every sample that must exist must be readable exactly once.
func TestRetentionAtAnyTime(t *testing.T) { changeRetention(t, 1, 5) }

// TestLong_RetentionAtAnyTime is TestRetentionAtAnyTime with more seeds and steps.
func TestLong_RetentionAtAnyTime(t *testing.T) { changeRetention(t, 2, 25) }

// changeRetention runs the test with a number of seeds, each with a number of steps.
func changeRetention(t *testing.T, seeds, steps int) {
	t.Parallel() // it has its own clock
	for range seeds {
		seed := rand.Uint64()
		inEra(t, store.Retention{}, func(t *testing.T, e *era) {
			rng := rand.New(rand.NewPCG(seed, 0))
			requested := []change{{time.Now(), store.Forever}}
			var sent []time.Time
			for range steps {
				switch rng.IntN(4) {
				case 0:
					c := change{time.Now(), []store.Tier{store.Forever, store.Keep1d, store.Keep7d, store.Keep30d}[rng.IntN(4)]}
					requested = append(requested, c)
					e.keep(store.Retention{Raw: c.keep})
				case 1:
					e.end()
					e.begin(store.Retention{Raw: requested[len(requested)-1].keep})
				}
				for range rng.IntN(8) {
					sent = append(sent, time.Now())
					e.send(time.Now(), float64(len(sent)))
					testclock.Advance(time.Duration(rng.IntN(5*3600)) * time.Second)
				}
				testclock.Advance(20 * time.Minute)
				e.wantKept(sent, requested, seed)
			}
			testclock.Advance(3 * time.Hour)
			for r := range store.Tier(store.NumTiers) {
				if n := e.onTier(r); n != 0 && r != requested[len(requested)-1].keep {
					t.Errorf("seed %d: at the end %d samples are left on tier %v", seed, n, r)
				}
			}
		})
	}
}

// wantKept reads all samples and compares them with those that must exist.
func (e *era) wantKept(sent []time.Time, requested []change, seed uint64) {
	e.t.Helper()
	got := map[int]int{}
	before := 0
	for _, s := range strings.Fields(e.read(10 * 365 * days)) {
		var v int
		if _, err := fmt.Sscanf(s, "%d@", &v); err != nil {
			e.t.Fatal(err)
		}
		if v < before {
			e.t.Fatalf("seed %d: sample %d follows %d", seed, v, before)
		}
		before = v
		got[v]++
	}
	for i, at := range sent {
		n := got[i+1]
		if n > 1 || n == 0 && (kept(at, requested) || i == len(sent)-1) {
			e.t.Fatalf("seed %d: sample %d of %d, %v old, is read %d times; the requested tiers were %v", seed, i+1, len(sent), time.Since(at), n, requested)
		}
	}
}

// TestDeletionTakesEveryTier checks that a deletion removes data from all tiers.
func TestDeletionTakesEveryTier(t *testing.T) {
	inEra(t, store.Retention{}, func(t *testing.T, e *era) {
		for _, r := range []store.Tier{store.Forever, store.Keep90d, store.Keep30d} {
			e.keep(store.Retention{Raw: r})
			e.hourly(2)
			if n := e.onTier(r); n == 0 {
				t.Fatalf("there is no sample on tier %v", r)
			}
		}
		ch, _, err := e.st.Channel(t.Context(), "A")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.st.PutRollups(t.Context(), store.Rollup{PV: "A", Level: store.LevelOf(time.Second, store.Keep90d), Tile: store.LevelOf(time.Second, store.Keep90d).Tile(time.Now().UnixNano()), Blob: []byte{1}}); err != nil {
			t.Fatal(err)
		}
		if err := e.st.AddChannel(t.Context(), store.Channel{PV: "A", Levels: []store.Level{store.LevelOf(time.Second, store.Keep90d)}}); err != nil {
			t.Fatal(err)
		}
		e.Apply(Assignment{0: {Seal: true}})
		if err := e.Delete(t.Context(), 0, []string{"A"}); err != nil {
			t.Fatal(err)
		}
		testclock.Advance(3 * time.Hour) // an unfinished tier migration must not bring the data back
		if _, found, err := e.st.Channel(t.Context(), "A"); found || err != nil {
			t.Errorf("the directory has the PV: %v, %v", found, err)
		}
		for _, first := range ch.Starts {
			for b := first; b <= first.Span().Last(); b = b.Next() {
				for blk, err := range e.st.Blocks(t.Context(), "A", b, math.MinInt64, math.MaxInt64) {
					t.Fatalf("block %+v is left, %v", blk.BlockKey, err)
				}
			}
		}
		level := store.LevelOf(time.Second, store.Keep90d)
		for range e.st.Rollups(t.Context(), "A", level, level.Tile(0), level.Tile(time.Now().Add(days).UnixNano())) {
			t.Error("a rollup is left")
		}
	})
}

// images is a source of one PV with large values.
type images struct{ sinks []capture.Sink }

func (s *images) Subscribe(_ string, _ capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	s.sinks = append(s.sinks, sink)
	sink.Connected(capture.ChannelInfo{Type: sample.Uint8.Array(), TypeName: "DBR_CHAR", Count: 100_000, Host: "ioc:5064"})
	return nothing{}
}

func (s *images) Close() error { return nil }

func (*images) Reach() capture.Reach { return capture.Reach{} }

// nothing is a subscription that has nothing to close.
type nothing struct{}

func (nothing) Close() {}

// TestLong_ALargeConstantStaysReadable checks a large constant value. Later buckets begin with
// a carried-forward sample that does not contain the value. The value must stay readable when
// the block with the value expires, even if a sealer takes over that has not seen the value.
func TestLong_ALargeConstantStaysReadable(t *testing.T) {
	t.Parallel() // it has its own clock
	synctest.Test(t, func(t *testing.T) {
		db, err := pebble.Open(t.TempDir(), pebble.Options{})
		if err != nil {
			t.Fatal(err)
		}
		st := &claimOnceStore{Store: db, written: map[store.WriterID]store.Claim{}}
		cameras := []*images{{}, {}}
		var engines []*Engine
		ends := make(chan int, 2)
		ctx, cancel := context.WithCancel(t.Context())
		for _, camera := range cameras {
			e := New(Options{Store: st, Sources: capture.Sources{camera}, Shards: 4, Flush: time.Minute, Checkpoint: 15 * time.Minute})
			engines = append(engines, e)
			go func() { ends <- e.Run(ctx) }()
		}
		hold := func(i int, sealing bool) {
			engines[i].Apply(Assignment{0: {Seal: sealing, Channels: []capture.Channel{{PV: "A", Settings: &capture.Settings{Retention: store.Retention{Raw: store.Keep1d}}}}}})
		}
		hold(0, true)
		hold(1, false)
		value := make([]byte, 100_000)
		value[7] = 42
		set := time.Now().UnixNano()
		for _, camera := range cameras {
			camera.sinks[0].Sample(&sample.Sample{Time: set, Bytes: value})
		}
		want := func(when string) {
			t.Helper()
			r, err := query.LastInBlocks(t.Context(), st, "A", time.Now().Add(-2*time.Hour).UnixNano())
			if err != nil {
				t.Fatal(err)
			}
			if r == nil || r.Times[0] != set || !slices.Equal(r.Value(0), value) {
				t.Errorf("%s: the last value is %v", when, r)
			}
		}
		testclock.Advance(3 * days)
		want("three days later")
		hold(0, false)
		hold(1, true)
		testclock.Advance(3 * days)
		want("three days after another engine took over")
		cancel()
		for range engines {
			if n := <-ends; n != 0 {
				t.Errorf("%d samples unsaved", n)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestRetentionChanges runs with the embedded store. TestLong_OnCassandra does the same with
// Cassandra.
func TestRetentionChanges(t *testing.T) { retentionChange(t, openStore(t)) }

package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/testclock"
)

// bubbleStore opens a store in memory that is closed after the engines of the test.
func bubbleStore(t *testing.T) store.Store {
	db, err := pebble.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// launchSkewed launches an engine with a clock that a test sets. The clocks of the store are right.
func launchSkewed(t *testing.T, st store.Store, ioc *taps, skew *skewed) *life {
	return launch(t, st, ioc, Options{Checkpoint: time.Hour, Clock: skew.clock()}, func(l *life) { l.clock.Use(timed{Store: st}) })
}

// deaths returns the marks of deaths of a PV.
func deaths(t *testing.T, st store.Store, pv string) (out []sample.Mark) {
	t.Helper()
	for m, err := range st.Marks(t.Context(), pv, 0, time.Now().Add(time.Hour).UnixNano()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == sample.Died {
			out = append(out, m.Mark)
		}
	}
	return out
}

// TestADeathIsMarkedWhateverTheClocksShow kills the only engine of a PV. Another engine connects to the
// PV two seconds later. The mark must cover these two seconds by the true time, although the clocks of
// both engines may be wrong, and may be set.
func TestADeathIsMarkedWhateverTheClocksShow(t *testing.T) {
	for name, c := range map[string]struct{ dead, step, next time.Duration }{
		"right clocks":                        {},
		"the dead engine's clock was ahead":   {dead: 20 * time.Second},
		"it was a little ahead":               {dead: 8 * time.Second},
		"it was behind":                       {dead: -20 * time.Second},
		"it was set before the death":         {step: 20 * time.Second},
		"it was set back before the death":    {dead: 20 * time.Second, step: -36 * time.Second},
		"the next engine's clock is ahead":    {next: 8 * time.Second},
		"the next engine's clock is behind":   {next: -8 * time.Second},
		"both clocks are wrong by the same":   {dead: 20 * time.Second, next: 20 * time.Second},
		"both clocks are wrong in other ways": {dead: 30 * time.Second, next: -30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, ioc, first, second := bubbleStore(t), &taps{}, &skewed{}, &skewed{}
				first.by.Store(int64(c.dead))
				second.by.Store(int64(c.next))
				a := launchSkewed(t, st, ioc, first)
				a.Apply(one(0, true, "A"))
				testclock.Advance(33 * time.Second)
				first.by.Add(int64(c.step))
				testclock.Advance(3 * time.Second)
				died := time.Now()
				a.kill()
				testclock.Advance(2 * time.Second)
				b := launchSkewed(t, st, ioc, second)
				b.Apply(one(0, true, "A"))
				connected := time.Now()
				testclock.Advance(time.Minute)
				marks := deaths(t, st, "A")
				if len(marks) != 1 {
					t.Fatalf("there are %d marks of a death, want 1", len(marks))
				}
				from, to := time.Unix(0, marks[0].Time), time.Unix(0, marks[0].End)
				if from.After(died) || died.Sub(from) > 10*time.Second || to.Before(connected) {
					t.Errorf("the mark begins %v after the death, and ends %v after the next engine had connected",
						from.Sub(died), to.Sub(connected))
				}
			})
		})
	}
}

// TestTheTimeWithoutAnEngineIsMarked stops an engine in order although no other engine captures its shard, as at
// the end of the grace period of a pod while the operator is away. The next engine begins two seconds later, and
// needs some time to connect. The mark must cover the time until then.
func TestTheTimeWithoutAnEngineIsMarked(t *testing.T) {
	for name, connects := range map[string]time.Duration{"at once": 0, "just before its death is noticed": 15500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, ioc := bubbleStore(t), &taps{}
				a := launchSkewed(t, st, ioc, &skewed{})
				a.Apply(one(0, true, "A"))
				testclock.Advance(33 * time.Second)
				a.end()
				stopped := time.Now()
				testclock.Advance(2 * time.Second)
				ioc.delay = connects
				b := launchSkewed(t, st, ioc, &skewed{})
				b.Apply(one(0, true, "A"))
				testclock.Advance(2 * time.Minute)
				connected := stopped.Add(2*time.Second + connects)
				marks := deaths(t, st, "A")
				if len(marks) != 1 {
					t.Fatalf("there are %d marks of a death, want 1", len(marks))
				}
				from, to := time.Unix(0, marks[0].Time), time.Unix(0, marks[0].End)
				if from.After(stopped) || stopped.Sub(from) > 10*time.Second || to.Before(connected) {
					t.Errorf("the mark begins %v after the stop, and ends %v after the next engine had connected", from.Sub(stopped), to.Sub(connected))
				}
			})
		})
	}
}

// TestAHandOverMarksNothing moves a shard from one engine to another, and stops the first engine then.
func TestAHandOverMarksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, ioc := bubbleStore(t), &taps{}
		a := launchSkewed(t, st, ioc, &skewed{})
		a.Apply(one(0, true, "A"))
		testclock.Advance(33 * time.Second)
		b := launchSkewed(t, st, ioc, &skewed{})
		b.Apply(one(0, false, "A"))
		testclock.Advance(5 * time.Second)
		a.Apply(nil)
		b.Apply(one(0, true, "A"))
		testclock.Advance(5 * time.Second)
		a.end()
		testclock.Advance(2 * time.Minute)
		if marks := deaths(t, st, "A"); len(marks) != 0 {
			t.Errorf("there are marks of a death: %v", marks)
		}
	})
}

// TestADeathIsMarkedForPVsThatLeftTheShard kills the engine of a shard from which a PV moves to another
// shard. The engine that seals the shard afterwards captures the PV only in the other shard, or not at
// all. Still it must mark the samples that only the dead engine had.
func TestADeathIsMarkedForPVsThatLeftTheShard(t *testing.T) {
	const wait = 2 * time.Second // from the death until the next engine captures
	for name, c := range map[string]struct {
		left   time.Duration // when the PV left the shard, after the death
		leaves bool          // it still leaves
		other  time.Duration // when the next engine began to capture the PV in the other shard, after the death; 0: never
		want   bool
	}{
		"it is leaving, and the next engine captures it in its new shard": {leaves: true, other: wait, want: true},
		"it is leaving, and another engine captures it":                   {leaves: true, want: true},
		"it left after the death":                                         {left: 10 * time.Second, other: wait, want: true},
		"it had left long before":                                         {left: -leftSlack - 20*time.Second, other: wait},
		"the next engine captured it in its new shard all the time":       {leaves: true, other: -20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, ioc := bubbleStore(t), &taps{}
				a := launchSkewed(t, st, ioc, &skewed{})
				b := launchSkewed(t, st, ioc, &skewed{})
				a.Apply(one(0, true, "A"))
				testclock.Advance(30 * time.Second)
				if c.other < 0 {
					b.Apply(one(1, true, "A"))
				}
				testclock.Advance(20 * time.Second)
				died := time.Now()
				a.kill()
				testclock.Advance(time.Until(died.Add(wait)))
				next := Assignment{1: {Seal: true}}
				if c.other != 0 {
					next = one(1, true, "A")
				}
				left := Left{PVs: []string{"A"}}
				if !c.leaves {
					left.At = died.Add(c.left).UnixNano()
				}
				next[0] = Shard{Seal: true, Left: []Left{left}}
				b.Apply(next)
				testclock.Advance(time.Minute)
				marks := deaths(t, st, "A")
				if marked := len(marks) == 1; marked != c.want || len(marks) > 1 {
					t.Fatalf("the marks of deaths are %+v", marks)
				}
				if !c.want {
					return
				}
				if m := marks[0]; m.Time > died.UnixNano() || m.End < died.Add(wait).UnixNano() || !c.leaves && m.End > left.At+int64(leftSlack) {
					t.Errorf("the mark begins %v after the death, and lasts %v", time.Unix(0, m.Time).Sub(died), time.Duration(m.End-m.Time))
				}
				if claims := claims(t, st, 0); slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Epoch == 1 }) {
					t.Error("the claim of the dead engine is still there")
				}
			})
		})
	}
}

// TestADeathDoesNotWaitForAnOldList kills the engine of a shard that PVs left long before. The next engine cannot read
// which PVs these were, and need not know.
func TestADeathDoesNotWaitForAnOldList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, ioc := bubbleStore(t), &taps{}
		a := launchSkewed(t, st, ioc, &skewed{})
		b := launchSkewed(t, st, ioc, &skewed{})
		left := Left{Unknown: true, At: time.Now().UnixNano()}
		testclock.Advance(2 * leftSlack)
		a.Apply(one(0, true, "A"))
		testclock.Advance(50 * time.Second)
		a.kill()
		testclock.Advance(2 * time.Second)
		b.Apply(Assignment{0: {Seal: true, Left: []Left{left}}})
		testclock.Advance(time.Minute)
		if claims := claims(t, st, 0); slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Epoch == 1 }) {
			t.Error("the claim of the dead engine is still there")
		}
	})
}

// TestADeathWaitsForTheListOfPVsThatLeft kills the engine of a shard, while the next engine cannot read which
// PVs left the shard. It must mark the death once it can.
func TestADeathWaitsForTheListOfPVsThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, ioc := bubbleStore(t), &taps{}
		a := launchSkewed(t, st, ioc, &skewed{})
		b := launchSkewed(t, st, ioc, &skewed{})
		a.Apply(one(0, true, "A"))
		testclock.Advance(50 * time.Second)
		a.kill()
		testclock.Advance(2 * time.Second)
		left := Left{Unknown: true, At: time.Now().UnixNano()}
		b.Apply(Assignment{0: {Seal: true, Left: []Left{left}}})
		testclock.Advance(time.Minute)
		if claims := claims(t, st, 0); !slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Epoch == 1 }) {
			t.Fatal("the claim of the dead engine is gone")
		}
		left.PVs, left.Unknown = []string{"A"}, false
		b.Apply(Assignment{0: {Seal: true, Left: []Left{left}}})
		testclock.Advance(time.Minute)
		if marks := deaths(t, st, "A"); len(marks) != 1 {
			t.Errorf("the marks of deaths are %+v", marks)
		}
	})
}

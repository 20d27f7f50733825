package admission

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(2, prometheus.NewRegistry())
		enter := func() func() {
			t.Helper()
			leave, err := g.Enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		first, second := enter(), enter()
		begun := time.Now()
		if _, err := g.Enter(t.Context()); !errors.Is(err, ErrFull) || time.Since(begun) != patience {
			t.Errorf("a third read gets %v after %v", err, time.Since(begun))
		}
		time.AfterFunc(time.Second, first)
		begun = time.Now()
		third := enter()
		if waited := time.Since(begun); waited != time.Second {
			t.Errorf("the third read waits %v, although a place becomes free after 1s", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Enter(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a read whose client has gone gets %v", err)
		}
		second()
		third()
		enter()()
	})
}

// TestFewReadsWait checks that the number of waiting reads is bounded.
func TestFewReadsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, prometheus.NewRegistry())
		leave, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range waitingPerPlace {
			go func() {
				if _, err := g.Enter(t.Context()); !errors.Is(err, ErrFull) {
					t.Errorf("a waiting read gets %v", err)
				}
			}()
		}
		synctest.Wait()
		begun := time.Now()
		if _, err := g.Enter(t.Context()); !errors.Is(err, ErrFull) || time.Since(begun) != 0 {
			t.Errorf("a read that cannot wait gets %v after %v", err, time.Since(begun))
		}
		time.Sleep(2 * patience)
		leave()
	})
}

func TestNoGateAdmitsAllReads(t *testing.T) {
	leave, err := (*Gate)(nil).Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leave()
}

// TestOneClientGetsHalf checks that a client whose reads do not end leaves half of the places, and
// of the places to wait, to others.
func TestOneClientGetsHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(4, prometheus.NewRegistry())
		slow, other := WithClient(t.Context(), "slow"), WithClient(t.Context(), "other")
		var admitted, refused atomic.Int32
		end := make(chan struct{})
		for range 500 {
			go func() {
				leave, err := g.Enter(slow)
				if err != nil {
					refused.Add(1)
					return
				}
				admitted.Add(1)
				<-end
				leave()
			}()
		}
		synctest.Wait()
		if n := admitted.Load(); n != 2 {
			t.Errorf("a client has %d of 4 places", n)
		}
		begun := time.Now()
		leave, err := g.Enter(other)
		if err != nil || time.Since(begun) != 0 {
			t.Fatalf("another client gets %v after %v", err, time.Since(begun))
		}
		leave()
		time.Sleep(2 * patience)
		if n := refused.Load(); n != 498 {
			t.Errorf("%d reads are refused", n)
		}
		close(end)
		synctest.Wait()
		if len(g.clients) > 0 {
			t.Errorf("the gate keeps %d clients without reads", len(g.clients))
		}
	})
}

// TestLargeReadsTakeSeveralPlaces checks that fewer reads are admitted if they hold much.
func TestLargeReadsTakeSeveralPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(8, prometheus.NewRegistry())
		var leaves []func()
		for _, bytes := range []int64{PlaceBytes, PlaceBytes + 1, 1 << 40} { // 2, 3, and 4 places
			leave, err := g.EnterHolding(t.Context(), bytes)
			if err == nil {
				leaves = append(leaves, leave)
			}
		}
		if len(leaves) != 2 {
			t.Errorf("%d large reads were admitted", len(leaves))
		}
		leaves[0]()
		leave, err := g.EnterHolding(t.Context(), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		leaves[1]()
	})
}

// TestSmallReadsOvertakeLargeOnes checks that a read which waits for many places delays a small read of
// another client only for some time, and one of its own client, too.
func TestSmallReadsOvertakeLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(8, prometheus.NewRegistry())
		enter := func(client string, bytes int64) (func(), time.Duration, error) {
			begun := time.Now()
			leave, err := g.EnterHolding(WithClient(t.Context(), client), bytes)
			return leave, time.Since(begun), err
		}
		must := func(client string, bytes int64, want time.Duration) func() {
			t.Helper()
			leave, waited, err := enter(client, bytes)
			if err != nil || waited != want {
				t.Fatalf("%s is admitted after %v, want %v: %v", client, waited, want, err)
			}
			return leave
		}
		must("a", 2*PlaceBytes, 0) // 3 places
		must("b", 2*PlaceBytes, 0)
		large := make(chan error)
		go func() {
			_, waited, err := enter("large", 3*PlaceBytes) // 4 places, of which 2 are free
			if waited != patience {
				t.Errorf("a large read waits %v", waited)
			}
			large <- err
		}()
		synctest.Wait()
		must("small", 0, 0)()
		must("large", 0, 0)()
		time.Sleep(overtaking)
		must("small", 0, keeping)() // the places were kept until now
		if err := <-large; !errors.Is(err, ErrFull) {
			t.Errorf("a large read without places gets %v", err)
		}
	})
}

// TestLargeReadsAreNotStarved checks that a large read is admitted although small ones take each place
// that becomes free.
func TestLargeReadsAreNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 8
		g := New(places, prometheus.NewRegistry())
		end := make(chan struct{})
		var small sync.WaitGroup
		for i := range places {
			small.Go(func() {
				ctx := WithClient(t.Context(), string(rune('a'+i)))
				time.Sleep(time.Duration(i) * time.Second / places)
				for {
					leave, err := g.Enter(ctx)
					if err != nil {
						t.Errorf("a small read gets %v", err)
						return
					}
					time.Sleep(time.Second)
					leave()
					select {
					case <-end:
						return
					default:
					}
				}
			})
		}
		time.Sleep(1500 * time.Millisecond)
		begun := time.Now()
		leave, err := g.EnterHolding(WithClient(t.Context(), "large"), 3*PlaceBytes)
		if waited := time.Since(begun); err != nil || waited < overtaking || waited > overtaking+time.Second {
			t.Errorf("a large read is admitted after %v, %v", waited, err)
		} else {
			leave()
		}
		close(end)
		small.Wait()
		if g.free != places || len(g.waiting) > 0 || len(g.clients) > 0 {
			t.Errorf("%d places are free, %d reads wait, %d clients are known", g.free, len(g.waiting), len(g.clients))
		}
	})
}

// TestALargeReadOfAFullClientKeepsNobodyWaiting checks that a read for which only the share of its client
// has no room does not delay other clients.
func TestALargeReadOfAFullClientKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(8, prometheus.NewRegistry())
		full := WithClient(t.Context(), "full")
		if _, err := g.EnterHolding(full, 0); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := g.EnterHolding(full, 3*PlaceBytes)
			done <- err
		}()
		time.Sleep(overtaking)
		begun := time.Now()
		leave, err := g.EnterHolding(WithClient(t.Context(), "other"), 3*PlaceBytes)
		if err != nil || time.Since(begun) != 0 {
			t.Fatalf("another client is admitted after %v, %v", time.Since(begun), err)
		}
		leave()
		if err := <-done; !errors.Is(err, ErrFull) {
			t.Errorf("a read beyond the share of its client gets %v", err)
		}
	})
}

// TestRefusalsSayTheLimit checks the text of an error.
func TestRefusalsSayTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, prometheus.NewRegistry())
		leave, _ := g.Enter(t.Context())
		defer leave()
		if _, err := g.Enter(t.Context()); err == nil || !strings.Contains(err.Error(), "1 at a time") {
			t.Errorf("a refused read gets %v", err)
		}
	})
}

// TestManyReadersTakeTurns checks that a client's short reads are all served, each after those that came
// before it, although the client sends far more at once than its share of places.
func TestManyReadersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, rounds, takes = 200, 5, 40 * time.Millisecond
		g := New(8, prometheus.NewRegistry())
		var mu sync.Mutex
		var longest time.Duration
		for range readers {
			go func() {
				for range rounds {
					begun := time.Now()
					leave, err := g.Enter(WithClient(t.Context(), "client"))
					if err != nil {
						t.Errorf("a reader gets %v after %v", err, time.Since(begun))
						return
					}
					mu.Lock()
					longest = max(longest, time.Since(begun))
					mu.Unlock()
					time.Sleep(takes)
					leave()
				}
			}()
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		if most := readers / 4 * takes; longest > most {
			t.Errorf("a reader waits %v, although all readers together take %v", longest, most)
		}
	})
}

// TestRefusedReadsLearnWhenToComeAgain checks the time after which a refused read may be repeated: that
// in which the reads before it end, at the pace of the latest ones.
func TestRefusedReadsLearnWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, prometheus.NewRegistry())
		after := func() time.Duration {
			t.Helper()
			_, err := g.Enter(t.Context())
			var full *FullError
			if !errors.As(err, &full) || !errors.Is(err, ErrFull) {
				t.Fatalf("a read gets %v", err)
			}
			return full.After
		}
		const takes = 100 * time.Millisecond
		for range len(g.pace.ends) {
			leave, err := g.Enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(takes)
			leave()
		}
		leave, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range waitingPerPlace {
			go func() { _, _ = g.Enter(ctx) }()
		}
		synctest.Wait()
		// The oldest of the latest ends is one read less than their number ago.
		want := (waitingPerPlace + 1) * takes * time.Duration(len(g.pace.ends)-1) / time.Duration(len(g.pace.ends))
		if got := after(); got != want {
			t.Errorf("a refused read may be repeated after %v, want %v", got, want)
		}
		time.Sleep(15 * time.Second)
		if got := after(); got != longestWait {
			t.Errorf("15 s after the last read has ended, a refused read may be repeated after %v, want %v", got, longestWait)
		}
		cancel()
		synctest.Wait()
		time.Sleep(2 * patience)
		if got := after(); got != 0 {
			t.Errorf("long after the last read has ended, a refused read may be repeated after %v", got)
		}
		leave()
	})
}

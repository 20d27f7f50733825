package search

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/test/testclock"
)

// steps runs rounds for a time d, and returns the number of names in them.
func steps(q *Queue, d time.Duration) (names int) {
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		_, n := q.Round(time.Now())
		names += n
		wait := RoundInterval
		if due, ok := q.Due(); ok {
			wait = max(wait, time.Until(due))
		}
		time.Sleep(min(wait, time.Until(end)))
	}
	return names
}

// empty returns an empty queue, in which each name needs 20 bytes.
func empty() *Queue {
	q := NewQueue(16, func(int) int { return 20 })
	return &q
}

// filled returns a queue of n names that are due now.
func filled(n int) *Queue {
	q := empty()
	for i := range n {
		q.Add(&Entry{Name: fmt.Sprint("PV", i), ID: uint32(i)}, time.Now())
	}
	return q
}

func TestNameIsSearchedForWithBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(1)
		if n := steps(q, time.Second); n < 4 || n > 8 {
			t.Errorf("%d searches in the first second", n)
		}
		if n := steps(q, 10*time.Minute); n < 40 || n > 75 {
			t.Errorf("%d searches in ten minutes, want one every 5 s at first, and every 37 s at the end", n)
		}
	})
}

func TestManyNamesLeaveRoomForNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(20_000)
		steps(q, 2*time.Minute) // then all names have reached the maximum delay
		if rate := steps(q, time.Minute) / 60; rate > 3*steadyNames/2 {
			t.Errorf("%d names a second in the end", rate)
		}
		if late := time.Since(q.entries[0].due); late > time.Second {
			t.Errorf("the queue is %v behind", late)
		}
	})
}

func TestManyNamesAreSearchedForAtTheSteadyRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if rate := steps(filled(20_000), time.Minute) / 60; rate < steadyNames || rate > 3*steadyNames/2 {
			t.Errorf("minute 1: %d searches a second, want %d to %d", rate, steadyNames, 3*steadyNames/2)
		}
	})
}

func TestNamesThatNoServerHasAreSearchedForLessAndLess(t *testing.T) { searchInVain(t, 2000) }

func TestLong_NamesThatNoServerHasAreSearchedForLessAndLess(t *testing.T) { searchInVain(t, 20_000) }

// searchInVain counts the searches for names that no server has.
func searchInVain(t *testing.T, names int) {
	delay := max(MaxDelay, time.Duration(names)*time.Second/steadyNames) // delay of a new name after a while
	once := int(time.Duration(names) * time.Second / delay)              // searches per second with this delay
	synctest.Test(t, func(t *testing.T) {
		q := filled(names)
		began := time.Now()
		for _, c := range []struct{ minute, least, most int }{
			{5, names / 20, names * 3 / 40}, {30, names * 3 / 200, names * 9 / 500},
		} {
			steps(q, time.Until(began.Add(time.Duration(c.minute-1)*time.Minute)))
			rate := steps(q, time.Minute) / 60
			t.Logf("minute %d: %d searches a second", c.minute, rate)
			if rate < c.least || rate > c.most {
				t.Errorf("minute %d: %d searches a second, want %d to %d", c.minute, rate, c.least, c.most)
			}
		}
		q.NoteAnomaly(time.Now())
		steps(q, anomalyDelay)
		if rate := steps(q, time.Minute) / 60; rate < once {
			t.Errorf("%d searches a second after an anomaly", rate)
		}
		lost := &Entry{Name: "LOST"}
		q.Add(lost, time.Now())
		steps(q, time.Minute)
		if d := lost.Delay(); d > delay+time.Second {
			t.Errorf("a name that was just lost is searched for every %v", d)
		}
	})
}

func TestNameThatIsLostAgainStartsWithShortDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(1)
		steps(q, time.Hour)
		e := q.entries[0]
		if e.Delay() != rareDelay {
			t.Errorf("a delay of %v after an hour", e.Delay())
		}
		if q.Found(e); e.Delay() != MaxDelay {
			t.Errorf("a delay of %v when it was found", e.Delay())
		}
	})
}

func TestBeaconAnomalyHastensTheSearchForAllNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(1000)
		steps(q, time.Minute)
		q.NoteAnomaly(time.Now())
		if n := steps(q, anomalyDelay+10*RoundInterval); n < 1000 || n > 1500 {
			t.Errorf("%d searches for 1000 names", n)
		}
	})
}

func TestManyBeaconAnomaliesCauseFewSearches(t *testing.T) { makeAnomalies(t, 20*time.Second) }

func TestLong_ManyBeaconAnomaliesCauseFewSearches(t *testing.T) { makeAnomalies(t, time.Minute) }

// makeAnomalies counts the searches for 20,000 names while ten anomalies per second arrive.
func makeAnomalies(t *testing.T, d time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(20_000)
		steps(q, time.Minute)
		searches := 0
		for range d / (100 * time.Millisecond) {
			q.NoteAnomaly(time.Now())
			searches += steps(q, 100*time.Millisecond)
		}
		if rate := searches / int(d.Seconds()); rate > 7*steadyNames/2 { // about 3 times as many
			t.Errorf("%d searches a second in a storm of anomalies", rate)
		}
	})
}

func TestBeaconAnomalyThatHadToWaitIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(10_000) // a search for so many names costs 5 s
		q.anomalies.paid = time.Now().Add(12 * time.Second)
		q.NoteAnomaly(time.Now())
		if wait := time.Until(q.anomalies.due); wait < 7*time.Second || wait > 7*time.Second+anomalyDelay {
			t.Fatalf("the anomaly waits for %v", wait)
		}
		steps(q, 8*time.Second)
		if !q.anomalies.due.IsZero() {
			t.Error("the anomaly still waits")
		}
	})
}

func TestRoundsGrowWhileAnswersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(20_000)
		round := func() (names []*Entry, datagrams int) {
			batches, n := q.Round(time.Now())
			for _, b := range batches {
				if size := 16 + 20*len(b.Entries); size > MaxDatagram {
					t.Errorf("a datagram of %d bytes", size)
				}
				names = append(names, b.Entries...)
			}
			if n != len(names) {
				t.Errorf("%d names, reported as %d", len(names), n)
			}
			time.Sleep(RoundInterval)
			return names, len(batches)
		}
		for _, want := range []int{8, 15, 22, 24} { // the names of 8 datagrams fill 7.9 times MaxDatagram bytes
			names, datagrams := round()
			if datagrams != want {
				t.Errorf("%d datagrams, want %d", datagrams, want)
			}
			for _, e := range names {
				q.Found(e)
			}
		}
		round()
		if _, datagrams := round(); datagrams != roundDatagrams {
			t.Errorf("%d datagrams when no more answers come", datagrams)
		}
	})
}

func TestRemovedNameIsNotSearchedFor(t *testing.T) {
	q := empty()
	entries := make([]Entry, 10)
	for i := range entries {
		q.Add(&entries[i], time.Now().Add(-time.Duration(i)*time.Second))
	}
	for i := range 5 {
		q.Remove(&entries[2*i])
	}
	batches, names := q.Round(time.Now())
	for i := range 5 {
		if len(batches) != 1 || slices.Contains(batches[0].Entries, &entries[2*i]) {
			t.Errorf("entry %d was searched for", 2*i)
		}
	}
	if names != 5 || q.Len() != 5 {
		t.Errorf("%d were searched for, %d are left", names, q.Len())
	}
}

func TestLoopRunsRoundsWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		q := empty()
		rounds := 0
		l := NewLoop(func() (time.Time, bool) {
			mu.Lock()
			defer mu.Unlock()
			return q.Due()
		}, func() bool {
			mu.Lock()
			defer mu.Unlock()
			rounds++
			_, names := q.Round(time.Now())
			return names > 0
		})
		ran := func() int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return rounds
		}
		go l.Run(t.Context())
		before := ran()
		testclock.Advance(time.Hour)
		if n := ran() - before; n > 0 {
			t.Errorf("%d rounds for nothing", n)
		}
		mu.Lock()
		q.Add(&Entry{}, time.Now().Add(time.Second))
		mu.Unlock()
		l.Wake()
		testclock.Advance(999 * time.Millisecond)
		if n := ran() - before; n > 0 {
			t.Errorf("%d rounds before the name was due", n)
		}
		testclock.Advance(time.Millisecond)
		if n := ran() - before; n != 1 {
			t.Errorf("%d rounds when the name was due", n)
		}
	})
}

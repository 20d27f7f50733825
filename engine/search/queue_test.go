package search

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// steps runs rounds for a while, each of at most 700 names, and returns how many
// names they took.
func steps(q *Queue, d time.Duration) (taken int) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(RoundInterval) {
		room := 700
		taken += q.Round(time.Now(), func(*Entry) bool { room--; return room >= 0 })
	}
	return taken
}

// filled returns a queue of n names that are due now.
func filled(n int) *Queue {
	q := &Queue{}
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
		if n := steps(q, 10*time.Minute); n < 100 || n > 170 {
			t.Errorf("%d searches in ten minutes, want one in about 5 s", n)
		}
	})
}

func TestManyNamesLeaveRoomForNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(20_000)
		steps(q, 2*time.Minute) // then all have reached the longest delay
		if rate := steps(q, time.Minute) / 60; rate > 3*steadyRate/2 {
			t.Errorf("%d names a second in the end", rate)
		}
		if late := time.Since(q.entries[0].due); late > time.Second {
			t.Errorf("the queue is %v behind", late)
		}
	})
}

func TestNewsHaveAllNamesSearchedForSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(1000)
		steps(q, time.Minute)
		q.News(time.Now())
		if n := steps(q, newsSpread+2*RoundInterval); n != 1000 {
			t.Errorf("%d of 1000 names searched for", n)
		}
	})
}

func TestManyNewsCauseFewSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(1000)
		steps(q, time.Minute)
		quiet := steps(q, time.Minute)
		searches := 0
		for range 600 { // ten a second
			q.News(time.Now())
			searches += steps(q, 100*time.Millisecond)
		}
		if searches > 6*quiet {
			t.Errorf("%d searches in a minute of news, %d in a quiet one", searches, quiet)
		}
	})
}

func TestNewsThatHadToWaitAreTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := filled(100)
		for range newsBurst + 1 {
			q.News(time.Now())
		}
		steps(q, time.Minute)
		for range newsBurst + 1 {
			q.News(time.Now())
		}
		due, _ := q.Due()
		steps(q, newsSpread+2*RoundInterval)
		if q.news.IsZero() || due.After(time.Now()) {
			t.Fatal("no news wait")
		}
		steps(q, 2*newsInterval)
		if !q.news.IsZero() {
			t.Error("the news still wait")
		}
	})
}

func TestRemovedNameIsNotSearchedFor(t *testing.T) {
	q := &Queue{}
	entries := make([]Entry, 10)
	for i := range entries {
		q.Add(&entries[i], time.Now().Add(-time.Duration(i)*time.Second))
	}
	for i := range 5 {
		q.Remove(&entries[2*i])
	}
	q.Round(time.Now(), func(e *Entry) bool {
		for i := range 5 {
			if e == &entries[2*i] {
				t.Errorf("entry %d was searched for", 2*i)
			}
		}
		return true
	})
	left := 0
	q.All(func(*Entry) { left++ })
	if left != 5 || q.Len() != 5 {
		t.Errorf("%d are left", left)
	}
}

func TestLoopRunsRoundsWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var q Queue
		rounds := 0
		l := NewLoop(func() (time.Time, bool) {
			mu.Lock()
			defer mu.Unlock()
			return q.Due()
		}, func() bool {
			mu.Lock()
			defer mu.Unlock()
			rounds++
			return q.Round(time.Now(), func(*Entry) bool { return true }) > 0
		})
		ran := func() int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return rounds
		}
		go l.Run(t.Context())
		before := ran()
		time.Sleep(time.Hour)
		if n := ran() - before; n > 0 {
			t.Errorf("%d rounds for nothing", n)
		}
		mu.Lock()
		q.Add(&Entry{}, time.Now().Add(time.Second))
		mu.Unlock()
		l.Wake()
		time.Sleep(999 * time.Millisecond)
		if n := ran() - before; n > 0 {
			t.Errorf("%d rounds before the name was due", n)
		}
		time.Sleep(time.Millisecond)
		if n := ran() - before; n != 1 {
			t.Errorf("%d rounds when the name was due", n)
		}
	})
}

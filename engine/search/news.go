package search

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

const (
	// newsDelay is up to how long after news the search is hastened, so that many
	// clients that heard it do not search together.
	newsDelay = 500 * time.Millisecond
	// newsCost is the least time that a hastened search is paid for with.
	newsCost = time.Second
)

// news says when the search is to be hastened. Each time is paid for with the time
// that all names take at steadyNames a second. One may be owed.
type news struct {
	due  time.Time // zero if there are none
	paid time.Time // when all that were acted on are paid for
}

// News has all names searched for soon, as a server came up, and as often as new ones
// then. Too many news wait a while, and become one.
func (q *Queue) News(now time.Time) {
	if len(q.entries) == 0 || !q.news.due.IsZero() {
		return
	}
	q.news.due = latest(now, q.news.paid.Add(-q.cost())).Add(rand.N(newsDelay))
}

// cost returns the time that hastening the search is paid for with.
func (q *Queue) cost() time.Duration {
	return max(newsCost, time.Duration(len(q.entries))*time.Second/steadyNames)
}

// actOnNews hastens the search if it is time to.
func (q *Queue) actOnNews(now time.Time) {
	if q.news.due.IsZero() || now.Before(q.news.due) {
		return
	}
	q.news = news{paid: latest(now, q.news.paid).Add(Jitter(q.cost()))}
	q.Hasten(now)
}

// Hasten has all names searched for now, as there is somebody new to ask, and again
// somewhat sooner than new names would be. Repeated as often as news are paid for, it has
// three searches for a name where there was one.
func (q *Queue) Hasten(now time.Time) {
	delay := q.longest(0) / 4
	for _, e := range q.entries {
		e.due, e.since, e.delay = now, now, min(e.Delay(), delay)
	}
	heap.Init(&q.entries)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

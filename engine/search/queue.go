package search

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

const (
	// MinDelay is the first delay between the searches for a name.
	MinDelay = 30 * time.Millisecond
	// MaxDelay is the longest while few names are searched for.
	MaxDelay = 5 * time.Second
	// steadyRate is the most names a second that are searched for when all have
	// reached the longest delay: with many names it grows, so that there is always
	// room for new ones.
	steadyRate = 2000

	// RoundInterval is the least time between two rounds, so that channels
	// subscribed together are searched for together.
	RoundInterval = 20 * time.Millisecond

	// News are taken up newsBurst times in a row, and once in newsInterval then. The
	// searches that follow are spread, so that not all clients that heard them ask
	// at once, and begin with newsDelay: the server is there already.
	newsBurst    = 4
	newsInterval = 5 * time.Second
	newsSpread   = 100 * time.Millisecond
	newsDelay    = 500 * time.Millisecond
)

// Entry is a name that is searched for. Name and ID are set before it is added.
type Entry struct {
	Name string
	ID   uint32 // stands for the name in messages

	due   time.Time
	delay time.Duration // until the search after the next; 0 is MinDelay
	index int           // in the queue
}

// Delay returns how long the back-off has grown.
func (e *Entry) Delay() time.Duration { return max(e.delay, MinDelay) }

// Restart begins the back-off again. The entry is in no queue.
func (e *Entry) Restart() { e.delay = MinDelay }

// Queue holds the names to search for, by due time. Its user guards it.
type Queue struct {
	entries entries
	// credit is how many news may be taken up at once, as of the time counted.
	credit  float64
	counted time.Time
	news    time.Time // when news that wait are taken up; zero if none do
}

// Len returns the number of names.
func (q *Queue) Len() int { return len(q.entries) }

// All calls f for every entry, in no order, which must not change the queue.
func (q *Queue) All(f func(*Entry)) {
	for _, e := range q.entries {
		f(e)
	}
}

// Add puts an entry into the queue.
func (q *Queue) Add(e *Entry, due time.Time) {
	e.due = due
	heap.Push(&q.entries, e)
}

// Remove takes an entry out. It is in the queue.
func (q *Queue) Remove(e *Entry) { heap.Remove(&q.entries, e.index) }

// Due returns when the next round has something to do, if ever.
func (q *Queue) Due() (due time.Time, ok bool) {
	if len(q.entries) == 0 {
		return time.Time{}, false
	}
	due = q.entries[0].due
	if !q.news.IsZero() && q.news.Before(due) {
		due = q.news
	}
	return due, true
}

// Round offers the names that are due to take, until it returns false as it has no
// room, and sets when each that was taken is due again. It returns their number.
func (q *Queue) Round(now time.Time, take func(*Entry) bool) (names int) {
	if !q.news.IsZero() && !q.news.After(now) {
		q.News(now)
	}
	longest := max(MaxDelay, time.Duration(len(q.entries))*time.Second/steadyRate)
	for len(q.entries) > 0 {
		e := q.entries[0]
		if e.due.After(now) || !take(e) {
			break
		}
		names++
		delay := e.Delay()
		e.due, e.delay = now.Add(Jitter(delay)), min(2*delay, longest)
		heap.Fix(&q.entries, 0)
	}
	return names
}

// News has all names searched for soon, as a server came up or can be asked now.
// Too many news wait a while, and become one.
func (q *Queue) News(now time.Time) {
	q.credit = min(newsBurst, q.credit+float64(now.Sub(q.counted))/float64(newsInterval))
	q.counted = now
	if q.credit < 1 {
		if q.news.IsZero() {
			q.news = now.Add(Jitter(newsInterval))
		}
		return
	}
	q.credit--
	q.news = time.Time{}
	for _, e := range q.entries {
		e.delay = min(e.Delay(), newsDelay)
		if soon := now.Add(rand.N(newsSpread)); soon.Before(e.due) {
			e.due = soon
		}
	}
	heap.Init(&q.entries)
}

// entries is a heap.
type entries []*Entry

// Len is for package heap, as are the methods that follow.
func (q entries) Len() int           { return len(q) }
func (q entries) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q entries) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push is for package heap.
func (q *entries) Push(x any) {
	e := x.(*Entry)
	e.index = len(*q)
	*q = append(*q, e)
}

// Pop is for package heap.
func (q *entries) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}

package search

import (
	"container/heap"
	"net/netip"
	"time"
)

const (
	// MinDelay is the first delay between the searches for a name.
	MinDelay = 30 * time.Millisecond
	// MaxDelay is the longest delay between two searches for a name, while the queue has
	// few names. For a name that was searched for long, it grows to a rareShare of that
	// time, up to rareDelay: a name that no server had for a quarter of an hour is not
	// expected any moment, and a beacon anomaly hastens its search.
	MaxDelay  = 5 * time.Second
	rareDelay = time.Minute
	rareShare = 16
	// steadyNames is the most names a second in the long run. With many names, the
	// longest delay grows so far that there is always room for new names.
	steadyNames = 2000
	// retryNames is the most repeated searches a second while delays still grow: with
	// many names, a name is searched for again when all names had their turn.
	retryNames = 7000

	// RoundInterval is the least time between two rounds, so that a round has all
	// channels that were subscribed together. A round has at most roundDatagrams: some
	// 14,000 names a second. While answers come, it has more: as many as the previous
	// round had answers for, up to answeredDatagrams.
	RoundInterval     = 20 * time.Millisecond
	roundDatagrams    = 8
	answeredDatagrams = 24
	// MaxDatagram fits an Ethernet frame, and a VPN's.
	MaxDatagram = 1400
)

// Entry is a name to search for. Name and ID are set before the entry is added to a
// Queue, and never change.
type Entry struct {
	Name string
	ID   uint32 // stands for the name in messages
	// Home is the server that had the channel last, unless it no longer has the channel.
	// It may be set while the entry is in no queue.
	Home netip.AddrPort

	due       time.Time
	since     time.Time      // when the search for the name began, or was hastened
	delay     time.Duration  // between the next search and the one after it; 0 is MinDelay
	index     int            // in the queue
	lost      *lostServer    // Home, while the client searches for the name again
	duplicate netip.AddrPort // another server that has the name
}

// Delay returns the delay that the back-off has grown to.
func (e *Entry) Delay() time.Duration { return max(e.delay, MinDelay) }

// Restart begins the back-off again. The entry is in no queue.
func (e *Entry) Restart() { e.delay = MinDelay }

// Batch is the names of one datagram.
type Batch []*Entry

// Queue has the names to search for, by due time. The client's lock guards it.
type Queue struct {
	head      int
	size      func(name int) int
	entries   entries
	answered  int // bytes of searches that were answered since the last round
	anomalies anomalies
}

// NewQueue returns an empty Queue. A datagram has head bytes beside its names, and size
// returns how many bytes a name of some length takes.
func NewQueue(head int, size func(name int) int) Queue { return Queue{head: head, size: size} }

// Len returns the number of names.
func (q *Queue) Len() int { return len(q.entries) }

// Add adds an entry, which is due for its first search at a time.
func (q *Queue) Add(e *Entry, due time.Time) {
	e.due, e.since = due, due
	heap.Push(&q.entries, e)
}

// Remove removes an entry, which is in the queue.
func (q *Queue) Remove(e *Entry) { heap.Remove(&q.entries, e.index) }

// Found removes an entry, because a server answered for it.
func (q *Queue) Found(e *Entry) {
	q.Remove(e)
	e.delay = min(e.delay, q.longest(0))
	q.answered += q.size(len(e.Name))
}

// Due returns when the next round is due. ok is false if the queue is empty.
func (q *Queue) Due() (due time.Time, ok bool) {
	if len(q.entries) == 0 {
		return time.Time{}, false
	}
	due = q.entries[0].due
	if n := q.anomalies.due; !n.IsZero() && n.Before(due) {
		due = n
	}
	return due, true
}

// Round returns the names to search for now, and schedules the next search for each.
func (q *Queue) Round(now time.Time) (batches []Batch, names int) {
	q.handleAnomaly(now)
	most := min(roundDatagrams+q.answered/MaxDatagram, answeredDatagrams)
	q.answered = 0
	shortest := time.Duration(len(q.entries)) * time.Second / retryNames
	room := 0
	for len(q.entries) > 0 && !q.entries[0].due.After(now) {
		e := q.entries[0]
		need := q.size(len(e.Name))
		if need > room {
			if len(batches) == most {
				break
			}
			batches, room = append(batches, nil), MaxDatagram-q.head
		}
		room -= need
		last := &batches[len(batches)-1]
		*last = append(*last, e)
		names++
		delay := max(e.Delay(), shortest)
		e.due, e.delay = now.Add(Jitter(delay)), min(2*delay, q.longest(now.Sub(e.since)))
		heap.Fix(&q.entries, 0)
	}
	return batches, names
}

// longest returns the longest delay between two searches for a name. age is how long the
// client has searched for the name.
func (q *Queue) longest(age time.Duration) time.Duration {
	many := time.Duration(len(q.entries)) * time.Second / steadyNames
	return max(MaxDelay, many, min(age/rareShare, rareDelay))
}

package search

import (
	"container/heap"
	"net/netip"
	"time"
)

const (
	// MinDelay is the first delay between the searches for a name.
	MinDelay = 30 * time.Millisecond
	// MaxDelay is the longest while few names are searched for, and not for long. It
	// grows with the time that a name is searched for, up to rareDelay: a name that
	// nobody has had for a quarter of an hour is not expected any moment, and news of
	// servers have it searched for soon.
	MaxDelay  = 5 * time.Second
	rareDelay = time.Minute
	rareShare = 16
	// steadyNames is the most names a second that are searched for when all have
	// reached the longest delay: with many names that grows, too, so that there is
	// always room for new ones.
	steadyNames = 2000
	// retryNames is the most names a second that are searched for again before: with
	// many names, the search for one is repeated when all had their turn.
	retryNames = 7000

	// RoundInterval is the least time between two rounds, so that channels
	// subscribed together are searched for together. A round has at most
	// roundDatagrams: some 14,000 names a second. While answers come, it has as many
	// more as the last one had answers for, up to answeredDatagrams.
	RoundInterval     = 20 * time.Millisecond
	roundDatagrams    = 8
	answeredDatagrams = 24
	// MaxDatagram fits an Ethernet frame, and a VPN's.
	MaxDatagram = 1400
)

// Entry is a name that is searched for. Name and ID are set before it is added, and
// never change.
type Entry struct {
	Name string
	ID   uint32 // stands for the name in messages
	// Home is the server that had the channel last, unless that one would not have it
	// any more. It may be set while the entry is in no queue.
	Home netip.AddrPort

	due       time.Time
	since     time.Time      // of being searched for, or of the latest news
	delay     time.Duration  // until the search after the next; 0 is MinDelay
	index     int            // in the queue
	lost      *lostServer    // Home, while the client searches for the name again
	duplicate netip.AddrPort // another server that has the name
}

// Delay returns how long the back-off has grown.
func (e *Entry) Delay() time.Duration { return max(e.delay, MinDelay) }

// Restart begins the back-off again. The entry is in no queue.
func (e *Entry) Restart() { e.delay = MinDelay }

// Batch is the names of one datagram.
type Batch []*Entry

// Queue holds the names to search for, by due time. Its user guards it.
type Queue struct {
	head      int
	size      func(name int) int
	entries   entries
	answered  int // bytes of searches that were answered since the last round
	anomalies anomalies
}

// NewQueue returns an empty Queue. A datagram has head bytes beside its names, and
// size bytes for a name of some length.
func NewQueue(head int, size func(name int) int) Queue { return Queue{head: head, size: size} }

// Len returns the number of names.
func (q *Queue) Len() int { return len(q.entries) }

// Add puts an entry into the queue, to be searched for from due on.
func (q *Queue) Add(e *Entry, due time.Time) {
	e.due, e.since = due, due
	heap.Push(&q.entries, e)
}

// Remove takes an entry out. It is in the queue.
func (q *Queue) Remove(e *Entry) { heap.Remove(&q.entries, e.index) }

// Found takes an entry out, as a server answered for it.
func (q *Queue) Found(e *Entry) {
	q.Remove(e)
	e.delay = min(e.delay, q.longest(0))
	q.answered += q.size(len(e.Name))
}

// Due returns when the next round has something to do, if ever.
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

// Round returns the names to search for now, and sets when each is due again.
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

// longest returns the longest delay between two searches for a name that is searched
// for so long.
func (q *Queue) longest(age time.Duration) time.Duration {
	many := time.Duration(len(q.entries)) * time.Second / steadyNames
	return max(MaxDelay, many, min(age/rareShare, rareDelay))
}

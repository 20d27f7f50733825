package search

import (
	"container/heap"
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"time"
)

const (
	// MinDelay is the delay between the first two searches for a name.
	MinDelay = 30 * time.Millisecond
	// MaxDelay is the maximum delay between two searches for a name, with two exceptions. With
	// more than 10,000 names in the queue, the maximum is longer (see steadyNames). If the
	// client has searched for a name for long, the maximum is this time divided by rareShare,
	// but not more than rareDelay. Such a name is not expected at any moment, and a beacon
	// anomaly hastens its search.
	MaxDelay  = 5 * time.Second
	rareDelay = time.Minute
	rareShare = 16
	// steadyNames is the maximum number of names per second in the long run. With many names,
	// the maximum delay grows so far that there is always room for new names.
	steadyNames = 2000
	// retryNames is the maximum number of repeated searches per second while delays still
	// grow. With many names, the client searches for a name again only when it has searched
	// for all others.
	retryNames = 7000

	// RoundInterval is the minimum time between two rounds, so that a round has all channels
	// that were subscribed together. A round has at most roundDatagrams datagrams, which is
	// about 14,000 names per second. While answers arrive, it may have more: one more for each
	// MaxDatagram bytes of searches that were answered since the previous round, and at most
	// answeredDatagrams.
	RoundInterval     = 20 * time.Millisecond
	roundDatagrams    = 8
	answeredDatagrams = 24
	// MaxDatagram is the maximum size of a datagram in bytes. It fits in a frame of an
	// Ethernet or a VPN.
	MaxDatagram = 1400
)

// Entry is a name to search for. Name and ID are set before the entry is added to a
// Queue, and never change.
type Entry struct {
	Name string
	ID   uint32 // represents the name in messages
	// Home is the last server that had the channel. It is the zero address if this server no
	// longer has the channel. It may only be set while the entry is in no queue.
	Home netip.AddrPort

	due       time.Time
	since     time.Time      // time at which the search for the name began or was hastened
	delay     time.Duration  // from the next search to the one after it; 0 means MinDelay
	index     int            // in the queue
	lost      *lostServer    // the server Home, while the client searches for the name again
	duplicate netip.AddrPort // another server that has the name
	first     uint32         // sequence number of the first datagram that may have the name
}

// Delay returns the current delay of the back-off.
func (e *Entry) Delay() time.Duration { return max(e.delay, MinDelay) }

// Restart begins the back-off again. The entry must not be in a queue.
func (e *Entry) Restart() { e.delay = MinDelay }

// Batch has the names of one datagram, and the sequence number of the datagram.
type Batch struct {
	Sequence uint32
	Entries  []*Entry
}

// sequenceWindow is the number of latest datagrams to which the client accepts answers.
const sequenceWindow = 1 << 16

// Queue has the names to search for, ordered by due time. The client's lock guards it.
type Queue struct {
	sequence  uint32 // of the last datagram
	head      int
	size      func(name int) int
	entries   entries
	answered  int // size in bytes of the searches that were answered since the last round
	anomalies anomalies
}

// NewQueue returns an empty Queue. head is the number of bytes of a datagram without its
// names. size returns the number of bytes that a datagram needs for a name of a given length.
// The sequence numbers of datagrams begin at a random number, so that only the servers that
// got a datagram know its number.
func NewQueue(head int, size func(name int) int) Queue {
	return Queue{sequence: RandomNumber(), head: head, size: size}
}

// RandomNumber returns a number that nobody outside the process can predict.
func RandomNumber() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint32(b[:])
}

// Len returns the number of names.
func (q *Queue) Len() int { return len(q.entries) }

// Add adds an entry. Its first search is at the time due.
func (q *Queue) Add(e *Entry, due time.Time) {
	e.due, e.since, e.first = due, due, q.sequence+1
	heap.Push(&q.entries, e)
}

// Remove removes an entry, which must be in the queue.
func (q *Queue) Remove(e *Entry) { heap.Remove(&q.entries, e.index) }

// Found removes an entry, because a server answered for it.
func (q *Queue) Found(e *Entry) {
	q.Remove(e)
	e.delay = min(e.delay, q.longest(0))
	q.answered += q.size(len(e.Name))
}

// Answers reports whether a sequence number belongs to a datagram that was sent since the
// search for the name of e began. EPICS base may answer several datagrams of a client at once,
// with the number of the last one. Therefore the datagram need not be one that had the name.
func (q *Queue) Answers(e *Entry, sequence uint32) bool {
	sent := q.sequence + 1 - e.first // number of datagrams since the search began
	return q.sequence-sequence < min(sent, sequenceWindow)
}

// Due returns the time at which the next round is due. ok is false if the queue is empty.
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
			q.sequence++
			batches, room = append(batches, Batch{Sequence: q.sequence}), MaxDatagram-q.head
		}
		room -= need
		last := &batches[len(batches)-1]
		last.Entries = append(last.Entries, e)
		names++
		delay := max(e.Delay(), shortest)
		e.due, e.delay = now.Add(Jitter(delay)), min(2*delay, q.longest(now.Sub(e.since)))
		heap.Fix(&q.entries, 0)
	}
	return batches, names
}

// longest returns the maximum delay between two searches for a name. age is the time for which
// the client has searched for the name.
func (q *Queue) longest(age time.Duration) time.Duration {
	many := time.Duration(len(q.entries)) * time.Second / steadyNames
	return max(MaxDelay, many, min(age/rareShare, rareDelay))
}

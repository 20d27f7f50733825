package search

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

const (
	// anomalyDelay is the maximum random delay between an anomaly and the hastened search.
	// Because of this delay, clients that received the same beacon do not search together.
	anomalyDelay = 500 * time.Millisecond
	// anomalyCost is the minimum cost of a hastened search.
	anomalyCost = time.Second
)

// anomalies determines when beacon anomalies hasten the search. The cost of a hastened search
// is the time of a search for all names at steadyNames per second. Each second that passes
// pays for a second of cost. An anomaly waits until at most the cost of one hastened search is
// unpaid.
type anomalies struct {
	due  time.Time // when to hasten the search; zero if no anomaly waits
	paid time.Time // when all hastened searches are paid for
}

// NoteAnomaly schedules a search for all names soon, because a beacon showed that a server has
// started. Afterwards the client searches for these names about as often as for new ones. If
// anomalies follow each other too fast, they wait, and one search handles all of them.
func (q *Queue) NoteAnomaly(now time.Time) {
	if len(q.entries) == 0 || !q.anomalies.due.IsZero() {
		return
	}
	q.anomalies.due = latest(now, q.anomalies.paid.Add(-q.cost())).Add(rand.N(anomalyDelay))
}

// cost returns the cost of a hastened search.
func (q *Queue) cost() time.Duration {
	return max(anomalyCost, time.Duration(len(q.entries))*time.Second/steadyNames)
}

// handleAnomaly hastens the search if an anomaly is due.
func (q *Queue) handleAnomaly(now time.Time) {
	if q.anomalies.due.IsZero() || now.Before(q.anomalies.due) {
		return
	}
	q.anomalies = anomalies{paid: latest(now, q.anomalies.paid).Add(Jitter(q.cost()))}
	q.Hasten(now)
}

// Hasten makes all names due now, because there is a new server or address to search. Their
// next delays are somewhat shorter than those of new names. If Hasten is called as often as
// anomalies allow, it triples the number of searches for a name.
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

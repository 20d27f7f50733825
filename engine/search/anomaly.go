package search

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

const (
	// anomalyDelay is the longest time between an anomaly and the hastened search. The
	// delay is random, so that clients that heard the same beacon do not search together.
	anomalyDelay = 500 * time.Millisecond
	// anomalyCost is the least time that a hastened search costs.
	anomalyCost = time.Second
)

// anomalies says when beacon anomalies hasten the search. Each hastened search costs
// the time that a search for all names takes at steadyNames a second. The next one
// waits until at most one cost is unpaid.
type anomalies struct {
	due  time.Time // when to hasten the search; zero if no anomaly waits
	paid time.Time // when all hastened searches are paid for
}

// NoteAnomaly schedules a search for all names soon, because a beacon showed that a
// server came up. Afterwards they are searched for as often as new names. Anomalies
// that come too fast wait, and are handled together.
func (q *Queue) NoteAnomaly(now time.Time) {
	if len(q.entries) == 0 || !q.anomalies.due.IsZero() {
		return
	}
	q.anomalies.due = latest(now, q.anomalies.paid.Add(-q.cost())).Add(rand.N(anomalyDelay))
}

// cost returns the time that a hastened search costs.
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

// Hasten makes all names due now, because there is a new server or address to search.
// Their next delays are somewhat shorter than those of new names. Repeated as often as
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

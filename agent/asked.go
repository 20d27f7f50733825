package agent

import (
	"net/http"
	"sync"
	"time"

	"varve.dev/varve/cluster/report"
)

// askedWithin is the time between two requests of an operator, at most, while the operator is there. It
// requests a report every few seconds.
const askedWithin = 15 * time.Second

// asked notes when an operator requested the report of this engine.
type asked struct {
	mu sync.Mutex
	// last is the latest request, and since the first one after the latest break.
	since, last time.Time
}

// note notes a request, if it is from an operator.
func (a *asked) note(r *http.Request, now time.Time) {
	if !r.URL.Query().Has(report.ByOperator) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.last) > askedWithin {
		a.since = now
	}
	a.last = now
}

// operator reports whether an operator is there, and since when without a break.
func (a *asked) operator(now time.Time) (there bool, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Sub(a.last) <= askedWithin, a.since
}

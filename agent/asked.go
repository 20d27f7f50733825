package agent

import (
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"varve.dev/varve/cluster/report"
)

// askedWithin is the time between two requests of an operator, at most, while the operator is there. It
// requests a report every few seconds.
const askedWithin = 15 * time.Second

// asked notes when an operator requested the report of this engine, and whether this engine still has the right
// to its Lease.
type asked struct {
	mu sync.Mutex
	// last is the latest request, and since the first one after the latest break.
	since, last time.Time
	// denied is when the API server first denied a renewal of the Lease; zero if it allowed the latest one.
	denied time.Time
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

// noteLease notes the result of a renewal of the Lease. The API server denies it while the namespace or the
// engine's Role is being deleted.
func (a *asked) noteLease(err error, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.denied = time.Time{}
	case a.denied.IsZero() && (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)):
		a.denied = now
	}
}

// settled reports whether nobody can be waited for: an operator is there, or this engine has lost its rights, so
// that it would not see an order. since is when that began.
func (a *asked) settled(now time.Time) (is bool, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.denied.IsZero() {
		return true, a.denied
	}
	return now.Sub(a.last) <= askedWithin, a.since
}

package through

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/upstream"
)

// Times of the list of names.
const (
	// listFresh is how long a list counts.
	listFresh = 5 * time.Minute
	// listOld is how long a list is used at once while it is read again. It is short, because a list lacks the PVs that the
	// older archive has got since.
	listOld = 2 * listFresh
	// listStale is how long a list is used if it cannot be read again, or not within listWait.
	listStale = 24 * time.Hour
	// listRetry is how long no request is sent after one that has failed.
	listRetry = 30 * time.Second
	// listTime is how long reading the list may take.
	listTime = 5 * time.Minute
	// listWait is how long a request waits for a list, so that it does not hold a place for long.
	listWait = 10 * time.Second
)

// list is the list of all names of the older archive. A goroutine of the Archive reads it again:
//
//	request ─▶ names ─┬─ last list, younger than listOld ──────────────────▶ answer
//	                  ├─ else waits for listWait at most ──────────────────▶ answer, or last list, or error
//	                  └─ list not fresh ─▶ refresh, at most one at a time ─▶ last list
type list struct {
	last atomic.Pointer[names]
	turn chan struct{} // holds an element while somebody reads the list

	mu sync.Mutex
	// refresh is the reading in flight, or nil.
	refresh *refresh
	// failed is when the last reading ended, and err is its error. err is nil if the reading succeeded or was not sent.
	failed time.Time
	err    error
}

type names struct {
	all []string
	at  time.Time
}

// refresh is a reading of the list. done is closed after all or err is set.
type refresh struct {
	done chan struct{}
	all  []string
	err  error
}

// errListing means that a request has waited for the list for listWait.
var errListing = fmt.Errorf("%w: the list of its PVs is being read, and was not complete within %v", errBusy, listWait)

// freshNames returns the list if it is fresh, and whether it is.
func (a *Archive) freshNames() ([]string, bool) {
	n := a.list.last.Load()
	if n == nil || a.cfg.Now().Sub(n.at) >= listFresh {
		return nil, false
	}
	return n.all, true
}

// names returns the names of all PVs of the older archive: see query.Through. If the last list is not fresh, names begins to
// read it again. Meanwhile it returns the last list at once if that is younger than listOld. It returns a list that is
// younger than listStale if the new one cannot be read, or not within listWait.
func (a *Archive) names(ctx context.Context) ([]string, error) {
	if all, fresh := a.freshNames(); fresh {
		return all, nil
	}
	if chainOf(ctx) != "" {
		return a.namesForChain(ctx)
	}
	last, age := a.list.last.Load(), time.Duration(0)
	if last != nil {
		age = a.cfg.Now().Sub(last.at)
	}
	r, err := a.refreshNames()
	if last != nil && age < listOld {
		return last.all, nil // Problems has the error
	}
	if err == nil {
		var all []string
		if all, err = r.wait(ctx); err == nil {
			return all, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if last != nil && age < listStale {
		return last.all, nil
	}
	return nil, failure(err)
}

// wait returns the result of the reading, or errListing after listWait.
func (r *refresh) wait(ctx context.Context) ([]string, error) {
	wait := time.NewTimer(listWait)
	defer wait.Stop()
	select {
	case <-r.done:
		return r.all, r.err
	case <-wait.C:
		return nil, errListing
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refreshNames returns the reading in flight. It begins one, unless the last one failed a moment ago: then it returns
// the error of that one.
func (a *Archive) refreshNames() (*refresh, error) {
	l := &a.list
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refresh != nil {
		return l.refresh, nil
	}
	if l.err != nil && a.cfg.Now().Sub(l.failed) < listRetry {
		return nil, l.err
	}
	r := &refresh{done: make(chan struct{})}
	if !a.owner.run(func(ctx context.Context) { a.refreshInTurn(ctx, r) }) {
		return nil, errClosed
	}
	l.refresh = r
	return r, nil
}

// refreshInTurn reads the list for a refresh.
func (a *Archive) refreshInTurn(ctx context.Context, r *refresh) {
	defer close(r.done)
	l := &a.list
	select {
	case l.turn <- struct{}{}:
		r.all, r.err = a.readNames(ctx)
		<-l.turn
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh, l.failed, l.err = nil, a.cfg.Now(), r.err
	if away := (*awayError)(nil); errors.As(r.err, &away) {
		l.err = nil // the breaker knows when to try again
	}
}

// namesForChain returns the names for another archive that reads through to this one. That archive assumes that the list is
// fresh, so namesForChain never returns an old list. The sender may have caused a failure with its header, so a failure does
// not count for other requests.
func (a *Archive) namesForChain(ctx context.Context) ([]string, error) {
	wait := time.NewTimer(listWait)
	defer wait.Stop()
	select {
	case a.list.turn <- struct{}{}:
		defer func() { <-a.list.turn }()
	case <-wait.C:
		return nil, failure(errListing)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	all, err := a.readNames(ctx)
	return all, failure(err)
}

// readNames requests the list, unless somebody else has read it. The caller has the turn.
func (a *Archive) readNames(ctx context.Context) (all []string, err error) {
	if all, fresh := a.freshNames(); fresh {
		return all, nil
	}
	begun := a.cfg.Now()
	limited, cancel := context.WithTimeoutCause(withKind(ctx, kindNames), listTime, fmt.Errorf("%w: more than %v", errLate, listTime))
	defer cancel()
	skipped := 0
	err = a.reads.Names(limited, func(name string) {
		if pvname.Check(name) != nil {
			skipped++
			return
		}
		all = append(all, pvname.Canonical(name))
	})
	switch {
	case err == nil && len(all) == 0 && skipped > 0:
		err = errors.New("the older archive sent a list in which no entry is the name of a PV")
	case errors.Is(err, upstream.ErrLongList):
		err = fmt.Errorf("%w; raise the limit with --read-through-names, or spec.retrieval.readThroughNames of the Archiver", err)
	}
	if err != nil {
		a.note(ctx, err)
		return nil, err
	}
	a.succeeded()
	a.list.last.Store(&names{all, begun})
	return all, nil
}

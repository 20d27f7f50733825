package through

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/pvname"
)

// Times of the list of names.
const (
	// listFresh is how long a list counts.
	listFresh = 5 * time.Minute
	// listStale is how long a list is used while it cannot be read again.
	listStale = 24 * time.Hour
	// listRetry is how long no request is sent after one that has failed.
	listRetry = 30 * time.Second
)

// list is the list of all names of the older archive.
type list struct {
	last atomic.Pointer[names]
	turn chan struct{} // holds an element while somebody reads the list
	// failed is when the last request failed, and err is its error. The turn protects them.
	failed time.Time
	err    error
}

type names struct {
	all []string
	at  time.Time
}

// names returns the names of all PVs of the older archive: see query.Through. While the older archive
// cannot be read, it returns the last list.
func (a *Archive) names(ctx context.Context) ([]string, error) {
	l := &a.list
	if n := l.last.Load(); n != nil && a.cfg.Now().Sub(n.at) < listFresh {
		return n.all, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := a.cfg.Now()
	n := l.last.Load()
	if n != nil && now.Sub(n.at) < listFresh {
		return n.all, nil // somebody else has read it
	}
	if l.err == nil || now.Sub(l.failed) >= listRetry {
		all, err := a.readNames(ctx)
		if err == nil {
			l.err = nil
			l.last.Store(&names{all, now})
			return all, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		l.err, l.failed = err, now
	}
	if n != nil && now.Sub(n.at) < listStale {
		return n.all, nil // Problems has the error
	}
	return nil, l.err
}

// readNames requests the list.
func (a *Archive) readNames(ctx context.Context) (all []string, err error) {
	skipped := 0
	err = a.reads.Names(withKind(ctx, kindNames), func(name string) {
		if pvname.Check(name) != nil {
			skipped++
			return
		}
		all = append(all, pvname.Canonical(name))
	})
	if err == nil && len(all) == 0 && skipped > 0 {
		err = errors.New("the older archive sent a list in which no entry is the name of a PV")
	}
	if err != nil {
		a.note(ctx, err)
		return nil, err
	}
	a.succeeded()
	return all, nil
}

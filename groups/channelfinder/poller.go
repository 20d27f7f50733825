// Package channelfinder queries ChannelFinder services (4.0 and later) for channel names, and
// repeats the queries. It is one of the sources of an ArchiveGroup's channels:
//
//	groups ──Names──▶ Poller ──every 5 min──▶ Client ──HTTP──▶ ChannelFinder
//	   ▲                │ last valid answers
//	   └──── changed ───┘
//
// While a service is down or finds no channels, its last answer stays valid. Capture
// therefore does not depend on the service.
package channelfinder

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Intervals of polling. Each wait is varied by up to 20 %.
const (
	pollEvery  = 5 * time.Minute  // after an answer
	retryAfter = 30 * time.Second // after a failure
	// If a query is not used, the poller calls changed after remindAfter, so that a caller
	// that still needs the names calls Names again. It forgets the query after forgetAfter.
	remindAfter = 30 * time.Minute
	forgetAfter = time.Hour
	// parallel is the maximum number of queries under way at a time.
	parallel = 4
)

// Failure is the reason why there is no newer answer.
type Failure struct {
	// Since is when the first request after the last valid answer failed.
	Since time.Time
	Err   error
}

// Error returns the text without the time, so that it does not change.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Poller holds the latest answers to queries. It is safe for concurrent use.
type Poller struct {
	query   func(ctx context.Context, url, query string) ([]string, error)
	changed func(url, query string)
	wake    chan struct{} // has room for one; never closed

	mu      sync.Mutex
	queries map[key]*entry
}

type key struct{ url, query string }

// entry is a query. The Poller's mutex guards it.
type entry struct {
	names   []string
	known   bool
	failure *Failure // nil after a valid answer

	used     time.Time // last call of Names
	reminded bool      // changed was called because the query was not used
	next     time.Time // when to query the service
	underWay bool
}

// NewPoller returns a poller. query is usually Client.Names. The poller calls changed when
// the result of Names for a query has changed; changed must not block.
func NewPoller(query func(ctx context.Context, url, query string) ([]string, error), changed func(url, query string)) *Poller {
	return &Poller{query: query, changed: changed, wake: make(chan struct{}, 1), queries: map[key]*entry{}}
}

// Names returns the latest answer to a query, and starts polling. The caller must not change
// the answer. known is false before the first answer. If err is not nil, it is a *Failure and
// the answer is outdated. Names does not block.
func (p *Poller) Names(url, query string) (names []string, known bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.queries[key{url, query}]
	if e == nil {
		e = &entry{next: time.Now()}
		p.queries[key{url, query}] = e
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	e.used, e.reminded = time.Now(), false
	if e.failure != nil {
		err = e.failure
	}
	return e.names, e.known, err
}

// Start polls until ctx ends. Its signature makes the poller a controller-runtime Runnable.
func (p *Poller) Start(ctx context.Context) error {
	var requests sync.WaitGroup
	defer requests.Wait()
	slots := make(chan struct{}, parallel)
	for {
		due, wait := p.due()
		for _, k := range due {
			requests.Go(func() {
				select {
				case slots <- struct{}{}:
					p.poll(ctx, k)
					<-slots
				case <-ctx.Done():
				}
			})
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		case <-p.wake:
			timer.Stop()
		}
	}
}

// due returns the queries to make now, and how long to wait afterwards. It marks these queries
// as under way, and forgets unused queries.
func (p *Poller) due() (due []key, wait time.Duration) {
	now := time.Now()
	wait = pollEvery
	var unused []key
	p.mu.Lock()
	for k, e := range p.queries {
		idle := now.Sub(e.used)
		if idle >= remindAfter && !e.reminded {
			e.reminded = true
			unused = append(unused, k)
		}
		switch {
		case e.underWay:
		case idle >= forgetAfter:
			delete(p.queries, k)
		case !e.next.After(now):
			e.underWay = true
			due = append(due, k)
		default:
			wait = min(wait, e.next.Sub(now))
		}
	}
	p.mu.Unlock()
	for _, k := range unused {
		p.changed(k.url, k.query)
	}
	return due, wait
}

// poll sends one query and stores the answer.
func (p *Poller) poll(ctx context.Context, k key) {
	names, err := p.query(ctx, k.url, k.query)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	e := p.queries[k]
	changed := e.update(names, err)
	p.mu.Unlock()
	select { // the time of the next query is known only now
	case p.wake <- struct{}{}:
	default:
	}
	if changed {
		p.changed(k.url, k.query)
	}
}

// update stores an answer, and reports whether it differs from the previous one.
func (e *entry) update(names []string, err error) (changed bool) {
	now := time.Now()
	e.underWay = false
	if err != nil {
		e.next = now.Add(jitter(retryAfter))
		if e.failure != nil && e.failure.Error() == err.Error() {
			return false
		}
		since := now
		if e.failure != nil {
			since = e.failure.Since
		}
		e.failure = &Failure{Since: since, Err: err}
		return true
	}
	e.next = now.Add(jitter(pollEvery))
	changed = !e.known || e.failure != nil || !slices.Equal(names, e.names)
	e.names, e.known, e.failure = names, true, nil
	return changed
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5)
}

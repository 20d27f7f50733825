// Package channelfinder asks ChannelFinder services (4.0 and later) which
// channels there are, again and again:
//
//	groups ──Names──▶ Poller ──every 5 min──▶ Client ──HTTP──▶ ChannelFinder
//	   ▲                │ last good answers
//	   └──── changed ───┘
//
// While a service is down, or finds nothing, its last answer counts: capture does
// not depend on it.
package channelfinder

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Times of polling. Each wait is up to a fifth longer or shorter.
const (
	every      = 5 * time.Minute  // between answers
	retryAfter = 30 * time.Second // after a failure
	// askAgain after the last call of Names, changed is called, so that whoever
	// wants the names asks for them; forgetAfter as long nobody does.
	askAgain    = 30 * time.Minute
	forgetAfter = time.Hour
	// atOnce is the number of queries under way at a time.
	atOnce = 4
)

// Failure is why there is no newer answer.
type Failure struct {
	// Since is when the first request failed after the last good one.
	Since time.Time
	Err   error
}

// Error leaves out the time, so that the text stays the same.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Poller has the latest answers to queries. It is safe for concurrent use.
type Poller struct {
	ask     func(ctx context.Context, url, query string) ([]string, error)
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
	failure *Failure // nil after a good answer

	asked    time.Time // by Names
	reminded bool      // changed was called, since nobody asks any more
	next     time.Time // when to ask the service
	underWay bool
}

// NewPoller returns a poller that asks with Client.Names. It calls changed when
// what Names returns for a query is different; changed must not block.
func NewPoller(ask func(ctx context.Context, url, query string) ([]string, error), changed func(url, query string)) *Poller {
	return &Poller{ask: ask, changed: changed, wake: make(chan struct{}, 1), queries: map[key]*entry{}}
}

// Names returns the latest answer to a query, which must not be changed, and
// starts polling. known is false before the first answer. With an error, a
// *Failure, the answer is an old one. It does not block.
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
	e.asked, e.reminded = time.Now(), false
	if e.failure != nil {
		err = e.failure
	}
	return e.names, e.known, err
}

// Start polls until ctx ends. Its name and its result are those of a
// controller-runtime Runnable.
func (p *Poller) Start(ctx context.Context) error {
	var requests sync.WaitGroup
	defer requests.Wait()
	slots := make(chan struct{}, atOnce)
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

// due returns the queries whose time has come, marked as under way, and how long
// there is nothing more to do. It forgets queries that nobody wants.
func (p *Poller) due() (due []key, wait time.Duration) {
	now := time.Now()
	wait = every
	var quiet []key
	p.mu.Lock()
	for k, e := range p.queries {
		idle := now.Sub(e.asked)
		if idle >= askAgain && !e.reminded {
			e.reminded = true
			quiet = append(quiet, k)
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
	for _, k := range quiet {
		p.changed(k.url, k.query)
	}
	return due, wait
}

// poll asks once.
func (p *Poller) poll(ctx context.Context, k key) {
	names, err := p.ask(ctx, k.url, k.query)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	e := p.queries[k]
	changed := e.take(names, err)
	p.mu.Unlock()
	select { // the next time is known only now
	case p.wake <- struct{}{}:
	default:
	}
	if changed {
		p.changed(k.url, k.query)
	}
}

// take takes an answer and reports whether it differs from what was known.
func (e *entry) take(names []string, err error) (changed bool) {
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
	e.next = now.Add(jitter(every))
	changed = !e.known || e.failure != nil || !slices.Equal(names, e.names)
	e.names, e.known, e.failure = names, true, nil
	return changed
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5)
}

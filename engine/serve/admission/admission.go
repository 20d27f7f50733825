// Package admission bounds how many reads of samples a process serves at a time, and with them
// the memory that reads take. It bounds the bodies of requests, too:
//
//	request ──▶ Gate.Enter ──▶ read, encode, send ──▶ leave
//	                 └─ full, and no place becomes free in time: ErrFull ──▶ 429, Retry-After
//
//	body ──▶ Budget.Take for each piece that has arrived ──▶ Give at the end of the request
//	            └─ too little left of the budget, or of the client's share: 429, Retry-After
//
// In a process that also captures, samples in memory and reads share the memory of the process.
// A read that holds more than others takes several places. While it waits for them, smaller reads
// overtake it, for some time (see waiter). One client gets at most half of the places: a client that reads
// slowly cannot keep others from reading.
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// ErrFull is returned if too many reads are under way.
var ErrFull = errors.New("the archive serves as many reads of samples as it can; repeat the request in a few seconds")

const (
	// PlaceBytes is about the memory that a place stands for.
	PlaceBytes = 16 << 20
	// patience is how long a request waits for a place. A dashboard sends many requests at once,
	// and most of them take milliseconds. Requests wait in the order of arrival: one that has waited
	// long is soon served, so that it is better to let it wait than to send it to the end of the queue.
	patience = 20 * time.Second
	// waitingPerPlace is how many requests may wait for each place. One that waits takes about 25 kB.
	waitingPerPlace = 64
)

// FullError is the error of a read that is refused. It wraps ErrFull.
type FullError struct {
	// After is how long the reads that wait now will take, or 0 if that is not known.
	After time.Duration
	// Places is how many places there are, and Share how many of them one client gets.
	Places, Share int64
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("%v (%d at a time, and %d for one client)", ErrFull, e.Places, e.Share)
}

// Unwrap returns ErrFull.
func (e *FullError) Unwrap() error { return ErrFull }

// Gate admits a bounded number of reads at a time. A nil Gate admits all of them.
type Gate struct {
	size    int64
	refused prometheus.Counter
	pace    pace

	mu      sync.Mutex
	free    int64              // places
	clients map[string]*client // that have reads here
	waiting []*waiter          // the first one has waited longest
}

// client is a client with reads, and its share.
type client struct {
	share int64 // places that it may hold
	held  int64 // places that it holds
	reads int   // admitted or waiting
}

// New returns a Gate with room for the given number of reads.
func New(reads int, reg prometheus.Registerer) *Gate {
	return &Gate{
		size: int64(reads), free: int64(reads), clients: map[string]*client{},
		refused: promauto.With(reg).NewCounter(prometheus.CounterOpts{
			Namespace: "varve", Subsystem: "http", Name: "reads_refused_total",
			Help: "Reads of samples that were refused because too many were under way.",
		}),
	}
}

// clientKey is the key of the client in a context.
type clientKey struct{}

// ClientOf returns the name of the client in a context, or "".
func ClientOf(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}

// WithClient returns a context of a request of a client. Reads without a client have no share.
func WithClient(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, clientKey{}, name)
}

// share is the number of places that one client may hold.
func (g *Gate) share() int64 { return (g.size + 1) / 2 }

// Enter waits for a place. The caller must call leave after the read. Enter returns ErrFull if no
// place becomes free in time, and otherwise an error only if ctx ends.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) { return g.EnterHolding(ctx, 0) }

// EnterHolding is Enter for a read that holds up to a number of bytes more than others do. It
// waits for as many places as that takes, but for no more than a client may hold.
func (g *Gate) EnterHolding(ctx context.Context, bytes int64) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	n := min(1+(bytes+PlaceBytes-1)/PlaceBytes, g.share())
	name := ClientOf(ctx)
	c := g.join(name)
	if c == nil {
		return nil, g.refuse()
	}
	if err := g.acquire(ctx, c, n); err != nil {
		g.part(name, c)
		return nil, err
	}
	return func() {
		g.pace.end(time.Now())
		g.release(c, n)
		g.part(name, c)
	}, nil
}

// join adds a read to a client. It returns nil if the client has too many of them.
func (g *Gate) join(name string) *client {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.clients[name]
	if c == nil {
		c = &client{share: g.share()}
		if name == "" {
			c.share = g.size
		}
		g.clients[name] = c
	}
	if name != "" && c.reads >= int(g.share())*(1+waitingPerPlace) {
		return nil
	}
	c.reads++
	return c
}

// part removes a read from a client.
func (g *Gate) part(name string, c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.reads--; c.reads == 0 {
		delete(g.clients, name)
	}
}

// refuse counts a read that is refused and returns its error.
func (g *Gate) refuse() error {
	g.refused.Inc()
	g.mu.Lock()
	waiting := len(g.waiting)
	g.mu.Unlock()
	return &FullError{g.pace.wait(waiting+1, time.Now()), g.size, g.share()}
}

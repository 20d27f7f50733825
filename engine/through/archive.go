package through

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/destination"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
)

// Config configures an Archive. Zero fields have the defaults of the constants.
type Config struct {
	Address
	// Authorize adds credentials to a request to the older archive. It may be nil.
	Authorize func(*http.Request) error
	// Restrict refuses connections to some addresses. If it is nil, all addresses are allowed.
	Restrict *destination.Rules
	// AtOnce is the number of requests at a time. Further ones wait at most Wait.
	AtOnce int
	Wait   time.Duration
	// Idle is how long the older archive may send nothing, Whole how long a request may take, and MaxBytes how
	// long an answer with samples may be.
	Idle, Whole time.Duration
	MaxBytes    int64
	// MaxNames is the maximum number of names in the list of the older archive.
	MaxNames   int
	Registerer prometheus.Registerer
	// Now returns the current time. It may be nil.
	Now func() time.Time
	// Pause waits before another try. It may be nil.
	Pause func(ctx context.Context, d time.Duration) error
}

// Defaults of a Config.
const (
	DefaultAtOnce   = 32
	DefaultWait     = 30 * time.Second
	DefaultIdle     = time.Minute
	DefaultWhole    = 30 * time.Minute
	DefaultMaxBytes = 16 << 30
	DefaultMaxNames = upstream.DefaultMaxNames
)

func orDefault[T int | int64 | time.Duration](v *T, otherwise T) {
	if *v == 0 {
		*v = otherwise
	}
}

// source reads an older archive of one kind.
type source interface {
	Check(ctx context.Context) error
	Describe(ctx context.Context, pv string, at int64) (*sample.Metadata, error)
	Names(ctx context.Context, add func(name string)) error
	SamplesAndLast(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error]
}

// Archive is an older archive. Several goroutines may use it.
type Archive struct {
	cfg     Config
	id      string // of this reader in a chain
	client  *http.Client
	reads   source
	metrics *metrics
	pvs     knowledge
	shared  shared
	list    list
	owner   *owner
	// describing holds an element for each PV that is being described.
	describing chan struct{}

	mu       sync.Mutex
	checked  time.Time // when the older archive last answered as an archive
	failing  time.Time // the first of the failures since the last success; zero if there is none
	lastFail string
}

// New returns an Archive. It sends no request.
func New(cfg Config) *Archive {
	orDefault(&cfg.AtOnce, DefaultAtOnce)
	orDefault(&cfg.Wait, DefaultWait)
	orDefault(&cfg.Idle, DefaultIdle)
	orDefault(&cfg.Whole, DefaultWhole)
	orDefault(&cfg.MaxBytes, DefaultMaxBytes)
	orDefault(&cfg.MaxNames, DefaultMaxNames)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Pause == nil {
		cfg.Pause = pause
	}
	id := make([]byte, idBytes)
	_, _ = rand.Read(id) // never fails
	a := &Archive{cfg: cfg, id: hex.EncodeToString(id), metrics: newMetrics(cfg.Registerer)}
	a.owner, a.describing, a.list.turn = newOwner(), make(chan struct{}, describeAtOnce), make(chan struct{}, 1)
	a.shared = shared{owner: a.owner, pvs: map[string]*flight{}}
	a.client = &http.Client{Transport: newTransport(&a.cfg, a.id, a.metrics), CheckRedirect: stay}
	server := upstream.Server{Base: cfg.URL, Authorize: cfg.Authorize, Idle: cfg.Idle, MaxBytes: cfg.MaxBytes, MaxNames: cfg.MaxNames, Client: a.client}
	if a.reads = &(upstream.Appliance{Server: server}); cfg.JSON {
		a.reads = &upstream.JSONAccess{Server: server, Key: cfg.Key}
	}
	return a
}

// Close ends the requests that serve several readers, and closes the connections that are not in use.
func (a *Archive) Close() {
	a.owner.close()
	a.client.CloseIdleConnections()
}

// Through returns what a query.Reader needs.
func (a *Archive) Through() *query.Through {
	return &query.Through{Outside: a.outside, Samples: a.samples, Names: a.names}
}

// samples yields samples of the older archive: see query.Through.
func (a *Archive) samples(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		if o, found := a.pvs.get(pv, a.cfg.Now()); found && !o.Known || !a.asks(pv) {
			return
		}
		for run, err := range a.reads.SamplesAndLast(withKind(ctx, kindSamples), pv, from, to) {
			if errors.Is(err, upstream.ErrUnknownPV) {
				if err = a.forget(ctx, pv); err == nil {
					return
				}
			}
			if err != nil {
				a.note(ctx, err)
				yield(nil, failure(err))
				return
			}
			if !yield(run, nil) {
				return
			}
		}
		a.succeeded()
	}
}

// forget notes that the older archive does not know a PV, after it has checked that there is an archive.
func (a *Archive) forget(ctx context.Context, pv string) error {
	err := a.check(ctx)
	if err == nil {
		a.pvs.put(pv, query.Outside{}, a.cfg.Now())
	}
	return err
}

// checkedFor is how long the result of a check that there is an archive at the address is valid.
const checkedFor = time.Minute

// check returns an error if there is no archive at the address.
func (a *Archive) check(ctx context.Context) error {
	now := a.cfg.Now()
	a.mu.Lock()
	checked := a.checked
	a.mu.Unlock()
	if !checked.IsZero() && now.Sub(checked) < checkedFor {
		return nil
	}
	if err := a.reads.Check(withKind(ctx, kindCheck)); err != nil {
		return err
	}
	a.mu.Lock()
	a.checked = now
	a.mu.Unlock()
	return nil
}

// note notes a failure, unless the sender of the request has gone. It is no problem of the older archive if the sender may
// have caused the failure with its header, or if the request was not sent.
func (a *Archive) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	why := reason(err)
	a.metrics.errors.WithLabelValues(why).Inc()
	if why == "away" || chainOf(ctx) != "" && (why == "loop" || why == "status") {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failing.IsZero() {
		a.failing = a.cfg.Now()
	}
	a.lastFail = clean(err.Error(), maxText)
}

func (a *Archive) succeeded() {
	a.mu.Lock()
	a.failing = time.Time{}
	a.mu.Unlock()
}

// Problems returns a warning if the last request has failed.
func (a *Archive) Problems() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failing.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("the older archive at %s cannot be read since %s, so reads of times before this archive captured a PV fail: %s",
		a.cfg.URL.Redacted(), a.failing.UTC().Format(time.RFC3339), a.lastFail)}
}

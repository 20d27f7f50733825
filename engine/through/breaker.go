package through

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/destination"
	"varve.dev/varve/engine/upstream"
)

// breakFor is how long no request is sent to an older archive that does not answer.
const breakFor = 5 * time.Second

// breaker makes requests fail at once while the older archive does not answer. Otherwise each of them would wait, and
// hold a place of a reader.
//
//	        timeout, no connection
//	closed ────────────────────────▶ open ──┐ one request per breakFor
//	   ▲                              │  ▲───┘
//	   └──────────────────────────────┘
//	         a byte of an answer
//
// While it is open, a request that is slow by itself does not stop the next one from trying.
//
// A byte of any answer closes the breaker. So a timeout counts only if nothing has arrived since the request began or
// had its last byte: a slow request of one reader does not stop those of the others.
type breaker struct {
	now  func() time.Time
	life atomic.Uint64 // signs of life so far

	mu    sync.Mutex
	until time.Time // while the breaker is open: when the next request may pass; zero while it is closed
	cause string
}

// awayError is the error of a request that was not sent.
type awayError struct {
	cause string
	after time.Duration // until the next probe
}

// Error implements error.
func (e *awayError) Error() string {
	return "it did not answer, so no request is sent to it for some seconds: " + e.cause
}

// attempt is a request that the breaker let pass.
type attempt struct {
	b    *breaker
	seen uint64 // the number of signs of life when this request began, or had its last byte
	// paused says that the request waits to be repeated, so that the older archive owes no answer.
	paused bool
}

// check returns an awayError if a request would fail at once.
func (b *breaker) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.checkLocked()
}

func (b *breaker) checkLocked() error {
	if b.until.IsZero() {
		return nil
	}
	if left := b.until.Sub(b.now()); left > 0 {
		return &awayError{b.cause, left}
	}
	return nil
}

// begin lets a request pass, or returns an awayError.
func (b *breaker) begin() (*attempt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.checkLocked(); err != nil {
		return nil, err
	}
	if !b.until.IsZero() { // this request tries
		b.until = b.now().Add(breakFor)
	}
	return &attempt{b: b, seen: b.life.Load()}, nil
}

// alive says that something has arrived.
func (t *attempt) alive() {
	t.seen = t.b.life.Add(1)
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.b.until = time.Time{}
}

// failed says that the request with a context has failed.
func (t *attempt) failed(ctx context.Context, err error) {
	if t.paused || !noAnswer(ctx, err) || t.b.life.Load() != t.seen {
		return
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.b.until, t.b.cause = t.b.now().Add(breakFor), err.Error()
}

// noAnswer reports whether an error means that the older archive cannot be reached, or is silent. The error of a request
// whose sender has gone does not.
func noAnswer(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return isTimeout(context.Cause(ctx))
	}
	var refused *destination.RefusedError
	var network *net.OpError
	var late net.Error
	switch {
	case errors.As(err, &refused):
		return false
	case errors.As(err, &network) && (network.Op == "dial" || network.Op == "proxyconnect"):
		return true
	}
	return isTimeout(err) || errors.As(err, &late) && late.Timeout()
}

// isTimeout reports whether an error says that the older archive has not answered in time.
func isTimeout(err error) bool { return errors.Is(err, upstream.ErrSilent) || errors.Is(err, errSlow) }

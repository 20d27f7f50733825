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
//	        timeout, no connection         after breakFor: one request
//	closed ────────────────────────▶ open ──────────────────────────────▶ probing
//	   ▲                              ▲   timeout, no connection           │  │
//	   │                              └────────────────────────────────────┘  │
//	   └──────────────────────────────────────────────────────────────────────┘ a byte of an answer
//
// A byte of any answer closes the breaker. So a timeout counts only if nothing has arrived since the request began or
// had its last byte: a slow request of one reader does not stop those of the others.
type breaker struct {
	now  func() time.Time
	life atomic.Uint64 // signs of life so far

	mu      sync.Mutex
	until   time.Time // while the breaker is open; zero while it is closed
	probing bool
	cause   string
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
	b     *breaker
	probe bool
	seen  uint64 // the number of signs of life when this request began, or had its last byte
	once  sync.Once
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
	left := b.until.Sub(b.now())
	if left <= 0 && !b.probing {
		return nil
	}
	if b.probing {
		left = breakFor
	}
	return &awayError{b.cause, left}
}

// begin lets a request pass, or returns an awayError. The caller calls end.
func (b *breaker) begin() (*attempt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.checkLocked(); err != nil {
		return nil, err
	}
	b.probing = !b.until.IsZero()
	return &attempt{b: b, probe: b.probing, seen: b.life.Load()}, nil
}

// alive says that something has arrived.
func (t *attempt) alive() {
	t.seen = t.b.life.Add(1)
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.b.until, t.b.probing = time.Time{}, false
}

// failed says that the request with a context has failed.
func (t *attempt) failed(ctx context.Context, err error) {
	if !noAnswer(ctx, err) || t.b.life.Load() != t.seen {
		return
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.b.until, t.b.cause = t.b.now().Add(breakFor), err.Error()
}

// end says that the request has ended. Another one may be the probe.
func (t *attempt) end() {
	t.once.Do(func() {
		t.b.mu.Lock()
		defer t.b.mu.Unlock()
		t.b.probing = t.b.probing && !t.probe
	})
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

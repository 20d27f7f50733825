package through

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// maxHeader is the largest header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxRedirects is the number of redirects of a request.
	maxRedirects = 3
	dialTimeout  = 10 * time.Second
	// tries is how often a request is sent that is answered with 503 or 429.
	tries = 3
	// firstPause is how long a try waits after an answer without Retry-After, and longestPause is the longest wait.
	firstPause   = time.Second
	longestPause = 5 * time.Second
)

// transport sends requests, within bounds.
type transport struct {
	cfg     *Config
	id      string
	slots   chan struct{}
	next    *http.Transport
	metrics *metrics
	breaker breaker
}

func newTransport(cfg *Config, id string, m *metrics) *transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	if cfg.Restrict != nil {
		dialer = cfg.Restrict.Dialer(dialTimeout)
	}
	return &transport{cfg: cfg, id: id, slots: make(chan struct{}, cfg.AtOnce), metrics: m, breaker: breaker{now: cfg.Now}, next: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           8,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
	}}
}

// CloseIdleConnections closes the connections that are not in use.
func (t *transport) CloseIdleConnections() { t.next.CloseIdleConnections() }

// errBusy means that the requests in flight left no room for another one.
var errBusy = errors.New("too many requests to the older archive are in flight")

// errLate means that a whole request has taken too long.
var errLate = errors.New("the request took too long")

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.cfg.Restrict != nil {
		if err := t.cfg.Restrict.CheckHost(req.URL.Hostname()); err != nil {
			return nil, err
		}
	}
	if err := t.breaker.check(); err != nil {
		return nil, err
	}
	if err := t.enter(req.Context()); err != nil {
		return nil, err
	}
	attempt, err := t.breaker.begin()
	if err != nil { // requests have failed since
		<-t.slots
		return nil, err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeoutCause(req.Context(), t.cfg.Whole, fmt.Errorf("%w: more than %v", errLate, t.cfg.Whole))
	var once sync.Once
	kind := kindOf(ctx)
	leave := func() {
		once.Do(func() {
			cancel()
			<-t.slots
			t.metrics.active.Dec()
			t.metrics.seconds.WithLabelValues(kind).Observe(time.Since(begun).Seconds())
		})
	}
	t.metrics.active.Inc()
	resp, err := t.try(ctx, req, attempt)
	if err != nil {
		err = causeOf(ctx, err)
		attempt.failed(ctx, err)
		leave()
		return nil, err
	}
	resp.Body = &countedBody{ReadCloser: resp.Body, ctx: ctx, metrics: t.metrics, attempt: attempt, leave: leave}
	return resp, nil
}

// enter waits for a slot.
func (t *transport) enter(ctx context.Context) error {
	select {
	case t.slots <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(t.cfg.Wait)
	defer wait.Stop()
	select {
	case t.slots <- struct{}{}:
		return nil
	case <-wait.C:
		return fmt.Errorf("%w: %d, and none of them ended within %v", errBusy, t.cfg.AtOnce, t.cfg.Wait)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try sends a request, and again if the answer is 503 or 429.
func (t *transport) try(ctx context.Context, req *http.Request, a *attempt) (*http.Response, error) {
	for n := 1; ; n++ {
		out := req.Clone(ctx)
		out.Header.Set(Header, chain(ctx, t.id))
		out.Header.Set("User-Agent", "varve")
		t.metrics.requests.WithLabelValues(kindOf(ctx)).Inc()
		resp, err := t.next.RoundTrip(out)
		if err != nil || !busy(resp.StatusCode) || n == tries {
			return resp, err
		}
		a.alive()
		d := retryAfter(resp.Header)
		_ = resp.Body.Close()
		if d > longestPause {
			d = longestPause
		}
		a.paused = true
		if err := t.cfg.Pause(ctx, d); err != nil {
			return nil, err
		}
		a.paused = false
	}
}

// busy reports whether a later request may get another status code.
func busy(code int) bool {
	return code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests
}

// retryAfter returns how long the server wants to be left alone.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return firstPause
	}
	return time.Duration(n) * time.Second
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stay refuses redirects to another host, and more than maxRedirects redirects.
func stay(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return fmt.Errorf("the server redirects to another host, %s; give the address of the archive itself", req.URL.Redacted())
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	return nil
}

// countedBody is the body of an answer. Closing it ends the request.
type countedBody struct {
	io.ReadCloser
	ctx     context.Context
	metrics *metrics
	attempt *attempt
	leave   func()
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.metrics.bytes.Add(float64(n))
	ends := errors.Is(err, io.EOF)
	if n > 0 || ends {
		b.attempt.alive()
	}
	if err != nil && !ends {
		err = causeOf(b.ctx, err)
		b.attempt.failed(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *countedBody) Close() error {
	defer b.leave()
	return b.ReadCloser.Close()
}

// causeOf returns the reason for which ctx has ended, or err.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

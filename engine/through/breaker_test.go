package through

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/upstream"
)

// TestRequestsFailAtOnceWhileTheOlderArchiveIsAway refuses connections, and then accepts them.
func TestRequestsFailAtOnceWhileTheOlderArchiveIsAway(t *testing.T) {
	p := newPeer(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, header("A:B")+double(3, 3))
	})
	dials, away := 0, true
	next := p.client.Transport.(*transport).next
	dial := next.DialContext
	next.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials++; away {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
		}
		return dial(ctx, network, addr)
	}
	read := func() *query.OlderError {
		t.Helper()
		got, err := p.read(t.Context())
		var older *query.OlderError
		if err == nil || !errors.As(err, &older) {
			t.Fatalf("read %q, %v", got, err)
		}
		return older
	}
	if err := read(); err.After != 0 || dials != 1 {
		t.Errorf("%v, after %d connections", err, dials)
	}
	p.now = p.now.Add(breakFor - time.Second)
	err := read()
	if err.After != time.Second || dials != 1 || p.metric(t, "varve_read_through_errors_total", "away") != 1 {
		t.Errorf("%v, again after %v; %d connections; want an error at once", err, err.After, dials)
	}
	if _, err := p.outside(t.Context(), "A:B"); err == nil || dials != 1 {
		t.Errorf("a PV: %v, %d connections; want an error at once", err, dials)
	}
	p.now = p.now.Add(time.Second)
	if err := read(); err.After != 0 || dials != 2 {
		t.Errorf("%v, after %d connections; want one probe", err, dials)
	}
	if err := read(); err.After != breakFor || dials != 2 {
		t.Errorf("%v, after %d connections; want none after the probe", err, dials)
	}
	p.now = p.now.Add(breakFor)
	away = false
	for range 2 {
		if got, err := p.read(t.Context()); err != nil || got != "3 " {
			t.Errorf("after the return of the older archive: %q, %v", got, err)
		}
	}
	if len(p.Problems()) > 0 {
		t.Errorf("warnings %q", p.Problems())
	}
}

// ended returns a context that a cause has ended.
func ended(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

// breakerAt returns a breaker, and a function that advances its clock.
func breakerAt() (*breaker, func(time.Duration)) {
	now := time.Unix(0, at(0))
	return &breaker{now: func() time.Time { return now }}, func(d time.Duration) { now = now.Add(d) }
}

func begin(t *testing.T, b *breaker) *attempt {
	t.Helper()
	a, err := b.begin()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestOneRequestPerBreakForTries begins several requests after a timeout. A request that is slow by itself does not stop the
// others for longer.
func TestOneRequestPerBreakForTries(t *testing.T) {
	b, advance := breakerAt()
	begin(t, b).failed(ended(upstream.ErrSilent), context.Canceled)
	if _, err := b.begin(); err == nil {
		t.Fatal("a request passes at once")
	}
	advance(breakFor)
	slow := begin(t, b)
	if _, err := b.begin(); err == nil {
		t.Error("a second request passes together with the first one")
	}
	advance(breakFor)
	next := begin(t, b) // although slow has not ended
	if _, err := b.begin(); err == nil {
		t.Error("a third request passes together with the second one")
	}
	next.alive()
	begin(t, b)
	slow.failed(ended(upstream.ErrSilent), context.Canceled)
	begin(t, b)
	begin(t, b)
}

// TestBusyIsASignOfLife ends requests while they wait to be repeated.
func TestBusyIsASignOfLife(t *testing.T) {
	p := newPeer(t, Config{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	p.cfg.Pause = func(context.Context, time.Duration) error { return errSlow }
	for n := range int64(2) {
		if _, err := p.read(t.Context()); !errors.Is(err, errSlow) || p.requests.Load() != n+1 {
			t.Errorf("%v after %d requests; want the error of the pause after %d", err, p.requests.Load(), n+1)
		}
	}
}

// TestOnlySilenceOpensTheBreaker lists what opens it.
func TestOnlySilenceOpensTheBreaker(t *testing.T) {
	open := context.Background()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want bool
	}{
		"no connection":        {open, &net.OpError{Op: "dial", Err: errors.New("no route to host")}, true},
		"no proxy":             {open, &net.OpError{Op: "proxyconnect", Err: errors.New("refused")}, true},
		"a timeout of TLS":     {open, &net.DNSError{IsTimeout: true}, true},
		"silence":              {ended(fmt.Errorf("%w for 1m", upstream.ErrSilent)), context.Canceled, true},
		"a slow description":   {ended(errSlow), context.Canceled, true},
		"a reset connection":   {open, &net.OpError{Op: "read", Err: errors.New("connection reset")}, false},
		"a client that left":   {ended(context.Canceled), &net.OpError{Op: "dial", Err: errors.New("operation was canceled")}, false},
		"a client's deadline":  {ended(context.DeadlineExceeded), context.DeadlineExceeded, false},
		"a long answer's end":  {ended(errLate), errLate, false},
		"too large an answer":  {open, errors.New("too large"), false},
		"more redirects":       {open, errors.New("redirects"), false},
		"a client's own error": {ended(errors.New("gone")), io.ErrUnexpectedEOF, false},
	} {
		b, _ := breakerAt()
		a := begin(t, b)
		a.failed(c.ctx, c.err)
		if _, err := b.begin(); (err != nil) != c.want {
			t.Errorf("%s: the next request: %v", name, err)
		}
	}
}

// TestSlowRequestDoesNotStopOthers lets one request time out while another one gets bytes.
func TestSlowRequestDoesNotStopOthers(t *testing.T) {
	b, _ := breakerAt()
	slow, other := begin(t, b), begin(t, b)
	slow.alive()
	other.alive()
	slow.failed(ended(upstream.ErrSilent), context.Canceled)
	begin(t, b)
	other.failed(ended(upstream.ErrSilent), context.Canceled) // nothing has arrived since its last byte
	if _, err := b.begin(); err == nil {
		t.Error("a request passes although nothing arrives")
	}
}

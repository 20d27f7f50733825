package stream

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

var errRead = errors.New("reading X: the store is down")

// finish calls Finish. It returns the log, the error that fail received, and whether the
// connection was aborted.
func finish(ctx context.Context, a *Answer, err error) (logged string, aborted bool, failed error) {
	var log bytes.Buffer
	defer func() {
		logged = log.String()
		cause, _ := recover().(error)
		aborted = errors.Is(cause, http.ErrAbortHandler)
	}()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/data", nil)
	a.Finish(r, slog.New(slog.NewTextHandler(&log, nil)), err, func(err error) { failed = err })
	return
}

func TestAnswerIsSentInPieces(t *testing.T) {
	w := httptest.NewRecorder()
	a := New(w, "application/json")
	var want strings.Builder
	for range 3 {
		piece := strings.Repeat("x", flushBytes-1)
		want.WriteString(piece)
		a.Buf = append(a.Buf, piece...)
		if err := a.FlushFull(); err != nil {
			t.Fatal(err)
		}
		if len(a.Buf) >= flushBytes {
			t.Fatalf("%d bytes remain after FlushFull", len(a.Buf))
		}
	}
	if logged, aborted, failed := finish(t.Context(), a, nil); logged != "" || failed != nil || aborted {
		t.Errorf("Finish logs %q, fails with %v, aborts: %v", logged, failed, aborted)
	}
	if got := w.Body.String(); got != want.String() || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %d bytes of %s, want %d", len(got), w.Header().Get("Content-Type"), want.Len())
	}
}

func TestEmptyAnswerHasItsContentType(t *testing.T) {
	w := httptest.NewRecorder()
	finish(t.Context(), New(w, "text/csv"), nil)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/csv" {
		t.Errorf("got code %d, content type %q", w.Code, w.Header().Get("Content-Type"))
	}
}

func TestErrorBeforeTheFirstByteIsAnswered(t *testing.T) {
	w := httptest.NewRecorder()
	a := New(w, "text/csv")
	a.Buf = append(a.Buf, "a line"...)
	if logged, aborted, failed := finish(t.Context(), a, errRead); logged != "" || !errors.Is(failed, errRead) || aborted {
		t.Errorf("Finish logs %q, fails with %v, aborts: %v", logged, failed, aborted)
	}
	if w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("sent %q with headers %v before the error answer", w.Body, w.Header())
	}
}

func TestErrorAfterTheFirstByteAbortsTheConnection(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		logged bool
	}{
		{"the client waits", t.Context(), true},
		{"the client has disconnected", gone, false},
	} {
		a := New(httptest.NewRecorder(), "text/csv")
		a.Buf = make([]byte, flushBytes)
		if err := a.FlushFull(); err != nil {
			t.Fatal(err)
		}
		logged, aborted, failed := finish(c.ctx, a, errRead)
		if failed != nil || !aborted || strings.Contains(logged, "the store is down") != c.logged {
			t.Errorf("%s: Finish logs %q, fails with %v, aborts: %v", c.name, logged, failed, aborted)
		}
	}
}

func TestConnectionErrorAbortsWithoutLog(t *testing.T) {
	a := New(brokenWriter{httptest.NewRecorder()}, "text/csv")
	if logged, aborted, failed := finish(t.Context(), a, nil); logged != "" || failed != nil || !aborted {
		t.Errorf("Finish logs %q, fails with %v, aborts: %v", logged, failed, aborted)
	}
}

// brokenWriter is a connection that the client has closed.
type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

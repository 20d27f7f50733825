package cql

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// closer is a session whose Close returns when the channel is closed.
type closer chan struct{}

func (c closer) Close() { <-c }

// TestCloseIsBounded checks that Close returns when the session is closed, or soon if it never is. A process
// whose session is never closed would otherwise not open the archive again. Each session that does not close counts,
// and only the first one is logged.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		stuck, ready := make(closer), make(closer)
		close(ready)
		began := time.Now()
		var l leaks
		l.close(ready, log)
		if took := time.Since(began); took != 0 {
			t.Errorf("closing took %v, although the session closed at once", took)
		}
		if n := l.n.Load(); n != 0 || text.Len() > 0 {
			t.Errorf("a session that closed counts as leaked %d times, and the log says %q", n, text.String())
		}
		for range 3 {
			began := time.Now()
			l.close(stuck, log)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("closing took %v", took)
			}
		}
		if n := l.n.Load(); n != 3 || strings.Count(text.String(), "does not close") != 1 {
			t.Errorf("%d sessions count as leaked, want 3, and the log says %q, want one line", n, text.String())
		}
		before := Leaked()
		Close(stuck, log)
		if n := Leaked() - before; n != 1 {
			t.Errorf("Close counts %d leaked sessions, want 1", n)
		}
		close(stuck)
	})
}

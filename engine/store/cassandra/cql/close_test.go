package cql_test

import (
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// closer is a session whose Close returns when the channel is closed.
type closer chan struct{}

func (c closer) Close() { <-c }

// TestCloseIsBounded checks that Close returns when the session is closed, or soon if it never is. A process
// whose session is never closed would otherwise not open the archive again.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, ready := make(closer), make(closer)
		close(ready)
		began := time.Now()
		cql.Close(ready)
		if took := time.Since(began); took != 0 {
			t.Errorf("closing took %v, although the session closed at once", took)
		}
		cql.Close(stuck)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("closing took %v", took)
		}
		close(stuck)
	})
}

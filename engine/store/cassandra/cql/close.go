package cql

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// closeTime is how long Close waits. A session ends its connections within milliseconds.
const closeTime = 5 * time.Second

// leaked counts the sessions of this process that did not close in time. It belongs to the process and not to a store,
// because the goroutines of such a session stay when its store is closed and another store is opened.
var leaked leaks

// Leaked returns how many sessions did not close within the time limit since the process started.
func Leaked() uint64 { return leaked.n.Load() }

// Close closes a session of the driver. It waits for at most closeTime, because Session.Close of gocql
// 2.1.2 may wait forever. This happens if the control connection is connected again at that moment:
// Close first stops the goroutine that reads the schema, and then waits for the goroutine of the control
// connection, which waits for the schema. The goroutines that then wait for each other have no
// connection any more, and stay until the process ends. Close counts such a session, and logs the first one of
// the process.
func Close(session interface{ Close() }, log *slog.Logger) { leaked.close(session, log) }

// leaks counts sessions that did not close.
type leaks struct{ n atomic.Uint64 }

func (l *leaks) close(session interface{ Close() }, log *slog.Logger) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		session.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
		if l.n.Add(1) == 1 {
			log.Warn("a session of the Cassandra driver does not close; its goroutines stay until this process ends", "waited", closeTime.String())
		}
	}
}

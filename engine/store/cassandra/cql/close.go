package cql

import "time"

// closeTime is how long Close waits. A session ends its connections within milliseconds.
const closeTime = 5 * time.Second

// Close closes a session of the driver. It waits for at most closeTime, because Session.Close of gocql
// 2.1.2 may wait forever. This happens if the control connection is connected again at that moment:
// Close first stops the goroutine that reads the schema, and then waits for the goroutine of the control
// connection, which waits for the schema. The goroutines that then wait for each other have no
// connection any more, and stay until the process ends.
func Close(session interface{ Close() }) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		session.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}

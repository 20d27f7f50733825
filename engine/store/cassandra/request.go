package cassandra

import (
	"context"
	"fmt"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// parallel is how many rows of one call are written at a time.
const parallel = 32

// rowOverhead is the approximate size in bytes of a row in a request without its blob.
const rowOverhead = 256

// write is a statement that writes one row of about size bytes. If timestamp is 0, the write
// gets the clock's next timestamp.
type write struct {
	operation string
	stmt      string
	values    []any
	size      int
	timestamp int64
}

// write sends a write and waits until a quorum has it.
func (s *Store) write(ctx context.Context, w write) error {
	return s.bounded(ctx, w.operation, w.size, func(ctx context.Context) error {
		if w.timestamp == 0 {
			w.timestamp = s.clock.Next()
		}
		return s.statement(w.stmt, w.values...).WithTimestamp(w.timestamp).ExecContext(ctx)
	})
}

// bounded waits until the bytes in flight leave room for size more bytes, and then runs send.
func (s *Store) bounded(ctx context.Context, operation string, size int, send func(context.Context) error) error {
	weight := min(int64(size+rowOverhead), s.cfg.InFlightBytes)
	err := s.inFlight.Acquire(ctx, weight)
	if err == nil {
		s.metrics.inFlight.Add(float64(weight))
		err = send(withOperation(ctx, operation))
		s.metrics.inFlight.Sub(float64(weight))
		s.inFlight.Release(weight)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", operation, cql.Permitted(err))
	}
	s.metrics.written.Add(float64(size))
	return nil
}

// each calls f for 0 … n-1, with at most limit concurrent calls, and returns the first error.
// Rows of different partitions are not batched, because a batch would cost the coordinator
// more than it saves, and servers refuse batches of more than 50 KiB by default.
func each(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// statement returns a query that the driver also sends to other nodes if the first node is
// silent.
func (s *Store) statement(stmt string, values ...any) *gocql.Query {
	return s.session.Query(stmt, values...).SetSpeculativeExecutionPolicy(s.metrics.nodes)
}

// query starts a read in pages of pageSize rows.
func (s *Store) query(ctx context.Context, operation string, pageSize int, stmt string, values ...any) *gocql.Iter {
	// A page is read when the caller reaches it. Reading it earlier would double the memory in
	// use.
	return s.statement(stmt, values...).PageSize(pageSize).Prefetch(0).IterContext(withOperation(ctx, operation))
}

// readAhead calls read in the background and returns the function answer, which waits for the
// result. The caller must call answer at least once, and may call it several times. The caller
// must also make sure that read ends.
func readAhead[T any](read func() T) (answer func() T) {
	got := make(chan T, 1)
	go func() { got <- read() }()
	return sync.OnceValue(func() T { return <-got })
}

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"
)

// rowWriter writes one row per sample, like the published archivers on Cassandra. Its rates
// are anchors for Varve's rates in the same run.
type rowWriter struct{ session *gocql.Session }

const (
	rowPVs    = 1000
	rowBatch  = 100
	rowWrites = 64 // concurrent writes
)

func openRows(addr string) (*rowWriter, error) {
	cluster := gocql.NewCluster(addr)
	cluster.Timeout = 10 * time.Second
	cluster.Consistency = gocql.LocalQuorum
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, err
	}
	w := &rowWriter{session}
	for _, ddl := range []string{
		`CREATE KEYSPACE IF NOT EXISTS bench_rows WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
		`CREATE TABLE IF NOT EXISTS bench_rows.samples (pv text, bucket bigint, time bigint, value double, severity int,
		 status int, PRIMARY KEY ((pv, bucket), time))`,
	} {
		if err := session.Query(ddl).Exec(); err != nil {
			session.Close()
			return nil, err
		}
	}
	return w, nil
}

func (w *rowWriter) close() { w.session.Close() }

const insertRow = `INSERT INTO bench_rows.samples (pv, bucket, time, value, severity, status) VALUES (?, ?, ?, ?, ?, ?)`

// rate writes rows for the given time, with batch rows of one partition in each write. It
// returns the number of acknowledged rows per second.
func (w *rowWriter) rate(ctx context.Context, batch int, length time.Duration) (float64, error) {
	var written, next atomic.Int64
	begun := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for range rowWrites {
		g.Go(func() error {
			for time.Since(begun) < length && ctx.Err() == nil {
				if err := w.write(ctx, int(next.Add(1)), batch); err != nil {
					return err
				}
				written.Add(int64(batch))
			}
			return ctx.Err()
		})
	}
	err := g.Wait()
	return float64(written.Load()) / time.Since(begun).Seconds(), err
}

func (w *rowWriter) write(ctx context.Context, turn, batch int) error {
	pv := fmt.Sprintf("SR:BENCH-%04d", turn%rowPVs)
	if batch == 1 {
		return w.session.Query(insertRow, pv, 0, turn, float64(turn), 0, 0).ExecContext(ctx)
	}
	b := w.session.Batch(gocql.UnloggedBatch)
	for i := range batch {
		b.Query(insertRow, pv, 0, turn*batch+i, float64(turn+i), 0, 0)
	}
	return b.ExecContext(ctx)
}

package schema

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// Limits of a repair.
const (
	repairParallel = 4                     // slices of the ring at a time
	repairPage     = 8 << 20 / BlockInline // blocks per page
	repairRows     = 256                   // rows per page of tables without blobs
	// sliceMebibytes is the approximate size of a slice. After each repairWindow slices, the
	// repair notes its position if it last logged its progress at least logEvery ago.
	sliceMebibytes = 4
	leastSlices    = 4
	mostSlices     = 1 << 16
	repairWindow   = 16
	// whole is the note of a table that is completely repaired. A smaller note is the position
	// in the ring, counted from 1, up to which the table is repaired.
	whole = math.MaxInt32
)

// repair makes all replicas of tables equal. It reads every row from all replicas at once.
// Before Cassandra answers such a read, it writes the missing data to each replica.
//
//	a table's ring:  ├──┼──┼──┼──┤  slices, some at a time ──▶ pages, at ALL ──▶ replicas
//	                 ▲ noted
//
// A later call skips the slices before the noted position. While a replica is unreachable,
// repair waits.
func (r *replicator) repair(ctx context.Context, notes *notes, tables []*repairTable) error {
	session, err := r.cfg.repairSession(r.dc)
	if err != nil {
		return err
	}
	defer cql.Close(session, r.cfg.Log)
	if err := measure(ctx, session, r.dc, tables); err != nil {
		return err
	}
	w := &walk{replicator: r, session: session, notes: notes, began: time.Now(), logged: time.Now()}
	for _, t := range tables {
		w.total += float64(t.mebibytes + 1)
	}
	for _, t := range tables {
		if err := w.table(ctx, t); err != nil {
			return fmt.Errorf("repairing table %s.%s: %w", t.keyspace, t.name, err)
		}
		w.done += float64(t.mebibytes + 1)
	}
	r.log.Info("the repair is done", "tables", len(tables), "rows", w.rows.Load(), "disk_mib", int(w.total-w.skipped),
		"took", time.Since(w.began).Round(time.Millisecond))
	return nil
}

// repairSession returns a session for requests that need all replicas.
func (c *target) repairSession(dc string) (*gocql.Session, error) {
	cluster := c.Cluster()
	cluster.Consistency = gocql.All
	cluster.HostFilter = gocql.DataCenterHostFilter(dc)
	cql.Quiet(cluster)
	return c.Connect(cluster, false)
}

// walk is one run of repair.
type walk struct {
	*replicator
	session *gocql.Session
	notes   *notes

	began, logged time.Time
	total, done   float64      // work, in about MiB
	skipped       float64      // part of done that earlier calls completed
	rows          atomic.Int64 // rows read
}

// table repairs a table, beginning at its noted position.
func (w *walk) table(ctx context.Context, t *repairTable) error {
	slices := min(max(int64(leastSlices), t.mebibytes/sliceMebibytes), mostSlices)
	width := (whole + slices - 1) / slices
	from := int64(w.notes.values[t.note()])
	w.skipped += float64(t.mebibytes+1) * float64(from) / whole
	for from < whole {
		n := int(min(repairWindow, (whole-from+width-1)/width))
		g, slicing := errgroup.WithContext(ctx)
		g.SetLimit(repairParallel)
		for i := range n {
			start := from + int64(i)*width
			g.Go(func() error { return w.slice(slicing, t, token(start), token(min(start+width, whole))) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		from = min(from+int64(n)*width, whole)
		if from < whole && time.Since(w.logged) < logEvery {
			continue
		}
		if err := w.notes.put(ctx, t.note(), int(from)); err != nil {
			return err
		}
		if time.Since(w.logged) >= logEvery {
			w.logProgress(t, float64(from)/whole)
		}
	}
	return nil
}

// token returns the token at a position in the ring. A position is a number from 0 to whole.
func token(position int64) int64 {
	if position >= whole {
		return math.MaxInt64
	}
	return math.MinInt64 + position<<33
}

// logProgress logs the progress of the repair.
func (w *walk) logProgress(t *repairTable, share float64) {
	w.logged = time.Now()
	took := time.Since(w.began)
	all := w.done + share*float64(t.mebibytes+1)
	speed := max(all-w.skipped, 0.1) / took.Seconds()
	w.log.Info("repairing", "table", t.keyspace+"."+t.name, "of_table_percent", int(100*share), "of_all_percent", int(100*all/w.total),
		"rows", w.rows.Load(), "disk_mib_per_second", int(speed), "left", time.Duration(float64(time.Second)*(w.total-all)/speed).Round(time.Second))
}

// slice repairs the rows between two tokens. If a page is too large for the nodes, slice
// requests smaller pages.
func (w *walk) slice(ctx context.Context, t *repairTable, from, to int64) error {
	var next []byte
	for part := 1; ; {
		then, err := w.page(ctx, t, from, to, max(1, t.rows/part), next)
		if err != nil {
			if err := w.await(ctx, err); err != nil {
				return err
			}
			part = min(2*part, repairRows)
			continue
		}
		w.progress()
		if len(then) == 0 {
			return nil
		}
		next, part = then, max(1, part/2)
	}
}

// page repairs a page of rows and returns where the next page begins.
func (w *walk) page(ctx context.Context, t *repairTable, from, to int64, rows int, state []byte) (next []byte, err error) {
	it := w.session.Query(t.stmt, from, to).PageSize(rows).PageState(state).IterContext(ctx)
	w.rows.Add(int64(it.NumRows()))
	return it.PageState(), it.Close()
}

// await waits before a page is read again. It returns an error if another attempt cannot
// succeed.
func (w *walk) await(ctx context.Context, cause error) error {
	var refused gocql.RequestError
	if errors.As(cause, &refused) {
		switch refused.Code() {
		case gocql.ErrCodeUnauthorized, gocql.ErrCodeInvalid, gocql.ErrCodeSyntax:
			return cql.Permitted(cause)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var unreachable []string
	for _, h := range w.session.GetHosts() {
		if h.DataCenter() == w.dc && !h.IsUp() {
			unreachable = append(unreachable, h.ConnectAddressAndPort())
		}
	}
	if len(unreachable) > 0 {
		cause = fmt.Errorf("a repair needs all replicas, and %s is unreachable: %w", strings.Join(unreachable, ", "), cause)
	}
	return w.pause(ctx, cause)
}

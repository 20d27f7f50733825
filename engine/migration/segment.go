package migration

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// importedSince is the time since and saved in the claims of imports, in ns since 1970. An importer captures nothing, so
// its claims must not say up to when a shard is complete.
const importedSince = 1

// queue builds the segments of a shard, one after the other.
type queue struct {
	to    *journaled
	shard int

	mu   sync.Mutex
	seg  *segment // nil: the next sample begins one
	runs []journal.PVRun
	size int // of runs
}

// segment is the rows of one writer in a shard. No reader and no sealer finds them before the importer publishes them by a
// closed claim. Until then, the holder of the queue's mutex writes the segment.
type segment struct {
	shard  int
	writer store.WriterID
	last   store.Position
	bytes  int
	began  time.Duration // since boot
	parts  map[*account]*extent
	rows   errgroup.Group
}

// extent counts the samples of a PV in a segment, and has their bounds.
type extent struct {
	samples     int
	first, last int64 // ns since 1970
}

// add adds samples of a PV, which must be sorted. It waits while too many samples are not sealed.
func (q *queue) add(a *account, run *sample.Run) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for from := 0; from < run.Len(); {
		if err := q.begin(); err != nil {
			return err
		}
		piece := &sample.Run{Type: run.Type}
		for from < run.Len() && q.size+piece.Size() < rowBytes {
			to := min(from+256, run.Len())
			if !run.Type.Fixed() { // values may be large
				to = from + 1
			}
			piece.AppendRange(run, from, to)
			from = to
		}
		q.seg.note(a, piece)
		q.to.waiting.Add(int64(piece.Len()))
		q.runs, q.size = append(q.runs, journal.PVRun{PV: a.pv, Run: piece}), q.size+piece.Size()
		if q.size < rowBytes {
			continue
		}
		q.writeRow()
		if q.seg.bytes >= segmentBytes {
			if err := q.close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish publishes the segment if it has samples of a PV. A nil account stands for all PVs.
func (q *queue) publish(a *account) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.seg == nil || a != nil && q.seg.parts[a] == nil {
		return nil
	}
	return q.close()
}

// publishOld publishes the segment if it is old. It does nothing if samples are being added, because that may take long.
func (q *queue) publishOld() error {
	if !q.mu.TryLock() {
		return nil
	}
	defer q.mu.Unlock()
	if q.seg == nil || q.to.boot()-q.seg.began < publishAfter {
		return nil
	}
	return q.close()
}

// begin begins a segment, once there is room for it.
func (q *queue) begin() error {
	j := q.to
	if q.seg != nil {
		return context.Cause(j.ctx)
	}
	if err := j.await(func() bool {
		return j.bytes[q.shard] <= maxUnsealed-segmentBytes && j.all <= maxUnsealedOfAll-segmentBytes
	}); err != nil {
		return err
	}
	q.seg = &segment{shard: q.shard, writer: store.NewWriter(), began: j.boot(), parts: map[*account]*extent{}}
	q.seg.rows.SetLimit(rowsInFlight)
	return nil
}

// note counts samples of a PV.
func (g *segment) note(a *account, run *sample.Run) {
	e := g.parts[a]
	if e == nil {
		e = &extent{first: math.MaxInt64, last: math.MinInt64}
		g.parts[a] = e
		a.begin()
	}
	e.samples += run.Len()
	e.first, e.last = min(e.first, run.Times[0]), max(e.last, run.Times[run.Len()-1])
}

// writeRow writes a row with the samples that were added. It does not wait for the store, unless many rows are under way.
func (q *queue) writeRow() {
	if len(q.runs) == 0 {
		return
	}
	g, j := q.seg, q.to
	g.last = store.At(1, g.last.Seq()+1)
	row := store.JournalRow{Shard: g.shard, Writer: g.writer, At: g.last}
	row.Index, row.Blob = journal.EncodeRow(j.now(), q.runs)
	q.runs, q.size = nil, 0
	g.bytes += len(row.Index) + len(row.Blob)
	j.done.Add(1)
	g.rows.Go(func() error {
		defer j.done.Done()
		return j.retry("writing samples", func(ctx context.Context) error { return j.store.PutJournal(ctx, row) })
	})
}

// close writes the last row, and publishes the segment: once all rows are acknowledged, it writes the claim. If the
// process ends before, the rows expire, and nobody has seen them.
func (q *queue) close() error {
	q.writeRow()
	g, j := q.seg, q.to
	q.seg = nil
	if err := g.rows.Wait(); err != nil {
		return err
	}
	if err := g.checkAge(j); err != nil {
		return err
	}
	if err := j.retry("publishing samples", func(ctx context.Context) error { return g.claim(ctx, j) }); err != nil {
		return err
	}
	if err := g.checkAge(j); err != nil { // the process may have stood still
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unsealed[g.shard] = append(j.unsealed[g.shard], g)
	j.bytes[g.shard] += g.bytes
	j.all += g.bytes
	return nil
}

// checkAge returns an error if the first rows may expire before an engine has seen them.
func (g *segment) checkAge(j *journaled) error {
	if j.ttl == 0 || j.boot()-g.began < j.ttl/4 {
		return nil
	}
	return j.fail(fmt.Errorf("%w: the import stood still for so long that its journal rows may expire; repeat it to continue", ErrArchive))
}

// claim writes the claim of the segment. It is closed from the beginning, so that an engine seals the rows at once, and
// marks nothing if the importer dies.
func (g *segment) claim(ctx context.Context, j *journaled) error {
	claims, err := j.store.Claims(ctx, g.shard)
	if err != nil {
		return err
	}
	c := store.Claim{
		Shard: g.shard, Writer: g.writer, Since: importedSince, Saved: importedSince, Alive: j.now(), Closed: true, Last: g.last,
	}
	for _, o := range claims {
		c.Epoch = max(c.Epoch, o.Epoch)
	}
	c.Epoch++
	return j.store.PutClaim(ctx, c)
}

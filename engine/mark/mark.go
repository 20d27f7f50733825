// Package mark writes marks and metadata, which explain the samples beside them.
//
//	capture, journal, seal ── Add, Metadata ──▶ queue ── Run: batches ──▶ store
//	spool, seal ── AddToShard ──▶ marks of shards ── Run: the PVs of the directory ──▶ store
//
// A mark that a channel is not found, refused or denied is stored only if the PV's latest mark says
// something else, because engines that restart, or take over a shard, find out the same again.
//
// Add and Metadata never block. While the store is unreachable, losses of a PV that follow each
// other wait as one mark, because an engine that is short of memory reports them for all its PVs
// several times per second. If the queue is full, further entries are dropped and counted. Once
// it has room again, each PV gets a mark for the time of its dropped marks.
package mark

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Store is the part of a store that a Log needs.
type Store interface {
	PutMarks(ctx context.Context, marks ...store.PVMark) error
	LatestMarks(ctx context.Context, pv string, at int64) iter.Seq2[store.PVMark, error]
	PutMetadata(ctx context.Context, m store.PVMetadata) error
	MetadataAt(ctx context.Context, pv string, at int64) (store.PVMetadata, bool, error)
	Channels(ctx context.Context) iter.Seq2[store.Channel, error]
}

// Limits of the queue, of a batch, and of parallel writes.
const (
	queueLen = 1 << 17
	batchLen = 512
	parallel = 8
)

// Log queues marks and metadata, and writes them to the store. It has two goroutines: Run, and one that Run
// starts for the marks of shards.
type Log struct {
	store   Store
	writer  store.WriterID
	clock   *clock.Clock  // nil if it is right
	began   time.Duration // since boot, when the log began to use the clock
	queue   chan entry    // never closed; Run drains it after its context has ended
	log     *slog.Logger
	dropped atomic.Uint64
	written atomic.Uint64
	waiting waiting
	// shardsWait holds a token if marks of shards wait. listing is a semaphore of capacity 1, held
	// while marks of shards are written, or PVs are deleted. Neither is ever closed.
	shardsWait, listing chan struct{}
}

// entry is a mark, a loss that may still grow if loss is set, metadata if meta is set, or a request to
// close sync if sync is set. Run closes sync once all earlier entries are written or dropped.
type entry struct {
	mark  store.PVMark
	loss  *loss
	meta  *store.PVMetadata
	sync  chan<- struct{}
	guess guess
}

// NewLog returns a log that writes as writer w.
func NewLog(st Store, w store.WriterID, reg prometheus.Registerer, log *slog.Logger) *Log {
	l := &Log{store: st, writer: w, queue: make(chan entry, queueLen), log: log,
		shardsWait: make(chan struct{}, 1), listing: make(chan struct{}, 1)}
	f := promauto.With(reg)
	total := func(name, help string, v *atomic.Uint64) {
		f.NewCounterFunc(prometheus.CounterOpts{Namespace: "varve", Subsystem: "mark", Name: name, Help: help},
			func() float64 { return float64(v.Load()) })
	}
	total("written_total", "Marks and metadata entries stored.", &l.written)
	total("dropped_total", "Marks and metadata entries dropped because the store was unreachable for too long.", &l.dropped)
	return l
}

// Add queues a mark of a PV. It does not block.
func (l *Log) Add(pv string, m sample.Mark) {
	l.add(l.entry(pv, m))
}

// entry returns an entry for a mark whose times are known as well as the present time.
func (l *Log) entry(pv string, m sample.Mark) entry {
	return entry{mark: store.PVMark{PV: pv, Writer: l.writer, Mark: m.Ordered()}, guess: l.guess()}
}

// add queues a mark, or makes it part of a loss in the queue.
func (l *Log) add(e entry) {
	if m := e.mark.Mark; m.Kind == sample.Lost {
		if e.loss = l.waiting.addLoss(lossKey{e.mark.PV, m.Reason, e.guess.made}, loss{m, e.guess}); e.loss == nil {
			return
		}
	}
	l.enqueue(e)
}

// Metadata queues the metadata that a PV has from a time (ns since 1970) on. It does not
// block. Metadata that equals the previous entry is not stored again.
func (l *Log) Metadata(pv string, at int64, m *sample.Metadata) {
	l.enqueue(entry{meta: &store.PVMetadata{PV: pv, Time: at, Metadata: valid(m)}})
}

// valid returns a copy of the metadata with all text as UTF-8, because some IOCs send
// Latin-1. Some stores would change such text, and the stored entry would then never
// equal what the IOC sends.
func valid(m *sample.Metadata) sample.Metadata {
	text := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	out := *m
	out.Units, out.Host = text(m.Units), text(m.Host)
	out.Labels, out.Properties = slices.Clone(m.Labels), slices.Clone(m.Properties)
	for i, l := range out.Labels {
		out.Labels[i] = text(l)
	}
	for i, p := range out.Properties {
		out.Properties[i] = sample.Property{Name: text(p.Name), Value: text(p.Value)}
	}
	return out
}

func (l *Log) enqueue(e entry) {
	select {
	case l.queue <- e:
	default:
		l.dropped.Add(1)
		if e.meta == nil && e.sync == nil {
			l.waiting.addDropped(&e, l.lived)
		}
	}
}

// AddWaiting queues a mark of a PV like Add, but waits until the queue has room or ctx ends.
func (l *Log) AddWaiting(ctx context.Context, pv string, m sample.Mark) {
	select {
	case l.queue <- l.entry(pv, m):
	case <-ctx.Done():
		l.dropped.Add(1)
	}
}

// Sync waits until all earlier entries are written, or are dropped because Run ends. Marks of shards may
// still wait if the directory cannot be read; Deleting keeps them from PVs that are deleted.
func (l *Log) Sync(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case l.queue <- entry{sync: done}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Deleting calls remove, which deletes PVs. While remove runs, the Log writes no marks of shards. Otherwise a
// write that had read the directory before the deletion would store marks of deleted PVs again. Marks that
// wait are written afterwards, when the directory no longer lists these PVs.
func (l *Log) Deleting(ctx context.Context, remove func() error) error {
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return remove()
}

// Run writes entries until ctx ends. Then it writes the rest of the queue until hard ends.
func (l *Log) Run(ctx, hard context.Context) {
	var shards sync.WaitGroup
	shards.Go(func() { l.runShards(ctx, hard) })
	defer shards.Wait()
	for {
		select {
		case e := <-l.queue:
			l.write(hard, ctx, l.batch(e))
		case <-ctx.Done():
			for len(l.queue) > 0 && hard.Err() == nil {
				l.write(hard, hard, l.batch(<-l.queue))
			}
			return
		}
	}
}

// batch returns an entry and the entries that are queued behind it, up to batchLen entries.
func (l *Log) batch(first entry) []entry {
	batch := []entry{l.waiting.finish(first)}
	for len(batch) < batchLen {
		select {
		case e := <-l.queue:
			batch = append(batch, l.waiting.finish(e))
		default:
			return batch
		}
	}
	return batch
}

// markDropped queues a mark for each PV of which marks were dropped, if the queue has room.
func (l *Log) markDropped() {
	if len(l.queue) > queueLen/2 {
		return
	}
	for _, e := range l.waiting.takeDropped(queueLen / 4) {
		e.mark.Writer = l.writer
		l.add(e)
	}
}

// write stores a batch. It retries until it succeeds. After ctx has ended, it tries only once
// more, with the context hard.
func (l *Log) write(hard, ctx context.Context, batch []entry) {
	defer func() {
		for _, e := range batch {
			if e.sync != nil {
				close(e.sync)
			}
		}
	}()
	for b := (retry.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}); ; {
		err := l.put(hard, batch)
		if err == nil {
			l.written.Add(uint64(len(batch)))
			l.markDropped()
			return
		}
		l.log.Warn("a write to the store failed; marks wait", "entries", len(batch)+len(l.queue), "err", err)
		if !b.Wait(ctx) {
			if err := l.put(hard, batch); err != nil {
				l.dropped.Add(uint64(len(batch)))
				l.log.Error("marks are lost because the engine stops", "entries", len(batch), "err", err)
			}
			return
		}
	}
}

// put stores a batch once.
func (l *Log) put(ctx context.Context, batch []entry) error {
	l.revise(ctx, batch)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	var marks []store.PVMark
	changes := map[string][]*store.PVMetadata{} // by PV, because each is compared with the one before
	for _, e := range batch {
		switch {
		case e.meta != nil:
			changes[e.meta.PV] = append(changes[e.meta.PV], e.meta)
		case e.sync == nil:
			marks = append(marks, e.mark)
		}
	}
	for _, of := range changes {
		g.Go(func() error {
			for _, m := range of {
				if err := l.putMetadata(ctx, *m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if len(marks) > 0 {
		g.Go(func() error { return l.putMarks(ctx, marks) })
	}
	return g.Wait()
}

// putMetadata stores metadata unless it equals the metadata that is valid at its time.
func (l *Log) putMetadata(ctx context.Context, m store.PVMetadata) error {
	old, found, err := l.store.MetadataAt(ctx, m.PV, m.Time)
	if err != nil {
		return fmt.Errorf("reading metadata of %s: %w", m.PV, err)
	}
	if found && old.Time <= m.Time && old.Metadata.Equal(&m.Metadata) {
		return nil
	}
	return l.store.PutMetadata(ctx, m)
}

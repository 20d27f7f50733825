package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// loader takes the place of an engine's clients. It feeds samples to the engine's shard
// journals and sealers as fast as the store accepts them:
//
//	append ──▶ ShardJournal ──▶ journal          checkpoint: Shard ──▶ blocks
type loader struct {
	store         store.Store
	memory        *journal.Memory
	lost          atomic.Uint64 // samples
	slots         chan struct{} // limits concurrent checkpoints
	shardJournals []*journal.ShardJournal
	sealers       []*seal.Shard
	heads         map[string]*journal.Head
	// retention is the retention of all PVs. It is set before the first PV is sealed.
	retention store.Retention

	stop context.CancelFunc
	runs sync.WaitGroup
}

// engineMemory is the default memory of an engine. ampleMemory is far more than the samples
// between two calls of seal need.
const (
	engineMemory = 1 << 30
	ampleMemory  = 4 << 30
)

// openLoader creates a keyspace, and a loader with the given number of shards that writes to
// it.
func openLoader(ctx context.Context, addr, keyspace string, shards int, memory int64) (*loader, error) {
	cfg := cql.Config{Hosts: []string{addr}, Keyspace: keyspace, Timeout: time.Minute}
	if err := schema.Create(ctx, cfg); err != nil {
		return nil, err
	}
	st, err := cassandra.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return newLoader(ctx, st, shards, memory), nil
}

// newLoader returns a loader with the given number of shards that writes to a store. The loader closes
// the store.
func newLoader(ctx context.Context, st store.Store, shards int, memory int64) *loader {
	mem := journal.NewMemory(memory)
	l := &loader{store: st, memory: mem, slots: make(chan struct{}, 2), heads: map[string]*journal.Head{}}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	reg := prometheus.NewRegistry()
	journals := &journal.Config{
		Store: st, Flush: 500 * time.Millisecond, RowBytes: 256 << 10, Memory: mem,
		Lost: func(_ string, m sample.Mark) { l.lost.Add(m.Count) }, Metrics: journal.NewMetrics(reg, mem), Log: log,
	}
	seals := &seal.Config{
		Store: st, Every: 15 * time.Minute, Memory: mem, Slots: l.slots, Ours: func(store.WriterID) bool { return true },
		Died:      func(context.Context, int, int64, int64) error { return nil },
		Retention: func(string) (store.Retention, bool) { return l.retention, true },
		Metrics:   seal.NewMetrics(reg), Log: log,
	}
	run, stop := context.WithCancel(ctx)
	l.stop = stop
	for i := range shards {
		shardJournal := journal.NewShardJournal(i, store.NewWriter(), journals)
		l.shardJournals = append(l.shardJournals, shardJournal)
		l.sealers = append(l.sealers, seal.NewShard(shardJournal, seals))
		l.runs.Go(func() { shardJournal.Run(run, ctx) })
	}
	return l
}

// close stops the shard journals once all samples are durable, and closes the store.
func (l *loader) close() error {
	l.stop()
	l.runs.Wait()
	err := l.store.Close()
	if n := l.lost.Load(); n > 0 {
		err = fmt.Errorf("%d samples were dropped: the store is slower than the load", n)
	}
	return err
}

// sealing runs the sealers until the caller calls stop. As in an engine, the sealers decide when
// to seal.
func (l *loader) sealing(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var runs sync.WaitGroup
	for _, s := range l.sealers {
		runs.Go(func() { s.Run(ctx) })
	}
	return func() {
		for range cap(l.slots) { // wait for running checkpoints, because an interrupted one is repeated
			l.slots <- struct{}{}
		}
		cancel()
		runs.Wait()
		for range cap(l.slots) {
			<-l.slots
		}
	}
}

// room waits until the sealers have released enough memory that no samples are dropped.
func (l *loader) room(ctx context.Context) error {
	for l.memory.Used() > l.memory.Limit()/4*3 && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	return ctx.Err()
}

// open adds PVs of type float64.
func (l *loader) open(pvs []string) {
	for _, pv := range pvs {
		l.heads[pv] = l.shardJournals[pvname.Shard(pv, len(l.shardJournals))].Open(pv, sample.Float64)
	}
}

func (l *loader) append(pv string, s *sample.Sample) {
	l.shardJournals[pvname.Shard(pv, len(l.shardJournals))].Append(l.heads[pv], sample.Float64, s)
}

// sync waits until all appended samples are durable.
func (l *loader) sync(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, shardJournal := range l.shardJournals {
		g.Go(func() error { return shardJournal.Sync(ctx) })
	}
	return g.Wait()
}

// seal waits until all appended samples are durable, and writes them into blocks.
func (l *loader) seal(ctx context.Context) error {
	if err := l.sync(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for _, s := range l.sealers {
		g.Go(func() error { return s.Checkpoint(ctx) })
	}
	return g.Wait()
}

// read reads a PV from the store only, and returns the number of its samples.
func (l *loader) read(ctx context.Context, pv string, from, to int64) (n int, err error) {
	r := &query.Reader{Store: l.store, Shards: len(l.shardJournals)}
	read, err := r.Read(ctx, pv, from, to, query.Options{Inside: true})
	if err != nil {
		return 0, err
	}
	for run, err := range read.All {
		if err != nil {
			return n, fmt.Errorf("reading %s: %w", pv, err)
		}
		n += run.Len()
	}
	return n, nil
}

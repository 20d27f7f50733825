package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/mark"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/engine/store"
)

// New returns an engine that captures nothing yet. It does not access the store.
func New(opts Options) *Engine {
	opts.setDefaults()
	e := &Engine{
		opts: opts, clock: opts.Clock, writer: store.NewWriter(), memory: journal.NewMemory(opts.Memory), held: map[int]*holding{},
	}
	e.marks = mark.NewLog(opts.Store, e.writer, opts.Registerer, opts.Log)
	e.marks.UseClock(e.clock)
	e.book = names.NewBook(opts.Store, opts.Log)
	e.names = names.NewWriter(e.book, e.writer, func() int64 { return e.clock.Now().Begin }, opts.Log)
	e.journalMetrics = journal.NewMetrics(opts.Registerer, e.memory)
	e.journalConfig = &journal.Config{
		Store: opts.Store, Flush: opts.Flush, RowBytes: rowBytes, Memory: e.memory,
		Lost: e.marks.Add, Boot: e.clock.Boot, Now: e.clock.Now, Metrics: e.journalMetrics, Log: opts.Log,
	}
	if opts.Spool != nil {
		e.journalConfig.Spool = opts.Spool
	}
	e.sealCfg = &seal.Config{
		Store: claimsReader{opts.Store, e}, Clock: e.clock, Every: opts.Checkpoint, Memory: e.memory, Slots: make(chan struct{}, 2),
		LateQuiet: opts.Checkpoint / 3, LateAge: 2 * opts.Checkpoint,
		Silence: opts.silence(), Ours: e.owns, Died: e.markDied, Damaged: e.markDamaged, Metrics: seal.NewMetrics(opts.Registerer), Log: opts.Log,
	}
	e.capture = capture.NewManager(capture.Config{
		Sources: opts.Sources, ShardJournal: e.shardJournal, Marks: e.marks, Now: e.clock.Now, Heard: e.clock.NoteSamples,
		Registerer: opts.Registerer, Log: opts.Log,
	})
	if st, has := opts.Store.(clock.Store); has {
		e.clock.Use(st)
	}
	e.clock.Register(opts.Registerer)
	e.configureRetention()
	e.addDiskGuard()
	e.addWatchdog()
	e.register(opts.Registerer)
	return e
}

// Run journals and seals until ctx ends. Then it stops the capture, makes every sample
// durable and closes its claims. It returns the number of samples that could not be made
// durable within the grace period. Apply may be called before Run. After Run has ended,
// Apply does nothing.
func (e *Engine) Run(ctx context.Context) (unsaved int) {
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	holdingsHard, endHoldings := context.WithCancel(hard)
	defer endHoldings()
	marksSoft, endMarks := context.WithCancel(hard)
	defer endMarks()
	var marking, holding sync.WaitGroup
	marking.Go(func() { e.marks.Run(marksSoft, hard) })
	stopSpool := e.startSpool(ctx, hard)
	holding.Go(func() { e.clock.Run(ctx) })
	holding.Go(func() { e.expire(ctx) })
	holding.Go(func() { e.guard.Run(ctx) })
	holding.Go(func() { e.watchdog.Run(ctx) })
	holding.Go(func() { e.names.Run(ctx, hard) })
	left := e.start(holdingsHard, &holding)
	<-ctx.Done()
	timer := time.AfterFunc(e.opts.Grace, kill)
	defer timer.Stop()
	ended := e.stop()
	if e.opts.Alone {
		holding.Go(func() { e.markStopped(hard, ended) })
	}
	if e.opts.Spool != nil {
		marking.Go(func() { e.endGraceEarly(marksSoft, kill, endHoldings) })
	}
	holding.Wait()
	stopSpool()
	endMarks()
	marking.Wait()
	return int(left.Load())
}

// start runs the current holdings, and from now on each new one, in goroutines of wg. unsaved
// counts the samples that are lost at the end.
func (e *Engine) start(hard context.Context, wg *sync.WaitGroup) (unsaved *atomic.Int64) {
	unsaved = new(atomic.Int64)
	e.applying.Lock()
	defer e.applying.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runHolding = func(h *holding) {
		wg.Go(func() {
			n := h.run(hard, e.sealCfg)
			unsaved.Add(int64(n))
			if n == 0 {
				e.forgetHolding(h)
			}
		})
	}
	for _, h := range e.held {
		e.runHolding(h)
	}
	for _, h := range e.leaving {
		e.runHolding(h)
	}
	return unsaved
}

// stop ends the capture and releases all shards. A shard that no other engine has taken over is abandoned. stop returns the channels that were captured and
// not paused.
func (e *Engine) stop() []capture.Ended {
	e.applying.Lock()
	defer e.applying.Unlock()
	ended := e.capture.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	for shard, h := range e.held { // shards that were handed over are no longer held
		if !e.opts.Alone {
			h.journal.Abandon()
		}
		e.releaseLocked(shard)
	}
	return ended
}

// markStopped marks that the capture of channels ended because the archiver stops.
func (e *Engine) markStopped(ctx context.Context, ended []capture.Ended) {
	for _, c := range ended {
		e.marks.AddWaiting(ctx, c.PV, sample.Mark{Time: c.Time, Kind: sample.Stopped})
	}
}

// startSpool starts writing the rows that shard journals put into the spool, until stop is
// called, and sends them to the store until ctx ends.
func (e *Engine) startSpool(ctx, hard context.Context) (stop func()) {
	s := e.opts.Spool
	if s == nil {
		return func() {}
	}
	writing, end := context.WithCancel(context.WithoutCancel(hard)) // shard journals spool their last samples when hard ends
	var wg, draining sync.WaitGroup
	wg.Go(func() { s.Run(writing) })
	draining.Go(func() {
		s.Drain(ctx, spool.Target{
			Store:  e.opts.Store,
			Boot:   e.clock.Boot,
			Stored: func(pv string, n uint64) { e.capture.CountSpooled(pv, n, 0) },
			Lost: func(pv string, ours uint64, m sample.Mark) {
				e.capture.CountSpooled(pv, 0, ours)
				e.marks.Add(pv, m)
			},
			Damaged: func(shard int, m sample.Mark) { e.markDamaged(shard, "", m) },
		})
	})
	return func() {
		draining.Wait()
		end()
		wg.Wait()
	}
}

// endGraceEarly ends the grace period once waiting is pointless, because all samples are on the disk. If
// the store does not accept them, it ends everything. If only the spool would send them, which has
// ended, it ends the holdings, and the marks that wait are still written. The capture has ended before.
// endGraceEarly returns when ctx ends.
func (e *Engine) endGraceEarly(ctx context.Context, end, endHoldings context.CancelFunc) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			switch {
			case e.inMemory() > 0:
			case e.Storage() != "":
				end()
			case e.awaitsSpool():
				endHoldings()
			}
		case <-ctx.Done():
			return
		}
	}
}

// awaitsSpool reports whether the spool holds all samples of the shards that are left.
func (e *Engine) awaitsSpool() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	left := false
	for h := range e.allLocked {
		if !h.journal.AwaitsSpool() {
			return false
		}
		left = true
	}
	return left
}

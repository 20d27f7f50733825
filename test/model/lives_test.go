package model

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/store"
)

func (w *world) stepFlush() {
	e := w.anyEngine()
	w.did("engine %d flushes", e.id)
	w.flush(e)
}

// flush lets an engine make its samples durable, unless the engine is cut off from the store.
func (w *world) flush(e *engine) {
	if e.line.isAway() {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
	defer cancel()
	switch err := e.shardJournal.Sync(ctx); {
	case err == nil:
		w.saved(e)
	case !e.dead() && !e.line.isAway():
		w.fatalf("engine %d cannot flush: %v", e.id, err)
	}
}

func (w *world) stepPass() {
	d := time.Duration(1+w.rng.IntN(3*60)) * time.Minute
	if w.rng.IntN(8) == 0 {
		d *= 8
	}
	if w.away() {
		d = time.Duration(10+w.rng.IntN(30)) * time.Minute
	}
	w.did("nothing happens for %v", d)
	time.Sleep(d)
}

func (w *world) stepCheckpoint() {
	e := w.anyEngine()
	w.did("engine %d: checkpoint", e.id)
	w.checkpoint(e)
}

// stepTogether lets all engines make checkpoints at the same time, each as if it were the
// leader. Afterwards, rollup bins may lack samples. A second checkpoint of each engine
// completes the bins.
func (w *world) stepTogether() {
	w.did("all engines make checkpoints")
	var wg sync.WaitGroup
	errs := make([]error, len(w.engines))
	for i, e := range w.engines {
		if !e.line.isAway() {
			wg.Go(func() { errs[i] = e.shard.Checkpoint(e.ctx) })
		}
	}
	wg.Wait()
	for i, e := range w.engines {
		w.failed(e, "checkpoint", errs[i])
		w.checkpoint(e)
	}
}

func (w *world) checkpoint(e *engine) {
	if e.line.isAway() || !e.declare() {
		return
	}
	w.failed(e, "checkpoint", e.shard.Checkpoint(e.ctx))
}

// failed ends the test if an engine fails that is neither dead nor cut off from the store.
func (w *world) failed(e *engine, what string, err error) {
	if err != nil && !e.dead() && !e.line.isAway() {
		w.fatalf("engine %d: %s: %v", e.id, what, err)
	}
}

// stepTerm lets an engine run a leader's loop for some time while samples arrive. Other
// engines may seal before and after it.
func (w *world) stepTerm() {
	e := w.anyEngine()
	d := time.Duration(20+w.rng.IntN(70)) * time.Second
	w.did("engine %d seals for %v", e.id, d)
	e.cfg.Every = 15 * time.Second
	w.during(e, d, e.term().Run)
	e.cfg.Every = 15 * time.Minute
	e.newTerm()
}

func (w *world) stepFollow() {
	e := w.anyEngine()
	w.did("engine %d follows", e.id)
	w.during(e, time.Minute, e.term().Follow)
	e.newTerm()
	e.seals = false
	e.declare()
}

// during runs f for a time. Meanwhile it captures and reads samples.
func (w *world) during(e *engine, d time.Duration, f func(context.Context) bool) {
	ctx, cancel := context.WithCancel(e.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(time.Duration(1+w.rng.IntN(int(d/2/time.Millisecond))) * time.Millisecond)
		w.updateModel()
		if len(w.engines) == 0 {
			break
		}
		ch := w.anyChannel()
		w.put(ch, w.points(ch, 10*time.Second, w.rng.IntN(10)), w.someEngines()...)
		if w.rng.IntN(2) == 0 {
			w.flush(w.anyEngine())
		}
		if w.rng.IntN(3) == 0 {
			w.updateModel()
			w.compare(w.anyChannel(), w.queriedEngines())
		}
	}
	cancel()
	wg.Wait()
}

// queriedEngines returns the engines that a reader queries: all, some or none.
func (w *world) queriedEngines() (queried []*engine) {
	for _, e := range w.engines {
		if w.rng.IntN(4) > 0 {
			queried = append(queried, e)
		}
	}
	return queried
}

func (w *world) stepLaunch() {
	if len(w.engines) < 3 {
		w.did("engine %d starts", w.launched+1)
		w.launch()
	}
}

func (w *world) stepEnd() {
	e := w.anyEngine()
	if e.line.isAway() {
		return
	}
	w.did("engine %d shuts down in order", e.id)
	w.end(e)
}

// end shuts down an engine in order, and checks that all of its samples are durable.
func (w *world) end(e *engine) {
	e.stop()
	e.running.Wait()
	if e.dead() {
		return // the engine crashed before it had shut down
	}
	if e.unsaved != 0 {
		w.fatalf("engine %d has shut down with %d unsaved samples", e.id, e.unsaved)
	}
	w.saved(e)
	e.crash()
	w.engines = slices.DeleteFunc(w.engines, func(o *engine) bool { return o == e })
}

func (w *world) stepCrash() {
	e := w.anyEngine()
	w.did("engine %d crashes", e.id)
	e.die()
}

// stepBreak makes an engine crash, or cuts it off from the store, at a random write of its
// next operation.
func (w *world) stepBreak() {
	e, n := w.anyEngine(), 1+w.rng.IntN(12)
	if e.line.isAway() {
		return
	}
	what, onBreak := "crash", e.die
	if w.rng.IntN(3) == 0 {
		what, onBreak = "be cut off", func() { w.cut(e) }
	}
	e.line.arm(n, onBreak)
	w.did("engine %d will %s at write %d", e.id, what, n)
	switch w.rng.IntN(5) {
	case 0:
		w.did("engine %d flushes", e.id)
		w.flush(e)
	case 1, 2:
		w.did("engine %d: checkpoint", e.id)
		w.flush(e)
		ctx, cancel := context.WithTimeout(e.ctx, time.Minute) // a checkpoint waits for the store
		w.failed(e, "checkpoint", e.shard.Checkpoint(ctx))
		if cancel(); e.line.isAway() {
			e.newTerm() // an interrupted sealer does not know what it wrote
		}
	case 3:
		w.did("engine %d seals for some time", e.id)
		w.during(e, time.Minute, e.term().Run)
		e.newTerm()
	case 4:
		w.did("engine %d shuts down", e.id)
		e.stop()
		time.Sleep(time.Minute)
		e.line.set(false, false)
		w.end(e)
	}
	e.line.arm(0, nil)
}

func (w *world) away() bool {
	return slices.ContainsFunc(w.engines, func(e *engine) bool { return e.line.isAway() })
}

func (w *world) cut(e *engine) { e.line.set(false, true) }

// stepCut cuts an engine off from the store. Other engines declare it dead after some time.
func (w *world) stepCut() {
	e := w.anyEngine()
	w.did("engine %d is cut off", e.id)
	w.cut(e)
}

func (w *world) stepHeal() {
	for _, e := range w.engines {
		if e.line.isAway() {
			w.did("engine %d reaches the store again", e.id)
			e.line.set(false, false)
			return
		}
	}
}

func (w *world) stepRetention() {
	ch := w.anyChannel()
	ch.retention = w.anyRetention()
	informed := w.engines
	if w.rng.IntN(4) == 0 {
		informed = w.someEngines()
	}
	w.did("%s: the retention is %v now; engines %s know it", ch.name, ch.retention, names(informed))
	for _, e := range informed {
		e.setRetention(ch)
	}
}

// stepDelete ends the capture of a PV and deletes the PV.
func (w *world) stepDelete() {
	ch := w.anyChannel()
	if w.away() {
		w.stepHeal()
		return
	}
	e := w.anyEngine()
	n := 0
	if w.rng.IntN(4) == 0 {
		n = 1 + w.rng.IntN(10)
	}
	w.did("%s: engine %d deletes the PV, and will crash at write %d", ch.name, e.id, n)
	for _, o := range w.engines {
		o.release(ch.name)
		w.flush(o)
	}
	if n > 0 {
		e.line.arm(n, e.die)
	}
	err := e.deletePV(ch.name)
	e.line.arm(0, nil)
	w.failed(e, "deletion", err)
	if e.dead() {
		w.resolveCrash(e)
		e = w.launch()
		w.did("%s: engine %d deletes the PV instead", ch.name, e.id)
		w.failed(e, "deletion", e.deletePV(ch.name))
	}
	clear(ch.sure)
	ch.sent = nil
	// Later rollups need a later stamp than the deletion.
	time.Sleep(time.Second)
	for _, o := range w.engines {
		if o != e { // other engines release the deleted samples when they read the claims
			w.checkpoint(o)
		}
	}
}

// deletePV deletes a PV. Only a leader may, so the engine runs a leader's loop meanwhile.
func (e *engine) deletePV(pv string) error {
	ctx, cancel := context.WithCancel(e.ctx)
	defer e.newTerm()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	leader := e.term()
	wg.Go(func() { leader.Run(ctx) })
	return leader.Delete(ctx, []string{pv})
}

// stepRelease ends the capture of a PV by an engine. The stored samples stay.
func (w *world) stepRelease() {
	ch, e := w.anyChannel(), w.anyEngine()
	w.did("%s: engine %d no longer captures the PV", ch.name, e.id)
	e.release(ch.name)
}

// stepReplay sends an acknowledged row again, as a shard journal does when it has not
// received the acknowledgement.
func (w *world) stepReplay() {
	e := w.anyEngine()
	e.line.mu.Lock()
	rows := slices.Clone(e.line.last)
	e.line.mu.Unlock()
	if len(rows) == 0 || e.line.isAway() {
		return
	}
	acked := slices.DeleteFunc(rows, func(r store.JournalRow) bool { return r.At > e.shardJournal.Acked() })
	if len(acked) == 0 {
		return
	}
	r := acked[w.rng.IntN(len(acked))]
	w.did("engine %d sends row %x again", e.id, uint64(r.At))
	w.must(w.out.call(func(ctx context.Context, st store.Store) error { return st.PutJournal(ctx, r) }))
}

func (w *world) stepReopen() {
	w.did("the store is closed and opened again, and deletes expired rows")
	time.Sleep(time.Second) // the reopened store restarts its clock
	w.must(w.out.reopen())
	w.must(w.reader.Expire(context.Background(), time.Now().UnixNano()))
}

// names lists engines.
func names(engines []*engine) (s string) {
	for _, e := range engines {
		s += fmt.Sprint(" ", e.id)
	}
	return "[" + s + " ]"
}

package handover

import "time"

// read reads one shard in steps, each with its own delay: first memory, then claims and
// rows, then blocks. A read may fail, but it must not succeed with samples missing.
type read struct {
	w       *world
	shard   int
	began   time.Duration
	moved   int // table.moved when the read began
	got     *shown
	covers  []writer
	held    []sample // samples that the answering engines had when the read began
	waiting int
}

// answerTimeout is how long a reader waits for the answer of an engine.
const answerTimeout = 3 * time.Second

func (w *world) read(shard int) {
	r := &read{w: w, shard: shard, began: w.now, got: newShown(len(w.iocs[shard].sent)), moved: w.storage.tables[shard].moved}
	if w.cfg.Fault == BlocksFirst {
		r.blocks(func() { r.journal(func() { r.memory(r.end) }) })
		return
	}
	r.memory(func() { r.journal(func() { r.blocks(r.end) }) })
}

// memory requests the samples in the memory of all engines. If an engine does not answer, the
// read uses its journal rows instead.
func (r *read) memory(then func()) {
	for _, e := range r.w.engines {
		if e.alive {
			r.waiting++
			r.requestMemory(e, then)
		}
	}
	if r.waiting == 0 {
		then()
	}
}

func (r *read) requestMemory(e *engine, then func()) {
	over := false
	end := func() {
		if over = true; r.waiting == 1 {
			r.waiting = 0
			then()
			return
		}
		r.waiting--
	}
	had := e.recent(r.shard)
	r.w.after(answerTimeout, func() {
		if !over {
			end()
		}
	})
	if r.w.chance(0.25) {
		return // the engine does not receive the request
	}
	e.after(r.w.delay(), func() {
		covers, samples := e.covers(), e.recent(r.shard)
		r.w.after(r.w.delay(), func() {
			if !over {
				r.covers = append(r.covers, covers...)
				r.got.add(samples)
				r.held = append(r.held, had...)
				end()
			}
		})
	})
}

// recent returns the samples of a shard that are in the memory and in the spool of an engine.
func (e *engine) recent(shard int) (out []sample) {
	for _, l := range e.shardJournals() {
		if l.shard == shard {
			out = append(out, l.recent()...)
		}
	}
	if e.pod.spool != nil {
		out = append(out, e.pod.spool.recent(shard)...)
	}
	return out
}

// covers returns the covered writers: a reader that has the result of recent does not need
// their rows.
func (e *engine) covers() (out []writer) {
	for _, l := range e.shardJournals() {
		out = append(out, l.writer)
	}
	return out
}

// step reads from the store. If the store is unavailable, the read ends without a result.
func (r *read) step(do, then func()) {
	r.w.after(r.w.delay(), func() {
		if r.w.now < r.w.storage.awayUntil {
			return
		}
		do()
		r.w.after(r.w.delay(), then)
	})
}

func (r *read) journal(then func()) {
	t := &r.w.storage.tables[r.shard]
	var claims []claim
	r.step(func() { claims = t.standing() }, func() { r.rows(claims, then) })
}

func (r *read) rows(claims []claim, then func()) {
	for len(claims) > 0 && r.isCovered(claims[0].writer) {
		claims = claims[1:]
	}
	if len(claims) == 0 {
		then()
		return
	}
	c, t := claims[0], &r.w.storage.tables[r.shard]
	r.step(func() {
		for _, row := range t.after(c.writer, c.sealed) {
			r.got.add(row.samples)
		}
	}, func() { r.rows(claims[1:], then) })
}

func (r *read) isCovered(w writer) bool {
	for _, c := range r.covers {
		if c == w {
			return true
		}
	}
	return false
}

func (r *read) blocks(then func()) {
	r.step(func() {
		for _, b := range r.w.storage.tables[r.shard].standingBlocks(r.w.now) {
			r.got.add(b.samples)
		}
	}, then)
}

func (r *read) end() {
	w := r.w
	w.count(Reads)
	if w.storage.tables[r.shard].moved != r.moved {
		w.count(ReadsUnderWay)
	}
	w.tracef(r.shard, "a read that began at %v ends", r.began)
	w.oracle.judge(r.shard, r.began, r.got, r.held)
}

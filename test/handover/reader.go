package handover

import "time"

// read reads one shard in steps, each of which takes its time: memory, then claims and
// rows, then blocks. It may fail, but not tell less than there is.
type read struct {
	w       *world
	shard   int
	began   time.Duration
	moved   int // what had moved when it began
	got     *shown
	covers  []writer
	held    []sample // by engines that answered, when it began
	waiting int
}

// asked is how long an engine may take to answer a reader.
const asked = 3 * time.Second

func (w *world) read(shard int) {
	r := &read{w: w, shard: shard, began: w.now, got: newShown(len(w.iocs[shard].sent)), moved: w.storage.tables[shard].moved}
	if w.cfg.Fault == BlocksFirst {
		r.blocks(func() { r.journal(func() { r.memory(r.end) }) })
		return
	}
	r.memory(func() { r.journal(func() { r.blocks(r.end) }) })
}

// memory asks all engines. One that does not answer is left out: its rows are read.
func (r *read) memory(then func()) {
	for _, e := range r.w.engines {
		if e.alive {
			r.waiting++
			r.ask(e, then)
		}
	}
	if r.waiting == 0 {
		then()
	}
}

func (r *read) ask(e *engine, then func()) {
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
	r.w.after(asked, func() {
		if !over {
			end()
		}
	})
	if r.w.chance(0.25) {
		return // it cannot be asked
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

// recent returns what the memory of a process and its spool have of a shard.
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

// covers returns the writers whose rows need not be read beside recent.
func (e *engine) covers() (out []writer) {
	for _, l := range e.shardJournals() {
		out = append(out, l.writer)
	}
	return out
}

// step reads something of the store; while that is away, the read fails.
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
		for _, b := range r.w.storage.tables[r.shard].blocks {
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

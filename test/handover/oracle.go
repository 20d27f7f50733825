package handover

import (
	"fmt"
	"time"
)

// fate is the state of one update.
type fate struct {
	acked   bool
	ackedAt time.Duration
	held    int  // number of places where it waits unacknowledged
	excused bool // a subscriber was not connected when the IOC sent the update
	shed    bool // an engine dropped the update because memory was short, which counts as marked
}

// oracle tracks all updates and judges reads by them.
type oracle struct {
	w     *world
	fates [][]fate // by shard and number
	// unrecorded lists, by shard, the gaps in capture of which the store has no record. Such a
	// gap begins when the last engine leaves in order, or when a process dies while the store
	// does not have its claim.
	unrecorded [][]mark
}

// sent records a new update.
func (o *oracle) sent(i *ioc) {
	f := fate{}
	for _, s := range i.subs {
		f.excused = f.excused || !s.connected || s.shardJournal.engine.isCut(cutIOC)
	}
	o.fates[i.shard] = append(o.fates[i.shard], f)
}

// arrived records that an engine has received an update.
func (o *oracle) arrived(shard, n int) {
	o.fates[shard][n].held++
}

// dropped records that an update no longer waits in one of its places.
func (o *oracle) dropped(shard, n int) { o.fates[shard][n].held-- }

func (o *oracle) shed(shard, n int) {
	f := &o.fates[shard][n]
	f.held--
	f.shed = true
}

// acked records samples that count as acknowledged.
func (o *oracle) acked(shard int, samples []sample) {
	for _, s := range samples {
		if f := &o.fates[shard][s.n]; !f.acked {
			f.acked, f.ackedAt = true, o.w.now
		}
	}
}

// left records that a shardJournal has stopped its capture, in order or by a crash.
func (o *oracle) left(l *shardJournal, inOrder bool) {
	from := o.w.now
	switch {
	case inOrder && len(o.w.iocs[l.shard].subs) == 0:
		o.w.count(Abandoned)
	case !inOrder && !l.store().claim(l.writer).stands():
		o.w.count(Unclaimed)
		from = l.captureBegan
	default:
		return
	}
	o.unrecorded[l.shard] = append(o.unrecorded[l.shard], mark{from, o.w.now})
}

// shown is the result of a read: the timestamp of each update that it shows.
type shown struct {
	times []time.Duration // -1: not shown
	twice int             // an update that was shown twice; -1: none
}

func newShown(n int) *shown {
	s := &shown{times: make([]time.Duration, n), twice: -1}
	for i := range s.times {
		s.times[i] = -1
	}
	return s
}

// add merges samples as readers do: it keeps one of equal samples.
func (s *shown) add(samples []sample) {
	for _, x := range samples {
		if x.n >= len(s.times) {
			continue // sent after the read began
		}
		if have := s.times[x.n]; have >= 0 && have != x.at {
			s.twice = x.n
		}
		s.times[x.n] = x.at
	}
}

// judge checks the result of a read that began at a time. held are the samples that the
// answering engines had then.
func (o *oracle) judge(shard int, began time.Duration, s *shown, held []sample) {
	if s.twice >= 0 {
		o.w.violated(shard, "a read shows update %d twice", s.twice)
	}
	for n, at := range s.times {
		if at >= 0 && at != o.w.iocs[shard].sent[n] {
			o.w.violated(shard, "a read shows update %d of %v at %v", n, o.w.iocs[shard].sent[n], at)
			return
		}
		if f := &o.fates[shard][n]; f.acked && f.ackedAt <= began && s.times[n] < 0 {
			o.w.violated(shard, "a read that began at %v does not show update %d, which was acknowledged at %v", began, n, f.ackedAt)
			return
		}
	}
	for _, x := range held {
		if x.n < len(s.times) && s.times[x.n] < 0 && !o.fates[shard][x.n].shed {
			o.w.violated(shard, "a read that began at %v does not show update %d, which an answering engine held at that time", began, x.n)
			return
		}
	}
}

// final checks the whole store at the end of a run.
func (o *oracle) final() {
	for shard := range o.fates {
		t := &o.w.storage.tables[shard]
		s := newShown(len(o.fates[shard]))
		for _, c := range t.standing() {
			for _, r := range t.after(c.writer, c.sealed) {
				s.add(r.samples)
			}
		}
		for _, b := range t.standingBlocks(o.w.now) {
			s.add(b.samples)
		}
		o.judge(shard, o.w.now, s, nil)
		for n := range s.times {
			if s.times[n] < 0 {
				o.lost(shard, n)
			}
		}
		o.checkConverged(shard)
	}
}

// lost judges an update that is not in the store at the end.
func (o *oracle) lost(shard, n int) {
	w, f := o.w, &o.fates[shard][n]
	sent := w.iocs[shard].sent[n]
	switch {
	case f.held > 0:
		w.violated(shard, "update %d still waits in an engine or a spool", n)
	case sent < w.began[shard]: // before chaos began, when an engine may not have captured yet
		return
	case w.cfg.Profile != Anything:
		w.violated(shard, "update %d, sent at %v, is lost", n, sent)
	case !f.shed && !f.excused && !o.marked(shard, n):
		w.violated(shard, "update %d, sent at %v, is lost and in no mark", n, sent)
	}
	w.count(Lost)
}

// marked reports whether an update lies in a mark, or between a mark and the next acknowledged
// update. In the second case readers see that the gap lasts until that update.
func (o *oracle) marked(shard, n int) bool {
	about := 500 * time.Millisecond
	if !o.w.exact {
		about = 15 * time.Second // the rates of clocks are wrong by much more than package clock expects
	}
	sent := o.w.iocs[shard].sent
	covers := func(from, to time.Duration) bool {
		if sent[n] < from-about {
			return false
		}
		for i := n; i >= 0 && sent[i] > to; i-- {
			if o.fates[shard][i].acked {
				return false
			}
		}
		return true
	}
	for _, m := range o.w.storage.tables[shard].marks {
		if covers(m.from-o.w.zero(), m.to-o.w.zero()+about) {
			return true
		}
	}
	for _, m := range o.unrecorded[shard] {
		if covers(m.from-about, m.to+about) {
			return true
		}
	}
	return false
}

// checkConverged checks that a shard has converged.
func (o *oracle) checkConverged(shard int) {
	w := o.w
	held, sealing, leaving := 0, 0, 0
	writers := map[writer]bool{}
	for _, e := range w.engines {
		if !e.alive {
			continue
		}
		if l := e.held[shard]; l != nil {
			held++
			writers[l.writer] = true
			if l.sealer.term != nil {
				sealing++
			}
		}
		for _, l := range e.leaving {
			if l.shard == shard {
				leaving++
			}
		}
	}
	if held != w.replicas || leaving > 0 || sealing != 1 {
		w.violated(shard, "at the end %d engines capture, %d seal, %d are leaving", held, sealing, leaving)
	}
	for _, c := range w.storage.tables[shard].standing() {
		if !writers[c.writer] {
			w.violated(shard, "at the end the claim of w%d still exists: %v", c.writer, fmt.Sprintf("%+v", c))
		}
	}
	if spec := w.api.objects[shard].spec; len(spec.Engines) != w.replicas {
		w.violated(shard, "at the end a shard move is not complete: %v", spec.Engines)
	}
}

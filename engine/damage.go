package engine

import (
	"sync"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// damage has a mark for each shard of which stored bytes are damaged, so that nobody knows whose
// samples are lost. The zero value is ready for use.
//
// All PVs of the shard get the mark: those that the directory has, and those that this engine
// captures, because the directory lacks the PVs that were never sealed. An engine that has just
// started finds the damage in its spool before it captures anything; the PVs then get the mark when
// it takes the shard.
type damage struct {
	mu      sync.Mutex
	byShard map[int]sample.Mark
}

// add keeps a mark. A shard has one mark, which covers all its damage.
func (d *damage) add(shard int, m sample.Mark) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byShard == nil {
		d.byShard = map[int]sample.Mark{}
	}
	if old, known := d.byShard[shard]; known {
		m.Time, m.End, m.Count = min(old.Time, m.Time), max(old.End, m.End), old.Count+m.Count
	}
	d.byShard[shard] = m
}

// take removes and returns the mark of a shard.
func (d *damage) take(shard int) (m sample.Mark, found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, found = d.byShard[shard]
	delete(d.byShard, shard)
	return m, found
}

// markDamaged marks samples that are lost because stored bytes are damaged: those of a PV, or,
// if the PV is empty, those of any PV of a shard.
func (e *Engine) markDamaged(shard int, pv string, m sample.Mark) {
	if pv != "" {
		e.marks.Add(pv, m)
		return
	}
	e.damage.add(shard, m) // before looking at what is captured: Apply does it the other way round
	e.marks.AddToShard(shard, m)
	for _, pv := range e.capture.InShard(shard) {
		e.marks.Add(pv, m)
	}
}

// markTaken marks the channels of a shard that the engine captures from now on, if damage of the
// shard was found before.
func (e *Engine) markTaken(shard int, channels []capture.Channel) {
	m, found := e.damage.take(shard)
	if !found {
		return
	}
	for _, c := range channels {
		e.marks.Add(c.PV, m)
	}
}

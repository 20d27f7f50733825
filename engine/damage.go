package engine

import (
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/mark"
	"varve.dev/varve/engine/sample"
)

// damage has marks for each shard that this engine does not hold and of which stored bytes are damaged,
// so that nobody knows whose samples are lost. Engine.applying guards it. The zero value is ready for use.
//
// All PVs of the shard get the marks: those that the directory has, and those that this engine
// captures, because the directory lacks the PVs that were never sealed. An engine that has just
// started finds the damage in its spool before it captures anything; the PVs then get the marks when
// it takes the shard.
type damage map[int][]sample.Mark

// add keeps a mark. Marks that are far from each other stay apart, up to a few per shard.
func (d *damage) add(shard int, m sample.Mark) {
	if *d == nil {
		*d = damage{}
	}
	(*d)[shard] = mark.Merge((*d)[shard], m)
}

// take removes and returns the marks of a shard.
func (d damage) take(shard int) []sample.Mark {
	marks := d[shard]
	delete(d, shard)
	return marks
}

// markDamaged marks samples that are lost because stored bytes are damaged: those of a PV, or,
// if the PV is empty, those of any PV of a shard. It waits for Apply, so that it sees a shard either
// before Apply takes it, or with all its channels.
func (e *Engine) markDamaged(shard int, pv string, m sample.Mark) {
	if pv != "" {
		e.marks.Add(pv, m)
		return
	}
	e.marks.AddToShard(shard, m)
	e.applying.Lock()
	defer e.applying.Unlock()
	if !e.holds(shard) {
		e.damage.add(shard, m)
		return
	}
	for _, pv := range e.capture.InShard(shard) {
		e.marks.Add(pv, m)
	}
}

// holds reports whether a shard is listed in the assignment.
func (e *Engine) holds(shard int) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.held[shard] != nil
}

// markTaken marks the channels of a shard that the engine captures from now on, if damage of the
// shard was found before.
func (e *Engine) markTaken(shard int, channels []capture.Channel) {
	for _, m := range e.damage.take(shard) {
		for _, c := range channels {
			e.marks.Add(c.PV, m)
		}
	}
}

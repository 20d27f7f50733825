package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// leftSlack is how far the operator's clock may be behind. This clock gives the times when PVs left shards.
const leftSlack = 10 * time.Minute

// connectSlack is how long after a death the next engine may connect to a PV so that the mark of the death ends
// only then. After a longer time, the PV has marks of its own that say why it was not connected.
const connectSlack = 2 * time.Minute

var errUnknownLeft = errors.New("the list of PVs that left the shard cannot be read yet")

// markDied stores a mark for each PV of a shard. The mark says that a writer of the shard ended without
// closing its claim, so that samples between from and to may be missing, or between from and the first connect of
// this engine if that was soon after to. markDied skips PVs to which
// this engine has been connected since from or earlier. All times are in ns since 1970.
//
// The PVs are those that this engine captures in the shard, and those that left the shard and of which
// the writer may have held samples. A PV that left is captured in another shard, perhaps by another
// engine. That engine marks nothing for it, because the dead writer was not in its shard. While a list
// of such PVs cannot be read, markDied marks the other PVs and returns an error, so that it is called again.
func (e *Engine) markDied(ctx context.Context, shard int, from, to int64) error {
	var unknown error
	ends := map[string]int64{}
	e.mu.RLock()
	left := e.left[shard]
	e.mu.RUnlock()
	for _, l := range left {
		end := to
		if l.At != 0 { // other shards have captured the PVs since
			end = min(to, l.At+int64(leftSlack))
		}
		if end <= from {
			continue
		}
		if l.Unknown {
			unknown = errUnknownLeft
			continue
		}
		for _, pv := range l.PVs {
			ends[pv] = max(ends[pv], end)
		}
	}
	for _, pv := range e.capture.InShard(shard) {
		ends[pv] = to
		if first := e.capture.FirstConnected(pv); first > to && first-to <= int64(connectSlack) {
			ends[pv] = first
		}
	}
	var marks []store.PVMark
	for pv, end := range ends {
		if since, _ := e.capture.ConnectedSince(pv); since != 0 && since <= from {
			continue
		}
		marks = append(marks, store.PVMark{PV: pv, Writer: e.writer, Mark: sample.Mark{Time: from, End: end, Kind: sample.Died}})
	}
	for chunk := range slices.Chunk(marks, 500) {
		if err := e.opts.Store.PutMarks(ctx, chunk...); err != nil {
			return err
		}
	}
	return unknown
}

package mark

import (
	"context"
	"fmt"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// AddToShard queues a mark of each PV whose samples the journal of a shard may contain. It does not
// block. The PVs are those that the directory has when the mark is written.
func (l *Log) AddToShard(shard int, m sample.Mark) {
	l.enqueue(entry{mark: store.PVMark{Writer: l.writer, Mark: m}, shard: &shard})
}

// putShardMarks stores marks of all PVs of some shards.
func (l *Log) putShardMarks(ctx context.Context, ofShards map[int][]store.PVMark) error {
	var batch []store.PVMark
	for c, err := range l.store.Channels(ctx) {
		if err != nil {
			return fmt.Errorf("listing the PVs of a shard: %w", err)
		}
		for _, shard := range c.Shards {
			for _, m := range ofShards[shard] {
				m.PV = c.PV
				batch = append(batch, m)
			}
		}
		if len(batch) >= batchLen {
			if err := l.store.PutMarks(ctx, batch...); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return l.store.PutMarks(ctx, batch...)
}

package mark

import (
	"context"
	"fmt"
	"time"

	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// AddToShard adds a mark of each PV whose samples the journal of a shard may contain. It does not
// block. The PVs are those that the directory has when the mark is written. While the directory cannot be
// read, the marks of the shard wait, and Merge joins them into a few.
func (l *Log) AddToShard(shard int, m sample.Mark) {
	l.waiting.keepShard(shard, m.Ordered())
	select {
	case l.shardsWait <- struct{}{}:
	default: // runShards has not yet seen the earlier one
	}
}

// runShards writes the marks of shards until ctx ends. Then it writes the rest until hard ends. It
// has a goroutine of its own, because the directory may be long, or may not be readable while marks
// of single PVs can be written.
func (l *Log) runShards(ctx, hard context.Context) {
	for {
		select {
		case <-l.shardsWait:
			l.writeShards(hard, ctx)
		case <-ctx.Done():
			l.writeShards(hard, hard)
			return
		}
	}
}

// writeShards writes the marks of shards that wait. It retries until it succeeds or ctx ends. If hard
// ends, the marks are dropped.
func (l *Log) writeShards(hard, ctx context.Context) {
	for b := (retry.Backoff{Min: 100 * time.Millisecond, Max: time.Minute}); ; {
		kept := l.waiting.takeShards()
		if len(kept) == 0 {
			return
		}
		n := 0
		for _, marks := range kept {
			n += len(marks)
		}
		err := l.putShardMarks(hard, kept)
		if err == nil {
			l.written.Add(uint64(n))
			return
		}
		if hard.Err() != nil {
			l.dropped.Add(uint64(n))
			l.log.Error("marks of shards are lost because the engine stops", "entries", n, "err", err)
			return
		}
		for shard, marks := range kept {
			for _, m := range marks {
				l.waiting.keepShard(shard, m)
			}
		}
		l.log.Warn("marks of shards cannot be written; they wait", "entries", n, "err", err)
		if !b.Wait(ctx) && hard.Err() == nil {
			return // runShards calls again
		}
	}
}

// putShardMarks stores marks of all PVs of some shards.
func (l *Log) putShardMarks(ctx context.Context, ofShards map[int][]sample.Mark) error {
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var batch []store.PVMark
	for c, err := range l.store.Channels(ctx) {
		if err != nil {
			return fmt.Errorf("listing the PVs of a shard: %w", err)
		}
		for _, shard := range c.Shards {
			for _, m := range ofShards[shard] {
				batch = append(batch, store.PVMark{PV: c.PV, Writer: l.writer, Mark: m})
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

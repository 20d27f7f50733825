package backup

import (
	"context"
	"fmt"

	"varve.dev/varve/engine/store"
)

// Limits of a batch.
const (
	batchRows  = 128
	batchBytes = 4 << 20
)

// batch collects rows that a restore writes together.
type batch struct {
	*restorer
	blocks  []store.Block
	rollups []store.Rollup
	marks   []store.PVMark
	bytes   int
}

// add adds a row, or writes it if rows of its kind are written one by one.
func (b *batch) add(ctx context.Context, row any) error {
	switch r := row.(type) {
	case *store.Block:
		if at, ever := r.Bucket.Expires(); ever && at <= b.now {
			b.expired.Add(1)
			return nil
		}
		b.blocks = append(b.blocks, *r)
		b.bytes += len(r.Blob)
	case *store.Rollup:
		if at, ever := r.Level.Expires(r.Tile); ever && at <= b.now {
			b.expired.Add(1)
			return nil
		}
		b.rollups = append(b.rollups, *r)
		b.bytes += len(r.Blob)
	case *store.PVMark:
		b.marks = append(b.marks, *r)
		b.bytes += len(r.Text)
	default:
		return b.write(ctx, row)
	}
	if len(b.blocks)+len(b.rollups)+len(b.marks) >= batchRows || b.bytes >= batchBytes {
		return b.flush(ctx)
	}
	return nil
}

// flush writes the collected rows.
func (b *batch) flush(ctx context.Context) error {
	if len(b.blocks) > 0 {
		if err := again(ctx, "writing blocks", func() error { return b.store.PutBlocks(ctx, b.blocks...) }); err != nil {
			return err
		}
	}
	if len(b.rollups) > 0 {
		if err := again(ctx, "writing rollups", func() error { return b.store.PutRollups(ctx, b.rollups...) }); err != nil {
			return err
		}
	}
	if len(b.marks) > 0 {
		if err := again(ctx, "writing marks", func() error { return b.store.PutMarks(ctx, b.marks...) }); err != nil {
			return err
		}
	}
	b.blocks, b.rollups, b.marks, b.bytes = b.blocks[:0], b.rollups[:0], b.marks[:0], 0
	return nil
}

// write writes a row.
func (b *batch) write(ctx context.Context, row any) error {
	switch r := row.(type) {
	case *store.PVMetadata:
		return again(ctx, "writing metadata of "+r.PV, func() error { return b.store.PutMetadata(ctx, *r) })
	case *store.Channel:
		return again(ctx, "writing the directory entry of "+r.PV, func() error { return b.store.AddChannel(ctx, *r) })
	case *store.Cutoff:
		return again(ctx, "writing the cutoff", func() error { return b.store.PutCutoff(ctx, *r) })
	case *store.CutoffProgress:
		return again(ctx, "writing the progress of the disk guard", func() error { return b.store.PutCutoffProgress(ctx, *r) })
	case *store.Claim:
		return b.claim(ctx, r)
	case *store.JournalRow:
		return b.journal(ctx, r)
	}
	return fmt.Errorf("%w: %T", errCorrupt, row)
}

// claim writes a claim and its sealed position.
func (b *batch) claim(ctx context.Context, c *store.Claim) error {
	if c.Shard >= 2*b.opts.Shards {
		return fmt.Errorf("%w: a claim of shard %d", errCorrupt, c.Shard)
	}
	b.mu.Lock()
	b.claims[writer{c.Shard, c.Writer}] = c
	b.mu.Unlock()
	return again(ctx, "writing a claim", func() error {
		if err := b.store.PutClaim(ctx, *c); err != nil {
			return err
		}
		return b.store.Seal(ctx, c.Shard, c.Writer, c.Sealed)
	})
}

// journal writes a journal row, unless the claim of its writer says that it is in blocks. The claims are written before.
func (b *batch) journal(ctx context.Context, r *store.JournalRow) error {
	c := b.claims[writer{r.Shard, r.Writer}]
	if c == nil || r.At <= c.Sealed {
		return nil
	}
	return again(ctx, "writing a journal row", func() error { return b.store.PutJournal(ctx, *r) })
}

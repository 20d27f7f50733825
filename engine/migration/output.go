package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// output stores the samples of a PV that the archive lacks.
type output interface {
	// add stores samples, which are sorted. It keeps nothing of the run.
	add(ctx context.Context, run *sample.Run) error
	// show makes readers of the archive see the samples that were added.
	show() error
	// end ends the output. It adds what became of the samples to the report, and then calls done: now, or later and in
	// another goroutine.
	end(r *Report, done func(error))
}

// newOutput returns the output of a PV.
func (o *one) newOutput() (output, error) {
	shard := pvname.Shard(o.name, o.opts.Shards)
	if o.to == nil {
		return &direct{out: seal.NewImporter(o.name, shard, o.known, o.seal)}, nil
	}
	var c store.Channel
	err := o.to.retry("reading the directory", func(ctx context.Context) (err error) {
		c, _, err = o.opts.Store.Channel(ctx, o.name)
		return err
	})
	c.LeaveOutFuture(layout.MaxDeleted(o.now()))
	o.deleted = c.Mask()
	if err == nil && !slices.Contains(c.Shards, shard) {
		shard, err = o.to.ledShard(c.Shards, shard)
	}
	return &sealedLater{account: newAccount(o.name, o.to), queue: o.to.queue(shard)}, err
}

// ledShard returns the last one of some shards of a PV that an engine seals: a sealer that captures the PV need not notice the work
// of another one. If no engine seals any of them, as after two engines captured the PV in another cluster, ledShard returns
// the home shard, in which readers look, too.
func (j *journaled) ledShard(shards []int, home int) (int, error) {
	for _, shard := range slices.Backward(shards) {
		led := false
		if err := j.retry("reading claims", func(ctx context.Context) error {
			claims, err := j.store.Claims(ctx, shard)
			led = leader(claims) != nil
			return err
		}); err != nil || led {
			return shard, err
		}
	}
	return home, nil
}

// nowhere stores nothing.
type nowhere struct{}

func (nowhere) add(context.Context, *sample.Run) error { return nil }
func (nowhere) show() error                            { return nil }
func (nowhere) end(_ *Report, done func(error))        { done(nil) }

// direct stores samples as blocks in an archive without engines.
type direct struct {
	out             *seal.Importer
	stored, expired uint64
}

func (d *direct) add(ctx context.Context, run *sample.Run) error {
	n := run.Len()
	expired, err := d.out.Store(ctx, run.Clone())
	if errors.Is(err, seal.ErrRefused) {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if err != nil {
		return err
	}
	d.stored, d.expired = d.stored+uint64(n-expired), d.expired+uint64(expired)
	return nil
}

func (d *direct) show() error { return nil }

func (d *direct) end(r *Report, done func(error)) {
	d.out.Close()
	r.Stored, r.Expired = r.Stored+d.stored, r.Expired+d.expired
	done(nil)
}

// sealedLater stores samples in an archive with engines.
type sealedLater struct {
	*account
	queue *queue
}

func (l *sealedLater) add(_ context.Context, run *sample.Run) error {
	return l.queue.add(l.account, run)
}

func (l *sealedLater) show() error { return l.queue.publish(l.account) }

func (l *sealedLater) end(r *Report, done func(error)) {
	l.finish(func() {
		l.mu.Lock()
		r.Stored, r.Expired, r.Deleted = r.Stored+l.stored, r.Expired+l.expired, r.Deleted+l.deleted
		err := l.err
		l.mu.Unlock()
		done(err)
	})
}

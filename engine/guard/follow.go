package guard

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/store"
)

// parallel is the number of PVs whose blocks an engine deletes at the same time.
const parallel = 4

// following is one pass through the directory, for the shards of an engine that have not
// followed the cutoff.
type following struct {
	*Guard
	cutoff  int64
	sealers map[int]Sealer

	mu     sync.Mutex
	shards map[int]*progress
}

// progress is what a pass did for a shard.
type progress struct {
	after          int64 // the cutoff that the shard had followed before
	buckets, bytes int64
	err            error
}

// follow deletes the samples before the cutoff in the shards that this engine seals. It
// returns the progress of all shards after that.
func (g *Guard) follow(ctx context.Context, cutoff int64, sealers map[int]Sealer, shardProgress []store.CutoffProgress) ([]store.CutoffProgress, error) {
	f := &following{Guard: g, cutoff: cutoff, sealers: sealers, shards: map[int]*progress{}}
	for shard := range sealers {
		f.shards[shard] = &progress{after: math.MinInt64}
	}
	for _, sp := range shardProgress {
		p := f.shards[sp.Shard]
		switch {
		case p == nil || sp.Cutoff == 0:
		case sp.Cutoff >= cutoff:
			delete(f.shards, sp.Shard)
		default:
			p.after = sp.Cutoff
		}
	}
	if len(f.shards) == 0 {
		return shardProgress, nil
	}
	walked := f.walk(ctx)
	for _, shard := range slices.Sorted(maps.Keys(f.shards)) {
		if p := f.shards[shard]; p.err == nil {
			p.err = walked
		}
	}
	return f.put(ctx)
}

// walk visits each PV in the directory.
func (f *following) walk(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var failed error
	for c, err := range f.cfg.Store.Channels(gctx) {
		if err != nil {
			failed = err
			break
		}
		if shard, of := f.shardFor(&c); of != nil {
			group.Go(func() error {
				f.drop(gctx, c, shard, of)
				return gctx.Err()
			})
		}
	}
	return cmp.Or(failed, group.Wait())
}

// shardFor returns the shard of this pass that a PV counts for, or nil if there is none. It
// also returns the shard whose sealer deletes the samples. If this engine captures the PV and
// seals its shard, that is the shard, so that deletions and tier migrations of one PV exclude
// each other.
func (f *following) shardFor(c *store.Channel) (by int, of *progress) {
	for _, shard := range c.Shards {
		if p := f.shards[shard]; p != nil && (of == nil || p.after < of.after) {
			by, of = shard, p
		}
	}
	if shard, captured := f.cfg.Captured(c.PV); captured && f.sealers[shard] != nil {
		by = shard
	}
	return by, of
}

func (f *following) drop(ctx context.Context, c store.Channel, by int, of *progress) {
	buckets, bytes, err := f.sealers[by].DropBefore(ctx, c, of.after, f.cutoff)
	f.metrics.buckets.Add(float64(buckets))
	f.metrics.bytes.Add(float64(bytes))
	f.mu.Lock()
	defer f.mu.Unlock()
	of.buckets += int64(buckets)
	of.bytes += bytes
	of.err = cmp.Or(of.err, err)
}

// put stores the progress of the shards. The bytes that a shard deleted count even if a
// deletion failed. put returns the first error.
func (f *following) put(ctx context.Context) ([]store.CutoffProgress, error) {
	shardProgress, err := f.cfg.Store.CutoffProgress(ctx) // other engines may have written in the meantime
	if err != nil {
		return nil, err
	}
	now := f.cfg.Sealers()
	var buckets, bytes int64
	for _, shard := range slices.Sorted(maps.Keys(f.shards)) {
		p := f.shards[shard]
		i := slices.IndexFunc(shardProgress, func(sp store.CutoffProgress) bool { return sp.Shard == shard })
		if i < 0 {
			i, shardProgress = len(shardProgress), append(shardProgress, store.CutoffProgress{Shard: shard})
		}
		sp := &shardProgress[i]
		sp.Buckets, sp.Bytes = sp.Buckets+p.buckets, sp.Bytes+p.bytes
		if p.err == nil && now[shard] == f.sealers[shard] { // a new sealer repeats the pass
			sp.Cutoff = max(sp.Cutoff, f.cutoff)
		}
		err = cmp.Or(err, p.err, f.cfg.Store.PutCutoffProgress(ctx, *sp))
		buckets, bytes = buckets+p.buckets, bytes+p.bytes
	}
	if buckets > 0 {
		f.cfg.Log.Warn("the disk guard deleted raw samples", "before", when(f.cutoff), "buckets", buckets, "bytes", bytes, "shards", len(f.shards))
	}
	return shardProgress, err
}

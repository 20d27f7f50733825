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

// parallel is how many PVs of an engine give up blocks at a time.
const parallel = 4

// following is one way through the directory, for the shards of an engine that have not
// followed the cutoff.
type following struct {
	*Guard
	cutoff  int64
	sealers map[int]Sealer

	mu     sync.Mutex
	shards map[int]*progress
}

// progress is what a shard did.
type progress struct {
	after          int64 // what it had followed before
	buckets, bytes int64
	err            error
}

// follow has the shards that this engine seals give up what is before the cutoff, and
// returns how far all shards are then.
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

// walk goes through the directory.
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

// shardFor returns the shard of this walk to whose account a PV is, or nil for none; and
// the one whose sealer drops: that which captures the PV, if it is sealed here. So
// deletions exclude moves of the same PV.
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

// put writes how far the shards are. What a shard whose turn failed has given up counts all
// the same. It returns the first error.
func (f *following) put(ctx context.Context) ([]store.CutoffProgress, error) {
	shardProgress, err := f.cfg.Store.CutoffProgress(ctx) // others may have written since
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
		if p.err == nil && now[shard] == f.sealers[shard] { // a new sealer looks again
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

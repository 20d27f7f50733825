package seal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// part is what there is to seal of a PV: a run of one type, which may be empty.
type part struct {
	pv  string
	run *sample.Run
}

// write stores the parts as blocks, and carries the last sample of each PV into
// the present bucket. It returns when all is acknowledged; it fails only when
// ctx ends.
func (s *Shard) write(ctx context.Context, parts []part) error {
	if err := s.load(ctx, parts); err != nil {
		return err
	}
	now := time.Now().UnixNano()
	var blocks []store.Block
	var missing []store.Channel
	samples := 0
	for _, p := range parts {
		ser := s.series[p.pv]
		ser.round = s.round
		var of []store.Block
		if p.run.Len() > 0 {
			ser.resize(p.run, now)
			samples += p.run.Len()
			of = ser.plan(p.run)
		}
		if ser.sized {
			of = append(of, ser.carry(ser.size.Of(now))...)
		}
		if c, ok := ser.missing(s.lane.Shard, of); ok {
			missing = append(missing, c)
			ser.added(c)
		}
		blocks = append(blocks, of...)
	}
	// What is planned counts as written, so it must be: there is no way back.
	err := s.insist(ctx, "adding to the directory", func() error {
		return inParallel(ctx, missing, func(ctx context.Context, c store.Channel) error {
			return s.cfg.Store.AddChannel(ctx, c)
		})
	})
	if err != nil {
		return err
	}
	blocks = latest(blocks)
	if err := s.insist(ctx, "writing blocks", func() error { return s.cfg.Store.PutBlocks(ctx, blocks...) }); err != nil {
		return err
	}
	s.cfg.Metrics.wrote(blocks, samples)
	return nil
}

// load makes sure that the series of all parts know what the directory holds.
func (s *Shard) load(ctx context.Context, parts []part) error {
	var fresh []*series
	for _, p := range parts {
		if s.series[p.pv] == nil {
			ser := &series{pv: p.pv, writer: s.writer, n: s.n}
			s.series[p.pv] = ser
			fresh = append(fresh, ser)
		}
	}
	return s.insist(ctx, "reading the directory", func() error {
		return inParallel(ctx, fresh, func(ctx context.Context, ser *series) error {
			c, _, err := s.cfg.Store.Channel(ctx, ser.pv)
			ser.known = c
			return err
		})
	})
}

// insist calls f until it succeeds or ctx ends.
func (s *Shard) insist(ctx context.Context, what string, f func() error) error {
	const first, longest = 100 * time.Millisecond, 5 * time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		s.cfg.Metrics.Retries.Inc()
		s.cfg.Log.Warn("sealing: the store refuses; trying again", "doing", what, "shard", s.lane.Shard, "err", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// inParallel calls f for all items, a few at a time.
func inParallel[T any](ctx context.Context, items []T, f func(context.Context, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, item := range items {
		g.Go(func() error { return f(ctx, item) })
	}
	return g.Wait()
}

// latest keeps the last of the blocks that have the same key: a block that grew
// twice in one batch is written once.
func latest(blocks []store.Block) []store.Block {
	at := make(map[store.BlockKey]int, len(blocks))
	for i := range blocks {
		at[blocks[i].BlockKey] = i
	}
	i := -1
	return slices.DeleteFunc(blocks, func(b store.Block) bool {
		i++
		return at[b.BlockKey] != i
	})
}

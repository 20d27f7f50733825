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
// the present bucket. Unless it is nil, tell is told of samples that are too old to be
// kept. It returns when all is acknowledged; it fails only when ctx ends.
func (s *Shard) write(ctx context.Context, parts []part, tell func(pv string, n int)) error {
	if err := s.load(ctx, parts); err != nil {
		return err
	}
	if err := s.loadRolls(ctx, parts); err != nil {
		return err
	}
	now, cutoff := time.Now().UnixNano(), s.cutoff()
	var blocks []store.Block
	var missing []store.Channel
	samples, expired := 0, 0
	for i := range parts {
		p := &parts[i]
		ser := s.series[p.pv]
		ser.round = s.round
		ser.moveTo(s.tier(ser))
		var of []store.Block
		if p.run.Len() > 0 {
			ser.resize(p.run, now)
			run, refused := ser.refuse(p.run, cutoff)
			planned, old := ser.plan(run, now)
			if old+refused > 0 && tell != nil {
				tell(p.pv, old+refused)
			}
			of, samples, expired = planned, samples+run.Len()-old, expired+old+refused
			p.run = run
		}
		if ser.lastType != sample.Unknown {
			of = append(of, ser.carry(ser.bucket(now))...)
		}
		if c, ok := ser.missing(s.shardJournal.Shard, of); ok {
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
	if err := s.carryLate(ctx, parts, now); err != nil {
		return err
	}
	if err := s.roll(ctx, parts); err != nil {
		return err
	}
	s.cfg.Metrics.wrote(blocks, samples)
	s.cfg.Metrics.Expired.Add(float64(expired))
	return s.fill(ctx, parts)
}

// fill writes carried-forward samples of large values again that have none, where the value
// would expire before them. It holds one at a time.
func (s *Shard) fill(ctx context.Context, parts []part) error {
	for _, p := range parts {
		ser := s.series[p.pv]
		for _, b := range ser.bare {
			err := s.insist(ctx, "carrying a large value", func() error {
				r, err := s.cfg.last(ctx, ser.pv, b.time)
				if err != nil || r == nil || r.Times[0] != b.time {
					return err
				}
				r.Tags[0] |= sample.CarriedForward
				return s.cfg.Store.PutBlocks(ctx, carriedForwardBlock(b.key, r))
			})
			if err != nil {
				return err
			}
		}
		ser.bare = nil
	}
	return nil
}

// tier returns that on which a PV is to be kept, or the next longer one that the store
// has.
func (s *Shard) tier(ser *series) store.Tier {
	r, captured := s.cfg.retention(ser.pv)
	if !captured {
		r.Raw = lastTier(ser.known.Starts)
	}
	return available(s.tiers, r.Raw)
}

// lookAtTiers finds out which tiers the store has. Some are made when they are needed,
// by another process.
func (s *Shard) lookAtTiers(ctx context.Context) error {
	if len(s.tiers) == store.NumTiers || s.tiers != nil && time.Since(s.tiersAt) < time.Minute {
		return nil
	}
	tiers, err := s.cfg.Store.Tiers(ctx)
	if err == nil {
		s.tiers, s.tiersAt = tiers, time.Now()
	}
	return err
}

// load makes sure that the series of all parts know what the directory holds, and the
// last sample of the PV, which another sealer may have sealed.
func (s *Shard) load(ctx context.Context, parts []part) error {
	var unsure []*series
	for _, p := range parts {
		if s.series[p.pv] == nil {
			s.series[p.pv] = &series{pv: p.pv, writer: s.writer, n: s.n, carrying: carrying{unsure: true}}
		}
		if ser := s.series[p.pv]; ser.unsure && !slices.Contains(unsure, ser) {
			unsure = append(unsure, ser)
		}
	}
	return s.insist(ctx, "reading the directory", func() error {
		if err := s.lookAtTiers(ctx); err != nil {
			return err
		}
		return inParallel(ctx, unsure, func(ctx context.Context, ser *series) error {
			c, found, err := s.cfg.Store.Channel(ctx, ser.pv)
			ser.known = c
			if err != nil || !found {
				return err
			}
			r, err := s.cfg.last(ctx, ser.pv, time.Now().UnixNano())
			if r != nil {
				ser.moveTo(s.tier(ser))
				ser.recall(r)
			}
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
		s.cfg.Log.Warn("sealing: the store refuses; trying again", "doing", what, "shard", s.shardJournal.Shard, "err", err)
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

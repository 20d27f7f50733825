package seal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/store"
)

// patience is how long the sealer tries to store the samples of a PV, while the samples of other
// PVs wait.
const patience = time.Minute

// refusals holds the PVs whose samples the store refused when they were last to be sealed. Their
// samples stay in the journal, and in memory, until a later checkpoint.
type refusals struct {
	pvs map[string]bool
	// writers are the writers with rows that are sealed except for some PVs.
	writers map[store.WriterID]*partlySealed
}

// partlySealed describes the rows of a writer after its sealed position. The samples in the rows up
// to through are in blocks, except those of some PVs. So a later pass does not write blocks of the
// other PVs again.
type partlySealed struct {
	through store.Position
	pvs     map[string]bool
	tried   time.Time   // the last time at which a pass tried to seal all samples of these PVs
	late    lateSamples // the late samples in these rows
}

// eachPV calls f once for each PV of parts, several at a time, and again for the PVs for which it
// failed, until patience ends. f gets one chance if the store refused the PV before, or if the disk is
// full: otherwise the other PVs, and the deletions that free space, would wait for patience in each batch.
// eachPV returns the parts of the PVs for which f succeeded. It fails only if ctx ends, or if another
// engine leads.
func (s *Shard) eachPV(ctx context.Context, doing string, parts []part, f func(ctx context.Context, pv string) error) ([]part, error) {
	todo := pvsOf(parts)
	begun := time.Now()
	for backoff := (retry.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}); ; {
		failed := failures(ctx, todo, f)
		if len(failed) == 0 {
			return parts, nil
		}
		if err := superseding(failed); err != nil {
			return nil, err
		}
		todo = slices.DeleteFunc(todo, func(pv string) bool { return failed[pv] == nil })
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", doing, ctx.Err())
		}
		s.cfg.Metrics.Retries.Inc()
		s.cfg.Log.Warn("sealing: an operation of the store failed; the sealer retries", "doing", doing, "shard", s.shardJournal.Shard, "pvs", len(todo),
			"err", failed[todo[0]])
		late := time.Since(begun) >= patience
		for _, pv := range todo {
			if late || s.refused.pvs[pv] || errors.Is(failed[pv], store.ErrDiskFull) {
				s.refuse(doing, pv, failed[pv])
				parts = slices.DeleteFunc(parts, func(p part) bool { return p.pv == pv })
			}
		}
		todo = slices.DeleteFunc(todo, func(pv string) bool { return s.refused.pvs[pv] })
		if len(todo) == 0 {
			return parts, nil
		}
		if !backoff.Wait(ctx) {
			return nil, fmt.Errorf("%s: %w", doing, ctx.Err())
		}
	}
}

// failures calls f for all PVs, several at a time, and returns the errors. Once f returns
// errSuperseded, failures does not call it any more.
func failures(ctx context.Context, pvs []string, f func(ctx context.Context, pv string) error) map[string]error {
	var mu sync.Mutex
	failed := map[string]error{}
	var over atomic.Bool
	var g errgroup.Group // an error of one PV does not end the others
	g.SetLimit(16)
	for _, pv := range pvs {
		if over.Load() {
			break
		}
		g.Go(func() error {
			if err := f(ctx, pv); err != nil {
				if errors.Is(err, errSuperseded) {
					over.Store(true)
				}
				mu.Lock()
				defer mu.Unlock()
				failed[pv] = err
			}
			return nil
		})
	}
	_ = g.Wait()
	return failed
}

// superseding returns the error of failures that wraps errSuperseded, or nil if there is none.
func superseding(failed map[string]error) error {
	for _, err := range failed {
		if errors.Is(err, errSuperseded) {
			return err
		}
	}
	return nil
}

func pvsOf(parts []part) []string {
	pvs := make([]string, len(parts))
	for i := range parts {
		pvs[i] = parts[i].pv
	}
	slices.Sort(pvs)
	return slices.Compact(pvs)
}

// refuse gives the samples of a PV up for now. Some of their blocks may be stored. The sealer
// forgets the state of the PV, because it counts these blocks as stored, and reads it again later.
func (s *Shard) refuse(doing, pv string, err error) {
	s.cfg.Metrics.Refused.Inc()
	s.cfg.Log.Error("the samples of a PV cannot be sealed; they stay in the journal, and the sealer tries again at the next checkpoint",
		"shard", s.shardJournal.Shard, "pv", pv, "doing", doing, "err", err)
	if s.refused.pvs == nil {
		s.refused.pvs = map[string]bool{}
	}
	s.refused.pvs[pv] = true
	s.forget(pv)
}

// accept notes that the samples of parts are sealed, and returns the other PVs of all parts.
func (s *Shard) accept(all []string, parts []part) (refused map[string]bool) {
	refused = map[string]bool{}
	for _, pv := range all {
		refused[pv] = true
	}
	for _, p := range parts {
		delete(refused, p.pv)
		delete(s.refused.pvs, p.pv)
	}
	return refused
}

// checkNotRefused returns an error if some samples of PVs are not sealed.
func (s *Shard) checkNotRefused(pvs []string) error {
	for _, pv := range pvs {
		refused := s.refused.pvs[pv]
		for _, w := range s.refused.writers {
			refused = refused || w.pvs[pv]
		}
		if refused {
			return fmt.Errorf("sealing %s: %w", pv, errRefused)
		}
	}
	return nil
}

var errRefused = errors.New("the store refuses its samples, which the log explains")

// putBlocks writes blocks. It returns the parts of the PVs whose blocks are acknowledged.
func (s *Shard) putBlocks(ctx context.Context, parts []part, blocks []store.Block) ([]part, error) {
	if s.cfg.Store.PutBlocks(ctx, blocks...) == nil { // all at once is cheaper
		return parts, nil
	}
	byPV := map[string][]store.Block{}
	for i := range blocks {
		byPV[blocks[i].PV] = append(byPV[blocks[i].PV], blocks[i])
	}
	return s.eachPV(ctx, "writing blocks", parts, func(ctx context.Context, pv string) error { return s.cfg.Store.PutBlocks(ctx, byPV[pv]...) })
}

// partly returns what is known of the rows of a writer after its sealed position, or nil.
func (s *Shard) partly(w store.WriterID) *partlySealed { return s.refused.writers[w] }

// noteOwnPartly notes that the samples in this engine's rows up to a position are in blocks, except
// those of refused heads, and, if there are released rows, those that were refused in them.
func (s *Shard) noteOwnPartly(to store.Position, refused []*journal.Head, released bool) {
	w := s.shardJournal.Writer()
	was := s.partly(w)
	if len(refused) == 0 && !released {
		delete(s.refused.writers, w)
		return
	}
	if was == nil {
		was = &partlySealed{pvs: map[string]bool{}}
	}
	was.through = max(was.through, to)
	for _, h := range refused {
		was.pvs[h.PV] = true
	}
	s.setPartly(w, was)
}

func (s *Shard) setPartly(w store.WriterID, p *partlySealed) {
	if s.refused.writers == nil {
		s.refused.writers = map[store.WriterID]*partlySealed{}
	}
	s.refused.writers[w] = p
}

// notePartly notes which PVs are missing in blocks, of the rows that were gathered.
func (s *Shard) notePartly(w store.WriterID, g *gathering) {
	was, tried := s.partly(w), time.Now()
	if was != nil && g.onlyLater {
		tried = was.tried
	}
	switch {
	case was != nil && g.at < was.through: // not all of these rows were read
		for pv := range g.refused {
			was.pvs[pv] = true
		}
		was.late = was.late.with(g.late)
	case len(g.refused) == 0:
		delete(s.refused.writers, w)
	default:
		s.setPartly(w, &partlySealed{through: g.at, pvs: g.refused, tried: tried, late: maps.Clone(g.late)})
	}
}

package seal

import (
	"context"
	"maps"
	"slices"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// gathering holds the samples that were read from a writer's rows and are not sealed yet.
type gathering struct {
	byPV       map[string][]*sample.Run
	bytes      int
	at, sealed store.Position // of the latest row that was read, and of the latest row that is sealed
	flushed    int64          // time of the latest row that was read, but at least Claim.Alive
	read       int64          // time of the latest row that was read, or captured before the first one
	captured   int64          // all samples in rows after the sealed position were captured after this time
	gaps       []gap          // between the rows that were read and are not sealed yet

	// before is the position before the first row with samples of each PV. The sealed position may
	// rise to limit, because the samples of the refused PVs after it are in no block.
	before  map[string]store.Position
	limit   store.Position
	refused map[string]bool
	// onlyLater means that the rows up to partlySealed.through were not read.
	onlyLater bool

	late    lateSamples // in the rows after sealed
	leftOut bool        // a damaged row was left out
	size    int         // bytes of the rows that were read since the latest call of sealGathered
}

// add adds the samples of a row that are not in blocks. After an error nothing is added.
func (g *gathering) add(row store.JournalRow, sealed *partlySealed) error {
	if row.Damage != nil {
		return row.Damage
	}
	t, err := journal.FlushTime(row)
	if err != nil {
		return err
	}
	runs, err := journal.Decode(row)
	if err != nil {
		return err
	}
	g.size += len(row.Index) + len(row.Blob)
	last := g.at
	g.at, g.read, g.flushed = row.At, t, max(g.flushed, t)
	for _, r := range runs {
		if sealed != nil && row.At <= sealed.through && !sealed.pvs[r.PV] {
			continue
		}
		if _, known := g.before[r.PV]; !known {
			g.before[r.PV] = last
		}
		of := g.byPV[r.PV]
		if n := len(of); n > 0 && of[n-1].Type == r.Run.Type {
			of[n-1].AppendRange(r.Run, 0, r.Run.Len())
		} else {
			g.byPV[r.PV] = append(of, r.Run)
		}
		g.bytes += r.Run.Size()
	}
	return nil
}

// sealGathered writes the samples that were gathered as blocks. Then it raises the sealed position,
// but not beyond a row with samples of a PV that the store refuses. If tiles lack late samples, the
// rows are held, and the position rises later.
func (s *Shard) sealGathered(ctx context.Context, c store.Claim, g *gathering) error {
	var parts []part
	for pv, runs := range g.byPV {
		for _, r := range runs {
			parts = append(parts, part{pv, r})
		}
	}
	for chunk := range slices.Chunk(parts, batchHeads) {
		if err := s.writeGathered(ctx, c.Writer, chunk, g); err != nil {
			return err
		}
	}
	s.notePartly(c.Writer, g)
	clear(g.byPV)
	clear(g.before)
	size := g.size
	g.bytes, g.size = 0, 0
	to := min(g.at, g.limit)
	if to <= g.sealed {
		return nil
	}
	if s.heldTo(c.Writer) > 0 || g.late.wait(s.tiles) {
		s.hold(c.Writer, heldRows{to: to, late: g.late, bytes: size})
		held := s.heldTo(c.Writer)
		if err := s.limitHeld(ctx); err != nil {
			return err
		}
		if s.heldTo(c.Writer) == 0 { // limitHeld has released the rows
			g.sealed = held
		}
	} else {
		if err := s.raise(ctx, c.Writer, to); err != nil {
			return err
		}
		g.sealed = to
	}
	s.cfg.Metrics.Adopted.Add(float64(len(parts)))
	g.gaps = slices.DeleteFunc(g.gaps, func(gap gap) bool {
		if gap.after < to {
			s.reportGap(c.Writer, &gap)
		}
		return gap.after < to
	})
	return nil
}

// writeGathered writes parts of the rows of a writer as blocks. The tiles are corrected later, but
// at once if the rows belong to this engine, because they left memory when it was short.
func (s *Shard) writeGathered(ctx context.Context, w store.WriterID, parts []part, g *gathering) error {
	out, err := s.write(ctx, parts, nil)
	if err != nil {
		return err
	}
	if w == s.shardJournal.Writer() {
		refused, err := s.correctNow(ctx, out.late)
		if err != nil {
			return err
		}
		maps.Copy(out.refused, refused)
	} else {
		for _, pv := range out.late {
			g.late[pv] = s.tiles.LateNumber(pv)
		}
	}
	for pv := range out.refused {
		g.refused[pv], g.limit = true, min(g.limit, g.before[pv])
	}
	return nil
}

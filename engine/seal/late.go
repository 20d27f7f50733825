package seal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/tiling"
)

const (
	// correctMost is how many PVs have their tiles corrected at a time. Sealing waits no longer.
	correctMost = 128
	// heldLimit is the size of the rows that wait for corrections above which corrections do not
	// wait for more late samples. Each read of a PV looks through these rows.
	heldLimit = 32 << 20
	// maxHeld bounds the number of held rows of a writer that are known one by one.
	maxHeld = 16
	// lateBytes is roughly the memory of a PV in a set of late PVs: its entry in the map, without the name,
	// which other maps share.
	lateBytes = 45
	// setsShare is the part of the memory limit that the sets of all shards may take, as 1/setsShare.
	setsShare = 16
)

// heldRows are rows of a writer after its sealed position. All their samples are in blocks, but
// tiles lack some that are late. The sealed position rises when the tiles are corrected: until
// then readers find the late samples in the rows, and do not trust the tiles there.
type heldRows struct {
	to    store.Position
	late  lateSamples // that tiles lack, except those of earlier held rows of the writer
	bytes int
}

// lateSamples says which late samples must be in tiles: for each PV the number that
// tiling.Shard.LateNumber returned. A PV that becomes late again after its correction has another
// number, so rows do not wait for samples that came later.
type lateSamples map[string]uint64

// wait reports whether tiles lack some of the late samples.
func (l lateSamples) wait(t *tiling.Shard) bool {
	for pv, n := range l {
		if t.LateNumber(pv) == n {
			return true
		}
	}
	return false
}

// with adds other late samples, and returns the result. It keeps the greater number of a PV, because the tiles
// already have the late samples of the lower number.
func (l lateSamples) with(other lateSamples) lateSamples {
	if l == nil {
		l = lateSamples{}
	}
	for pv, n := range other {
		l[pv] = max(l[pv], n)
	}
	return l
}

// hold notes that rows of a writer up to a position are in blocks, and which late samples the tiles
// lack.
func (s *Shard) hold(w store.WriterID, h heldRows) {
	before := sizeOfSets(s.held[w])
	defer func() { s.countSets(sizeOfSets(s.held[w]) - before) }()
	rows := s.held[w]
	n := len(rows)
	if n > 0 && h.to <= rows[n-1].to { // samples that the store refused before: they may be in the first rows
		rows[0].add(heldRows{to: rows[0].to, late: h.late})
		return
	}
	h.late = maps.Clone(h.late)
	for _, earlier := range rows {
		maps.DeleteFunc(h.late, func(pv string, n uint64) bool { return earlier.late[pv] == n })
	}
	if n == maxHeld {
		rows[n-1].add(h)
		return
	}
	s.held[w] = append(rows, h)
}

// add adds the rows that follow.
func (h *heldRows) add(next heldRows) {
	h.to = next.to
	h.bytes += next.bytes
	h.late = h.late.with(next.late)
}

// hurryHeld makes all corrections that the held rows of a writer wait for due at once.
func (s *Shard) hurryHeld(w store.WriterID) {
	for _, h := range s.held[w] {
		s.tiles.Hurry(slices.Collect(maps.Keys(h.late)))
	}
}

// heldTo returns the position up to which the rows of a writer are in blocks, after its sealed
// position. It is 0 if no rows are held.
func (s *Shard) heldTo(w store.WriterID) store.Position {
	if rows := s.held[w]; len(rows) > 0 {
		return rows[len(rows)-1].to
	}
	return 0
}

// correctLate corrects the tiles of the PVs whose corrections are due, but not of many at a time.
// Then it raises the sealed positions of the rows that have waited for them. It fails if a
// position cannot be raised. A PV whose tiles cannot be corrected waits for a later call.
func (s *Shard) correctLate(ctx context.Context) error {
	defer func() { s.correcting.Store(len(s.held) > 0 || len(s.tiles.Late()) > 0) }()
	pace := tiling.Pace{Quiet: s.cfg.LateQuiet, Age: s.cfg.LateAge, Most: correctMost}
	switch {
	case s.heldBytes() > heldLimit:
		pace.Quiet = 0
	case s.isOverloaded():
		pace.Quiet = pace.Age
	}
	if err := superseding(s.correct(ctx, s.tiles.Due(pace))); err != nil {
		return err
	}
	return s.releaseHeld(ctx)
}

// correct corrects the tiles of PVs. It returns the PVs for which that failed.
func (s *Shard) correct(ctx context.Context, pvs []string) (failed map[string]error) {
	failed = failures(ctx, pvs, s.tiles.Correct)
	for pv, err := range failed {
		if ctx.Err() != nil || errors.Is(err, errSuperseded) {
			continue
		}
		s.cfg.Metrics.Retries.Inc()
		s.cfg.Log.Error("the rollups of a PV cannot be corrected for late samples; the sealer tries again, and meanwhile readers compute them",
			"shard", s.shardJournal.Shard, "pv", pv, "err", err)
	}
	return failed
}

func (s *Shard) heldBytes() (n int) {
	for _, rows := range s.held {
		for i := range rows {
			n += rows[i].bytes
		}
	}
	return n
}

// releaseHeld raises the sealed position of each writer up to the first rows whose late samples some
// tiles lack.
func (s *Shard) releaseHeld(ctx context.Context) error {
	defer s.countHeld()
	for w, rows := range s.held {
		for i := range rows { // a PV whose tiles are corrected takes no memory any longer
			maps.DeleteFunc(rows[i].late, func(pv string, n uint64) bool { return s.tiles.LateNumber(pv) != n })
		}
		n := slices.IndexFunc(rows, func(h heldRows) bool { return h.late.wait(s.tiles) })
		if n < 0 {
			n = len(rows)
		}
		if n == 0 {
			continue
		}
		if err := s.raise(ctx, w, rows[n-1].to); err != nil {
			return err
		}
		if s.held[w] = rows[n:]; len(s.held[w]) == 0 {
			delete(s.held, w)
		}
	}
	return nil
}

// raise raises the sealed position of a writer.
func (s *Shard) raise(ctx context.Context, w store.WriterID, to store.Position) error {
	if err := s.cfg.Store.Seal(ctx, s.shardJournal.Shard, w, to); err != nil {
		return err
	}
	s.positions.noteRaised(w, to)
	return nil
}

// correctAll corrects all tiles, so that no rows are held.
func (s *Shard) correctAll(ctx context.Context) error {
	for pv, err := range s.correct(ctx, s.tiles.Late()) {
		return fmt.Errorf("bringing rollups of %s up to date: %w", pv, err)
	}
	return s.releaseHeld(ctx)
}

// correctNow corrects the tiles of PVs whose samples are in the memory of this engine. It returns
// the PVs for which the store refuses that. The caller must keep their samples.
func (s *Shard) correctNow(ctx context.Context, pvs []string) (refused map[string]bool, err error) {
	parts := make([]part, len(pvs))
	for i, pv := range pvs {
		parts[i].pv = pv
	}
	done, err := s.eachPV(ctx, correcting, slices.Clone(parts), s.tiles.Correct)
	if err != nil {
		return nil, err
	}
	refused = map[string]bool{}
	for _, p := range parts {
		refused[p.pv] = true
	}
	for _, p := range done {
		delete(refused, p.pv)
	}
	return refused, nil
}

const correcting = "bringing rollups up to date"

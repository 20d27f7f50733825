package seal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// adoptEnded seals the rows of writers that are closed or dead, and corrects rollups for late
// samples. The rows of living writers are sealed only at checkpoints, because otherwise their
// blocks would be rewritten every few seconds.
func (s *Shard) adoptEnded(ctx context.Context) error {
	failed, err := s.adopt(ctx, false)
	if err == nil {
		err = s.correctLate(ctx)
	}
	return cmp.Or(err, failed)
}

// adopt seals the unsealed rows of other writers of the shard. If all is false, it seals only
// the rows of writers that are closed or dead. Rows of a writer that was wrongly taken for
// dead may still appear, and the next call finds them. adopt also releases the samples of this
// engine that other engines have sealed. It returns failed if it could not seal the rows of
// some writer. The rows of the other writers do not wait for them.
func (s *Shard) adopt(ctx context.Context, all bool) (failed, err error) {
	claims, err := s.readClaims(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.reviseAfterOthers(ctx, claims); err != nil {
		return nil, err
	}
	s.unwatchGone(claims)
	defer func() { s.watching.Store(len(s.watched) > 0) }()
	keep := slices.ContainsFunc(claims, s.mayLead)
	for _, c := range claims {
		if c.Writer == s.shardJournal.Writer() {
			s.shardJournal.GiveUp(c.Sealed)
			continue
		}
		dead, err := s.isDead(ctx, c)
		if err != nil {
			return nil, err
		}
		if !all && (!c.Closed && !dead || s.partly(c.Writer) != nil || s.heldTo(c.Writer) > 0) {
			continue
		}
		if err := s.adoptWriter(ctx, c, dead, keep); err != nil {
			if ctx.Err() != nil || errors.Is(err, errSuperseded) {
				return nil, err
			}
			failed = fmt.Errorf("sealing the rows of writer %v: %w", c.Writer, err)
		}
	}
	return failed, nil
}

// isDead reports whether the writer of a claim has died. A shard that this engine releases closes its
// claim, and only then Ours no longer knows the writer. So the claim is read again after Ours was asked:
// c may be older.
func (s *Shard) isDead(ctx context.Context, c store.Claim) (bool, error) {
	if c.Closed || s.cfg.Ours(c.Writer) || !s.isSilent(c) {
		return false, nil
	}
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	return slices.ContainsFunc(claims, func(now store.Claim) bool { return now.Writer == c.Writer && !now.Closed }), err
}

// readClaims reads the claims at the beginning of a pass. It returns errSuperseded if another engine leads.
func (s *Shard) readClaims(ctx context.Context) ([]store.Claim, error) {
	s.positions.begin()
	begun := time.Now()
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	if err != nil {
		return nil, err
	}
	if err := s.checkLeader(claims); err != nil {
		return nil, err
	}
	s.checked.note(begun)
	return claims, nil
}

// mayLead reports whether the engine of a claim may still work as the leader, because it does not know
// yet that this engine leads. The rows that it saw in the claims must stay: otherwise it would compute
// bins without their samples.
func (s *Shard) mayLead(c store.Claim) bool {
	return s.isLiveLeader(c) || !c.Closed && c.Writer != s.shardJournal.Writer() && c.Sealing >= store.FirstTerm && s.cfg.Ours(c.Writer)
}

// isLiveLeader reports whether the claim of another writer says that its engine leads and is alive.
func (s *Shard) isLiveLeader(c store.Claim) bool {
	return c.Writer != s.shardJournal.Writer() && !c.Closed && c.Sealing >= store.FirstTerm && !s.isSilent(c)
}

// adoptWriter seals the unsealed rows of a writer. It drops the claim of a writer that has ended,
// together with its rows, unless keep is set.
func (s *Shard) adoptWriter(ctx context.Context, c store.Claim, dead, keep bool) error {
	c.Sealed = max(c.Sealed, s.positions.sealed[c.Writer]) // limitHeld may have raised it in this pass
	got, err := s.adoptRows(ctx, c, math.MaxUint64)
	if c.Closed {
		s.adopted.Store(time.Now().UnixNano())
	} else { // its engine may hold the samples in memory; or no more of them will come
		s.tiles.Hurry(slices.Collect(maps.Keys(got.late)))
	}
	if got.leftOut { // reads of the PVs in the damaged row fail until the sealed position has passed it
		s.hurryHeld(c.Writer)
	}
	if err != nil || keep || !c.Closed && !dead || len(got.refused) > 0 || s.heldTo(c.Writer) > 0 {
		return err
	}
	return s.dropClaim(ctx, c, got)
}

// adoptReleased seals the rows of this engine whose samples left memory because it was short.
func (s *Shard) adoptReleased(ctx context.Context) error {
	after, to, some := s.shardJournal.Released()
	if !some {
		return nil
	}
	c := store.Claim{Shard: s.shardJournal.Shard, Writer: s.shardJournal.Writer(), Since: s.shardJournal.Since(), Sealed: after, Last: to}
	got, err := s.adoptRows(ctx, c, to)
	if err != nil {
		return err
	}
	if len(got.refused) > 0 {
		s.shardJournal.NoteSealed(got.sealed)
		return nil
	}
	if got.at < to {
		s.reportGap(c.Writer, &gap{after: got.at, rows: rowsBetween(got.at, to) + 1, from: got.captured, to: s.clock.Now().End})
	}
	s.shardJournal.NoteSealed(to)
	return nil
}

// adoptRows seals the unsealed rows of a writer up to a position. It stops before a damaged row
// that may become readable, and returns an error.
func (s *Shard) adoptRows(ctx context.Context, c store.Claim, to store.Position) (*gathering, error) {
	var waits error
	got := &gathering{
		byPV: map[string][]*sample.Run{}, sealed: c.Sealed, at: c.Sealed, flushed: c.Alive,
		limit: math.MaxUint64, before: map[string]store.Position{}, refused: map[string]bool{}, late: lateSamples{},
	}
	partly := s.partly(c.Writer)
	if partly != nil {
		got.late = got.late.with(partly.late)
	} else {
		got.at = max(got.at, s.heldTo(c.Writer))
	}
	if partly != nil && time.Since(partly.tried) < s.cfg.Every/2 { // too early to try the refused PVs again
		got.at, got.limit = max(partly.through, c.Sealed), c.Sealed
		maps.Copy(got.refused, partly.pvs)
		got.onlyLater = true
	}
	got.captured = s.capturedAfter(&c, got.at)
	got.read = got.captured
	for row, err := range s.cfg.Store.Journal(ctx, s.shardJournal.Shard, c.Writer, got.at, c.Last) {
		if err != nil {
			return got, err
		}
		if row.At > to {
			break
		}
		if err := s.noteGap(ctx, got, &row); err != nil {
			return got, err
		}
		if err := got.add(row, partly); err != nil {
			if s.mustWait(&row, err) {
				waits = fmt.Errorf("journal row %d cannot be read yet: %w", row.At, err)
				break
			}
			s.leaveOut(&row, got, err)
			got.at, got.leftOut = row.At, true
		}
		if got.bytes > s.batch() {
			if err := s.sealGathered(ctx, c, got); err != nil {
				return got, err
			}
		}
	}
	if err := s.sealGathered(ctx, c, got); err != nil {
		return got, err
	}
	s.noteSaved(&c, got.sealed)
	return got, waits
}

// saved is a statement of an earlier claim of a writer: the samples from before a time, in ns since 1970, are in the
// writer's rows up to a position, or in rows of other writers.
type saved struct {
	until int64
	at    store.Position
}

// noteSaved remembers what a claim says if all rows that it covers are sealed. A claim of a later time may cover rows that
// expire before they are sealed.
func (s *Shard) noteSaved(c *store.Claim, sealed store.Position) {
	if c.Saved != 0 && c.Last <= sealed {
		s.saved[c.Writer] = saved{c.Saved, c.Last}
	}
}

// capturedAfter returns a time, in ns since 1970, after which the samples in the rows of a writer after a position
// were captured. It is the start of the writer, unless this sealer has sealed rows of the writer before. The time of
// the row at the position may be too late. The rows of a pass over the PVs are built at about the same time, and each has
// samples since the pass before; after an outage of the store, these are hours.
func (s *Shard) capturedAfter(c *store.Claim, at store.Position) int64 {
	if earlier, known := s.saved[c.Writer]; known && earlier.at <= at {
		return min(earlier.until, c.Saved) // an earlier claim may have been ahead, while its writer knew nothing of its clock
	}
	return c.Since
}

// dropClaim drops the claim of a writer that closed or died, and marks its death if it died.
// A writer that only seemed dead claims the shard again before it sends another row.
func (s *Shard) dropClaim(ctx context.Context, c store.Claim, g *gathering) error {
	wait, lost, err := s.missesRows(ctx, &c, g)
	if err != nil || wait {
		return err
	}
	if !c.Closed {
		from, to := s.lostSince(&c, g)
		if err := s.cfg.Died(ctx, s.shardJournal.Shard, from, to); err != nil {
			return fmt.Errorf("marking the death of writer %v: %w", c.Writer, err)
		}
	}
	if lost != nil { // last, because it must not be counted at each attempt
		s.reportGap(c.Writer, lost)
	}
	delete(s.watched, c.Writer)
	delete(s.saved, c.Writer)
	delete(s.positions.sealed, c.Writer)
	c.Sealed = g.sealed
	return s.cfg.Store.DropClaim(ctx, c)
}

// lostSince returns the time from which, and the time to which, samples of a dead writer may be missing, in
// ns since 1970. The first is the time up to which its samples are saved, and the second is the time from
// which it counted as dead. If the clock may be wrong, they are the earliest and the latest possible times.
// The claim may be dropped much later, because its rows were held. Other engines have captured since then.
func (s *Shard) lostSince(c *store.Claim, g *gathering) (from, to int64) {
	seen := time.Now()
	dead := seen
	if l, known := s.watched[c.Writer]; known {
		seen = l.seen
		if dead.Sub(seen) > s.cfg.Silence {
			dead = seen.Add(s.cfg.Silence)
		}
	}
	// The samples were saved before the claim said so. If nothing was known about the writer's clock, or
	// the claim is of an earlier version, the clock may have been ahead.
	from = min(lastSaved(c, g), clock.Moment(s.clock.Now, seen).Begin)
	return from, max(from, clock.Moment(s.clock.Now, dead).End)
}

// lastSaved returns the time up to which all samples of a writer that died are in its rows. It is right
// although the writer's clock was wrong: see store.Claim. A row that was flushed later does not prove that
// all earlier samples are in rows: their rows may have been under way, or in the spool.
func lastSaved(c *store.Claim, g *gathering) int64 {
	if c.Saved != 0 {
		return c.Saved
	}
	return g.flushed // a claim of an earlier version
}

// unwatchGone forgets writers that no longer have a claim.
func (s *Shard) unwatchGone(claims []store.Claim) {
	gone := func(w store.WriterID) bool {
		return !slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Writer == w })
	}
	maps.DeleteFunc(s.watched, func(w store.WriterID, _ life) bool { return gone(w) })
	maps.DeleteFunc(s.refused.writers, func(w store.WriterID, _ *partlySealed) bool { return gone(w) })
	maps.DeleteFunc(s.held, func(w store.WriterID, _ []heldRows) bool { return gone(w) })
	maps.DeleteFunc(s.saved, func(w store.WriterID, _ saved) bool { return gone(w) })
	s.countHeld()
}

// isSilent reports whether a writer has given no sign of life for Config.Silence.
func (s *Shard) isSilent(c store.Claim) bool {
	if l, known := s.watched[c.Writer]; known && l.sign == c.Alive {
		return time.Since(l.seen) >= s.cfg.Silence
	}
	s.watched[c.Writer] = life{sign: c.Alive, seen: time.Now()}
	return s.cfg.Silence == 0
}

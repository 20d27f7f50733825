package seal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// rowsExpire is the time after which dropClaim no longer waits for the last rows of a closed
// writer. It is longer than the default time for which Cassandra keeps journal rows.
const rowsExpire = 7 * 24 * time.Hour

// adoptBytes is the size of the samples in memory above which adoptWriter seals them.
const adoptBytes = 32 << 20

// adoptEnded seals the rows of writers that are closed or dead. The rows of living writers are
// sealed only at checkpoints, because otherwise their blocks would be rewritten every few
// seconds.
func (s *Shard) adoptEnded(ctx context.Context) error {
	failed, err := s.adopt(ctx, false)
	return cmp.Or(err, failed)
}

// adopt seals the unsealed rows of other writers of the shard. If all is false, it seals only
// the rows of writers that are closed or dead. Rows of a writer that was wrongly taken for
// dead may still appear, and the next call finds them. adopt also releases the samples of this
// engine that other engines have sealed. It returns failed if it could not seal the rows of
// some writer. The rows of the other writers do not wait for them.
func (s *Shard) adopt(ctx context.Context, all bool) (failed, err error) {
	s.positions.begin()
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	if err != nil {
		return nil, err
	}
	if err := s.checkLeader(claims); err != nil {
		return nil, err
	}
	if err := s.reviseAfterOthers(ctx, claims); err != nil {
		return nil, err
	}
	s.unwatchGone(claims)
	defer func() { s.watching.Store(len(s.watched) > 0) }()
	for _, c := range claims {
		if c.Writer == s.shardJournal.Writer() {
			s.shardJournal.GiveUp(c.Sealed)
			continue
		}
		dead := !c.Closed && !s.cfg.Ours(c.Writer) && s.isSilent(c)
		if !all && !c.Closed && !dead {
			continue
		}
		if err := s.adoptWriter(ctx, c, dead); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			failed = fmt.Errorf("sealing the rows of writer %v: %w", c.Writer, err)
		}
	}
	return failed, nil
}

// adoptWriter seals the unsealed rows of a writer, and drops the claim of a writer that has ended.
func (s *Shard) adoptWriter(ctx context.Context, c store.Claim, dead bool) error {
	got, err := s.adoptRows(ctx, c, math.MaxUint64)
	if err != nil || !c.Closed && !dead {
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
	c := store.Claim{Shard: s.shardJournal.Shard, Writer: s.shardJournal.Writer(), Sealed: after}
	got, err := s.adoptRows(ctx, c, to)
	if err != nil {
		return err
	}
	if got.at < to {
		s.reportLost("", sample.Mark{
			Time: got.read, End: time.Now().UnixNano(), Kind: sample.Lost, Reason: sample.Damaged, Text: "journal rows expired before they were sealed",
		})
	}
	s.shardJournal.NoteSealed(to)
	return nil
}

// adoptRows seals the unsealed rows of a writer up to a position. It stops before a damaged row
// that may become readable, and returns an error.
func (s *Shard) adoptRows(ctx context.Context, c store.Claim, to store.Position) (*gathering, error) {
	var waits error
	got := &gathering{byPV: map[string][]*sample.Run{}, sealed: c.Sealed, at: c.Sealed, flushed: c.Alive, read: c.Since}
	for row, err := range s.cfg.Store.Journal(ctx, s.shardJournal.Shard, c.Writer, c.Sealed) {
		if err != nil {
			return got, err
		}
		if row.At > to {
			break
		}
		if err := got.add(row); err != nil {
			if s.mustWait(&row, err) {
				waits = fmt.Errorf("journal row %d cannot be read yet: %w", row.At, err)
				break
			}
			s.leaveOut(&row, got.read, err)
			got.at = row.At
		}
		if got.bytes > adoptBytes {
			if err := s.sealGathered(ctx, c, got); err != nil {
				return got, err
			}
		}
	}
	if err := s.sealGathered(ctx, c, got); err != nil {
		return got, err
	}
	return got, waits
}

// gathering holds the samples that were read from a writer's rows and are not sealed yet.
type gathering struct {
	byPV       map[string][]*sample.Run
	bytes      int
	at, sealed store.Position // of the latest row that was read, and of the latest row that is sealed
	flushed    int64          // time of the latest row that was read, but at least Claim.Alive
	read       int64          // time of the latest row that was read
}

// add adds the samples of a row. After an error nothing is added.
func (g *gathering) add(row store.JournalRow) error {
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
	g.at, g.read, g.flushed = row.At, t, max(g.flushed, t)
	for _, r := range runs {
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

func (s *Shard) sealGathered(ctx context.Context, c store.Claim, g *gathering) error {
	if g.at == g.sealed {
		return nil
	}
	var parts []part
	for pv, runs := range g.byPV {
		for _, r := range runs {
			parts = append(parts, part{pv, r})
		}
	}
	for chunk := range slices.Chunk(parts, batchHeads) {
		if err := s.write(ctx, chunk, nil); err != nil {
			return err
		}
	}
	if err := s.cfg.Store.Seal(ctx, s.shardJournal.Shard, c.Writer, g.at); err != nil {
		return err
	}
	s.positions.noteRaised(c.Writer, g.at)
	s.cfg.Metrics.Adopted.Add(float64(len(parts)))
	clear(g.byPV)
	g.sealed, g.bytes = g.at, 0
	return nil
}

// dropClaim drops the claim of a writer that closed or died, and marks its death if it died.
// A writer that only seemed dead claims the shard again before it sends another row.
func (s *Shard) dropClaim(ctx context.Context, c store.Claim, g *gathering) error {
	if c.Closed && g.sealed < c.Last && time.Now().UnixNano()-c.Alive < int64(rowsExpire) {
		return nil // its last rows cannot be read yet
	}
	if !c.Closed {
		if err := s.cfg.Died(ctx, s.shardJournal.Shard, lastSaved(&c, g), time.Now().UnixNano()); err != nil {
			return fmt.Errorf("marking the death of writer %v: %w", c.Writer, err)
		}
	}
	delete(s.watched, c.Writer)
	delete(s.positions.sealed, c.Writer)
	c.Sealed = g.sealed
	return s.cfg.Store.DropClaim(ctx, c)
}

// lastSaved returns the time up to which all samples of a writer that died are in its rows. A
// row that was flushed later does not prove that all earlier samples are in rows: their rows
// may have been under way, or in the spool.
func lastSaved(c *store.Claim, g *gathering) int64 {
	if c.Saved != 0 {
		return c.Saved
	}
	return g.flushed // a claim of an earlier version
}

// unwatchGone stops watching writers that no longer have a claim.
func (s *Shard) unwatchGone(claims []store.Claim) {
	maps.DeleteFunc(s.watched, func(w store.WriterID, _ life) bool {
		return !slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Writer == w })
	})
}

// isSilent reports whether a writer has given no sign of life for Config.Silence.
func (s *Shard) isSilent(c store.Claim) bool {
	if l, known := s.watched[c.Writer]; known && l.sign == c.Alive {
		return time.Since(l.seen) >= s.cfg.Silence
	}
	s.watched[c.Writer] = life{sign: c.Alive, seen: time.Now()}
	return s.cfg.Silence == 0
}

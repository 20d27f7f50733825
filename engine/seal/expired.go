package seal

import (
	"context"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// rowsExpire is the time after which dropClaim no longer waits for the last rows of a closed
// writer, if the store keeps rows until they are sealed.
const rowsExpire = 7 * 24 * time.Hour

// partitionSpan is more than the time between the first and the last row of a partition.
const partitionSpan = 5 * time.Minute

// rowSlack is how much later than the time of its row a sample may be. The row's time is the earliest one that was
// possible, by what the writer knew about its clock, and an IOC's clock may be ahead.
const rowSlack = clock.Widest

const expiredText = "journal rows expired before they were sealed"

// noteGap notes that rows between the latest row that was read and the given one have expired.
// Rows may be missing for another reason: a row that went to the spool leaves its position
// unused. But a partition is never without a row, and a partition whose first rows have expired
// expires in a moment.
func (s *Shard) noteGap(ctx context.Context, g *gathering, row *store.JournalRow) error {
	missing := rowsBetween(g.at, row.At)
	if missing == 0 {
		return nil
	}
	ttl, err := s.cfg.Store.JournalTTL(ctx)
	if err != nil || ttl == 0 {
		return err
	}
	written, err := journal.FlushTime(*row)
	if err != nil {
		written = s.clock.Now().Now
	}
	if row.At.N() > g.at.N()+1 || s.clock.Earliest()-written > int64(ttl-partitionSpan) {
		g.gaps = append(g.gaps, gap{after: g.at, rows: missing, from: g.captured, to: max(written, g.read) + int64(rowSlack)})
	}
	return nil
}

// gap is rows of a writer that expired before they were sealed.
type gap struct {
	after    store.Position
	rows     uint64 // at least so many
	from, to int64  // the samples were captured between these times, in ns since 1970
}

// rowsBetween returns how many rows there must have been between two positions. It counts one row
// for each partition between those of the positions.
func rowsBetween(after, before store.Position) uint64 {
	if after.N() == before.N() {
		return uint64(max(before.Seq(), after.Seq()+1) - after.Seq() - 1)
	}
	return uint64(before.N()-after.N()-1) + uint64(max(before.Seq(), 1)-1)
}

// reportGap counts rows that expired before they were sealed, and marks their samples as lost.
func (s *Shard) reportGap(w store.WriterID, g *gap) {
	s.cfg.Metrics.ExpiredRows.Add(float64(g.rows))
	s.cfg.Log.Error("journal rows expired before they were sealed; their samples are lost", "shard", s.shardJournal.Shard,
		"writer", w.String(), "after", uint64(g.after), "rows", g.rows)
	s.reportLost("", sample.Mark{Time: g.from, End: g.to, Kind: sample.Lost, Reason: sample.Damaged, Text: expiredText})
}

// missesRows reports whether rows that the claim names are neither sealed nor in the store. If they
// may still be read later, wait is true. If they are lost, gap describes them.
func (s *Shard) missesRows(ctx context.Context, c *store.Claim, g *gathering) (wait bool, lost *gap, err error) {
	if g.sealed >= c.Last {
		return false, nil, nil
	}
	ttl, err := s.cfg.Store.JournalTTL(ctx)
	if err != nil {
		return false, nil, err
	}
	if ttl == 0 {
		ttl = rowsExpire
	}
	// The writer's clock may have been wrong, and then Saved is right, and Alive is not. But Saved of a spool file is
	// from before its first row.
	written, alive := max(c.Alive, c.Saved), c.Alive
	if present := s.clock.Now().End; alive > present {
		written, alive = c.Saved, present
	}
	if c.Closed && s.clock.Earliest()-written < int64(ttl) { // the claim is younger than its last row
		return true, nil, nil
	}
	return false, &gap{after: g.sealed, rows: rowsBetween(g.sealed, c.Last) + 1, from: g.captured, to: max(alive, c.Saved, g.read) + int64(rowSlack)}, nil
}

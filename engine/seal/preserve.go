package seal

import (
	"context"
	"sync"
	"time"

	"varve.dev/varve/engine/store"
)

const (
	// preserveChecks is the number of times that the leader checks the ages of unsealed rows within
	// the TTL of these rows.
	preserveChecks = 48
	// preserveRetry is the wait after a check that failed.
	preserveRetry = time.Minute
)

// Lag is how far sealing is behind the journal.
type Lag struct {
	// Age is how long the oldest unsealed journal row of the shard has been in the store. It is 0
	// before the first check, and if there is no such row. TTL is how long the store keeps such
	// rows. Both are 0 if the store keeps rows until they are sealed.
	Age, TTL time.Duration
}

// Late reports whether the rows are so old that somebody must find out why they are not sealed.
// Rows are usually sealed within minutes.
func (l Lag) Late() bool { return l.TTL > 0 && l.Age > l.TTL/4 }

// lag is the latest Lag, and where the oldest rows are.
type lag struct {
	mu sync.Mutex
	Lag
	oldest map[store.WriterID]oldestRow // used by preserve only
}

// oldestRow is the oldest unsealed row of a writer. written is when it was written first, as far as
// this process knows, in ns since 1970 by the clocks of the store.
type oldestRow struct {
	at      store.Position
	written int64
}

// Lag returns how far sealing is behind the journal.
func (s *Shard) Lag() Lag {
	s.lag.mu.Lock()
	defer s.lag.mu.Unlock()
	return s.lag.Lag
}

// preserve keeps the unsealed rows of the shard from expiring, until ctx ends. It does not wait for the
// shard's turn, because a checkpoint holds the turn while it fails to write blocks.
//
// preserve writes rows that are older than half of the TTL again, under the same positions and with
// the same bytes. The rows that a reader sees therefore do not change. A row that is sealed at the
// same moment only stays in the store for longer.
func (s *Shard) preserve(ctx context.Context) {
	for {
		ttl, err := s.cfg.Store.JournalTTL(ctx)
		if err == nil && ttl == 0 {
			return // rows do not expire
		}
		if err == nil {
			err = s.preserveRows(ctx, ttl)
		}
		wait := ttl / preserveChecks
		if err != nil {
			wait = preserveRetry
			if ctx.Err() == nil {
				s.cfg.Log.Warn("unsealed journal rows cannot be checked or written again; the sealer retries",
					"shard", s.shardJournal.Shard, "err", err)
			}
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// preserveRows notes the age of the oldest unsealed row, and writes old rows again.
func (s *Shard) preserveRows(ctx context.Context, ttl time.Duration) error {
	claims, err := s.cfg.Store.Claims(ctx, s.shardJournal.Shard)
	if err != nil {
		return err
	}
	now, l, oldest := s.clock.StoreTime(), Lag{TTL: ttl}, map[store.WriterID]oldestRow{}
	var old []rowRange
	for _, c := range claims {
		first, ranges, err := s.agesOf(ctx, &c, now-int64(ttl/2))
		if err != nil {
			return err
		}
		if first.at == 0 {
			continue
		}
		if was := s.lag.oldest[c.Writer]; was.at == first.at {
			first.written = min(first.written, was.written)
		}
		oldest[c.Writer] = first
		l.Age = max(l.Age, time.Duration(now-first.written))
		old = append(old, ranges...)
	}
	s.lag.mu.Lock()
	s.lag.Lag, s.lag.oldest = l, oldest
	s.lag.mu.Unlock()
	if l.Late() {
		s.cfg.Log.Error("journal rows have not been sealed for a long time; the sealer keeps them from expiring",
			"shard", s.shardJournal.Shard, "oldest", l.Age.Round(time.Second).String(), "kept", ttl.String())
	}
	for _, r := range old {
		if err := s.renew(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// rowRange is a range of consecutive rows of a writer.
type rowRange struct {
	writer    store.WriterID
	after, to store.Position
}

// agesOf returns the oldest unsealed row of a writer, and the rows that were written before the
// given time.
func (s *Shard) agesOf(ctx context.Context, c *store.Claim, before int64) (first oldestRow, old []rowRange, err error) {
	last, growing := c.Sealed, false
	for row, err := range s.cfg.Store.JournalWhere(ctx, s.shardJournal.Shard, c.Writer, c.Sealed, c.Last, func([]byte) bool { return false }) {
		if err != nil {
			return first, nil, err
		}
		if first.at == 0 {
			first = oldestRow{row.At, row.Written}
		}
		switch isOld := row.Written < before; {
		case isOld && growing:
			old[len(old)-1].to = row.At
		case isOld:
			old = append(old, rowRange{c.Writer, last, row.At})
			growing = true
		default:
			growing = false
		}
		last = row.At
	}
	return first, old, nil
}

// renew writes rows again. After each row it waits for as long as the write took, so that it writes
// for at most half of the time.
func (s *Shard) renew(ctx context.Context, r rowRange) error {
	for row, err := range s.cfg.Store.Journal(ctx, s.shardJournal.Shard, r.writer, r.after, r.to) {
		if err != nil {
			return err
		}
		if row.At > r.to {
			break
		}
		if row.Damage != nil {
			continue
		}
		begun := time.Now()
		if err := s.cfg.Store.PutJournal(ctx, row); err != nil {
			return err
		}
		s.cfg.Metrics.RenewedRows.Inc()
		if !sleep(ctx, time.Since(begun)) {
			return ctx.Err()
		}
	}
	return nil
}

// sleep waits. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

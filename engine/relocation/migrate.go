package relocation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/store"
)

// dropAfter is how long a bucket stays after it was copied to another tier. Every read that
// began before the copy existed ends within this time.
const dropAfter = time.Hour

// migrations are the tier migrations of a shard's PVs.
//
// A sealer checks each PV once, and again when its tier changes. Progress is not stored: a new
// sealer visits the buckets on other tiers that the directory lists, copies the blocks that
// still exist there again, and waits again. Each copy of a block gets the same key, so the
// second copy changes nothing.
type migrations struct {
	checked map[string]store.Tier // by PV: the tier for which the PV is queued or was migrated
	queue   []string
	current *migration   // nil: the next PV of the queue begins
	copied  []*migration // buckets to drop later, the earliest copy first

	begun          time.Time // when the first blocks to migrate were found; zero if there are none
	waiting        int       // this shard's part of the metric
	pvs            int       // PVs that had blocks to migrate, since begun
	moved, dropped int       // blocks copied and buckets dropped, since begun
}

// migration moves the blocks of a PV to a tier, bucket by bucket.
type migration struct {
	pv     string
	tier   store.Tier
	entry  layout.Entry
	rest   []store.Bucket
	latest int64          // time of the latest sample that was visited
	done   []store.Bucket // buckets that had blocks, all copied
	at     time.Time      // when the last copy was acknowledged
}

// QueueMigrations queues the PVs whose tier is not the one for which they were checked. The
// caller calls it after a checkpoint, so that the present value of each PV is carried forward
// on the new tier before anything is deleted from the old one.
func (s *Shard) QueueMigrations() {
	if s.cfg.Captured == nil {
		return
	}
	checked := make(map[string]store.Tier, len(s.checked))
	lacks := map[store.Tier]store.Tier{}
	for _, pv := range s.cfg.Captured(s.cfg.Shard) {
		asked, captured := s.cfg.Retention(pv)
		if !captured {
			continue
		}
		want := layout.AvailableTier(s.cfg.Tiers(), asked.Raw)
		if want != asked.Raw {
			lacks[asked.Raw] = want
		}
		if was, known := s.checked[pv]; !known || was != want {
			s.queue = append(s.queue, pv)
		}
		checked[pv] = want
	}
	s.checked = checked
	for tier, longer := range lacks {
		s.cfg.Log.Warn("the store has no tables for a retention tier that a group requests, so data is kept for longer; create them with varve schema --tiers",
			"requested", tier.String(), "kept", longer.String())
	}
	s.reportWaiting(len(s.queue) + len(s.copied))
}

// wantedTier returns the tier on which a PV must be kept now. It returns false for a PV that
// is no longer captured here. The blocks of such a PV stay where they are.
func (s *Shard) wantedTier(pv string) (store.Tier, bool) {
	asked, captured := s.cfg.Retention(pv)
	return layout.AvailableTier(s.cfg.Tiers(), asked.Raw), captured
}

// isWanted reports whether a migration still leads to the tier on which its PV must be kept.
// If not, the PV is checked again after the next checkpoint, provided that it is still
// captured.
func (s *Shard) isWanted(m *migration) bool {
	want, captured := s.wantedTier(m.pv)
	_, checked := s.checked[m.pv]
	if captured && want == m.tier && checked {
		return true
	}
	delete(s.checked, m.pv)
	return false
}

// reportWaiting sets this shard's part of the metric.
func (s *Shard) reportWaiting(n int) {
	s.cfg.Metrics.Waiting.Add(float64(n - s.waiting))
	s.waiting = n
}

// Stop removes the shard from the metrics.
func (s *Shard) Stop() { s.reportWaiting(0) }

// Forget drops the migrations of PVs whose blocks are about to be deleted.
func (s *Shard) Forget(pvs []string) {
	is := func(pv string) bool { return slices.Contains(pvs, pv) }
	s.queue = slices.DeleteFunc(s.queue, is)
	s.copied = slices.DeleteFunc(s.copied, func(m *migration) bool { return is(m.pv) })
	if s.current != nil && is(s.current.pv) {
		s.current = nil
	}
	s.erasures = slices.DeleteFunc(s.erasures, func(e *erasure) bool { return is(e.pv) })
	maps.DeleteFunc(s.checked, func(pv string, _ store.Tier) bool { return is(pv) })
}

// isIdle reports whether there is nothing to do now.
func (s *Shard) isIdle() bool {
	return s.dueErasure() == nil && s.current == nil && len(s.queue) == 0 && (len(s.copied) == 0 || time.Since(s.copied[0].at) < s.cfg.DropAfter)
}

// Migrate continues migrations for a short time, if there are any and Pace allows it.
func (s *Shard) Migrate(ctx context.Context) {
	if s.isIdle() || !s.cfg.Pace.begin() {
		return
	}
	cost := 0
	defer func() { s.cfg.Pace.end(cost) }()
	for start := time.Now(); cost < stepBytes && time.Since(start) < stepTime && !s.isIdle(); {
		n, err := s.stepAny(ctx)
		cost += n
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Metrics.Failures.Inc()
				s.cfg.Log.Warn("migrating blocks to another retention tier failed; the sealer retries", "shard", s.cfg.Shard, "err", err)
			}
			return
		}
	}
	s.reportWaiting(len(s.queue) + len(s.copied))
	s.reportCompletion()
}

// reportCompletion logs that all migrations have completed.
func (s *Shard) reportCompletion() {
	if s.begun.IsZero() || s.current != nil || len(s.queue)+len(s.copied) > 0 {
		return
	}
	s.cfg.Log.Info("blocks have migrated to the retention tiers that groups request", "shard", s.cfg.Shard,
		"pvs", s.pvs, "blocks", s.moved, "buckets_left", s.dropped, "took", time.Since(s.begun).Round(time.Second).String())
	s.begun, s.pvs, s.moved, s.dropped = time.Time{}, 0, 0, 0
}

// stepAny takes the next step of an erasure that is due, or of a migration.
func (s *Shard) stepAny(ctx context.Context) (cost int, err error) {
	if e := s.dueErasure(); e != nil {
		return s.stepErasure(ctx, e)
	}
	return s.step(ctx)
}

// step takes the next step of a migration, and returns its cost in bytes.
func (s *Shard) step(ctx context.Context) (cost int, err error) {
	switch {
	case len(s.copied) > 0 && time.Since(s.copied[0].at) >= s.cfg.DropAfter:
		return s.dropCopied(ctx)
	case s.current == nil:
		pv := s.queue[0]
		if s.current, err = s.newMigration(ctx, pv); err == nil {
			s.queue = s.queue[1:]
		}
		return readCost, err
	}
	m := s.current
	if !s.isWanted(m) {
		s.current = nil
		return 0, nil
	}
	if len(m.rest) == 0 {
		if s.current = nil; len(m.done) > 0 {
			m.at = time.Now()
			s.copied = append(s.copied, m)
		}
		return 0, nil
	}
	c := s.newCopier(m, s.putCopies)
	found, err := c.copyBucket(ctx, m.rest[0])
	if err != nil {
		return c.cost, fmt.Errorf("migrating blocks of %s to another retention tier: %w", m.pv, err)
	}
	if found {
		s.noteFound(m)
	}
	m.rest = m.rest[1:]
	return c.cost, nil
}

// noteFound notes that the next bucket of a migration had blocks, and that they are copied.
func (s *Shard) noteFound(m *migration) {
	if s.begun.IsZero() {
		s.begun = time.Now()
		s.cfg.Log.Info("blocks migrate to the retention tier that their group requests", "shard", s.cfg.Shard, "first", m.pv, "tier", m.tier.String())
	}
	if len(m.done) == 0 {
		s.pvs++
	}
	m.done = append(m.done, m.rest[0])
}

// newMigration plans the migration of a PV: its buckets on other tiers, by time. It returns nil
// if there are none.
func (s *Shard) newMigration(ctx context.Context, pv string) (*migration, error) {
	want, captured := s.wantedTier(pv)
	if !captured {
		return nil, nil
	}
	ch, _, err := s.cfg.Store.Channel(ctx, pv) // the sealer's own entry may lack the copies
	if err != nil {
		return nil, err
	}
	m := &migration{pv: pv, tier: want, entry: layout.Entry{Channel: ch}, latest: math.MinInt64}
	if m.rest = onOtherTiers(ch.Starts, want, s.cfg.Clock.Earliest(), s.cfg.Clock.Now().Now); len(m.rest) == 0 {
		return nil, nil
	}
	return m, nil
}

// onOtherTiers returns the buckets, by time, that are on tiers other than the given one, can
// hold blocks according to starts, and are not expired at the earliest time that it may be. It
// includes the buckets of the next day, because clocks differ.
func onOtherTiers(starts []store.Bucket, than store.Tier, earliest, now int64) (out []store.Bucket) {
	for b := range store.InUse(starts, earliest, now+int64(24*time.Hour)) {
		if b.Tier() != than {
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b store.Bucket) int { return cmp.Compare(a.Start(), b.Start()) })
	return out
}

package seal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
)

// dropAfter is how long a bucket stays after it was copied to another tier: longer
// than a read takes that began when the copy was not there yet.
const dropAfter = time.Hour

// moves is what a sealer does for PVs whose blocks stand on another tier than they
// are to be kept on now:
//
//	after a checkpoint: PVs captured ──▶ queue ──▶ walk: old buckets ──▶ copied ──▶ an hour later: dropped
//
// Each PV is looked at once by a sealer, and again when its tier changes. Nothing of it
// is stored: a sealer that begins anew walks through the buckets of other tiers that
// the directory lists, copies again what is still there, and waits again. Copies have
// the keys of what they are copies of, so the second one changes nothing.
type moves struct {
	looked map[string]store.Tier // by PV: the tier for which it is queued, or was walked
	queue  []string
	walk   *walk
	copied []*walk // the earliest first

	begun       time.Time // when there was something to move; zero: there was nothing
	told        int       // to the metric of those that wait
	pvs         int       // that had something to move, since then
	moved, left int       // blocks copied, and buckets dropped, since then
}

// walk is the way through the buckets of a PV.
type walk struct {
	series // what the directory holds; its tier is the one to move to
	rest   []store.Bucket
	latest int64          // time of the latest sample that was walked by
	done   []store.Bucket // copied, if anything in them was to be
	at     time.Time      // when the last copy was acknowledged
}

// queueMoves looks for PVs whose tier is not the one that they were looked at for. It
// is called when a checkpoint is done: so the present value of each PV is carried forward on
// the new tier before anything is deleted from the old one.
func (s *Shard) queueMoves() {
	if s.cfg.Captured == nil {
		return
	}
	m := &s.moves
	looked := make(map[string]store.Tier, len(m.looked))
	lacks := map[store.Tier]store.Tier{}
	for _, pv := range s.cfg.Captured(s.shardJournal.Shard) {
		asked, captured := s.cfg.retention(pv)
		if !captured {
			continue
		}
		want := available(s.tiers, asked.Raw)
		if want != asked.Raw {
			lacks[asked.Raw] = want
		}
		if was, known := m.looked[pv]; !known || was != want {
			m.queue = append(m.queue, pv)
		}
		looked[pv] = want
	}
	m.looked = looked
	for tier, longer := range lacks {
		s.cfg.Log.Warn("the store has no tables for a tier that a group asks for: data is kept for longer; see varve schema --tiers",
			"asked", tier.String(), "kept", longer.String())
	}
	s.tellWaiting(len(m.queue) + len(m.copied))
}

// wanted returns the tier that a PV is to be kept on now, or false for one that is not
// captured here any more, whose blocks stay where they are.
func (s *Shard) wanted(pv string) (store.Tier, bool) {
	r, captured := s.cfg.retention(pv)
	return available(s.tiers, r.Raw), captured
}

// due reports whether a walk still leads to where its PV is to be kept.
func (s *Shard) due(w *walk) bool {
	want, captured := s.wanted(w.pv)
	_, ours := s.moves.looked[w.pv]
	if captured && want == w.tier && ours {
		return true
	}
	delete(s.moves.looked, w.pv) // it is looked at again, if it is of concern
	return false
}

// tellWaiting brings the metric up to date.
func (s *Shard) tellWaiting(n int) {
	s.cfg.Metrics.Waiting.Add(float64(n - s.moves.told))
	s.moves.told = n
}

// forget drops what was to be done for PVs, whose blocks are being deleted.
func (m *moves) forget(pvs []string) {
	is := func(pv string) bool { return slices.Contains(pvs, pv) }
	m.queue = slices.DeleteFunc(m.queue, is)
	m.copied = slices.DeleteFunc(m.copied, func(w *walk) bool { return is(w.pv) })
	if m.walk != nil && is(m.walk.pv) {
		m.walk = nil
	}
	maps.DeleteFunc(m.looked, func(pv string, _ store.Tier) bool { return is(pv) })
}

// idle reports whether nothing can be done now.
func (m *moves) idle(after time.Duration) bool {
	return m.walk == nil && len(m.queue) == 0 && (len(m.copied) == 0 || time.Since(m.copied[0].at) < after)
}

// move goes on with moving data for a short time, if there is something to do and it
// is the shard's turn.
func (s *Shard) move(ctx context.Context) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return
	}
	if s.moves.idle(s.cfg.dropAfter()) || !s.cfg.Moves.begin() {
		return
	}
	cost := 0
	defer func() { s.cfg.Moves.end(cost) }()
	for start := time.Now(); cost < moveBytes && time.Since(start) < moveTime && !s.moves.idle(s.cfg.dropAfter()); {
		n, err := s.moveOn(ctx)
		cost += n
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Metrics.Failures.Inc()
				s.cfg.Log.Warn("moving data to another tier failed; it will be tried again", "shard", s.shardJournal.Shard, "err", err)
			}
			return
		}
	}
	s.tellWaiting(len(s.moves.queue) + len(s.moves.copied))
	s.reportMoves()
}

// reportMoves logs that the moves that were to be done are done.
func (s *Shard) reportMoves() {
	m := &s.moves
	if m.begun.IsZero() || m.walk != nil || len(m.queue)+len(m.copied) > 0 {
		return
	}
	s.cfg.Log.Info("stored data was moved to the tiers that groups ask for", "shard", s.shardJournal.Shard,
		"pvs", m.pvs, "blocks", m.moved, "buckets_left", m.left, "took", time.Since(m.begun).Round(time.Second).String())
	m.begun, m.pvs, m.moved, m.left = time.Time{}, 0, 0, 0
}

// moveOn takes the next step, and returns what it cost, in bytes.
func (s *Shard) moveOn(ctx context.Context) (cost int, err error) {
	m := &s.moves
	switch {
	case len(m.copied) > 0 && time.Since(m.copied[0].at) >= s.cfg.dropAfter():
		return s.dropMoved(ctx)
	case m.walk == nil:
		pv := m.queue[0]
		if m.walk, err = s.newWalk(ctx, pv); err == nil {
			m.queue = m.queue[1:]
		}
		return askCost, err
	}
	w := m.walk
	if !s.due(w) {
		m.walk = nil
		return 0, nil
	}
	if len(w.rest) == 0 {
		if m.walk = nil; len(w.done) > 0 {
			w.at = time.Now()
			m.copied = append(m.copied, w)
		}
		return 0, nil
	}
	c := s.copying(w, s.putMoved)
	found, err := c.bucket(ctx, w.rest[0])
	if err != nil {
		return c.cost, fmt.Errorf("moving %s: %w", w.pv, err)
	}
	if found {
		if m.begun.IsZero() {
			m.begun = time.Now()
			s.cfg.Log.Info("stored data moves to the tier that its group asks for", "shard", s.shardJournal.Shard, "first", w.pv, "tier", w.tier.String())
		}
		if len(w.done) == 0 {
			m.pvs++
		}
		w.done = append(w.done, w.rest[0])
	}
	w.rest = w.rest[1:]
	return c.cost, nil
}

// newWalk plans the way through the buckets of a PV that stand on other tiers than it
// is to be kept on, by time. It is nil if there are none.
func (s *Shard) newWalk(ctx context.Context, pv string) (*walk, error) {
	want, captured := s.wanted(pv)
	if !captured {
		return nil, nil
	}
	ch, _, err := s.cfg.Store.Channel(ctx, pv) // a series does not know what was moved
	if err != nil {
		return nil, err
	}
	w := &walk{series: series{pv: pv, known: ch, tier: want}, latest: math.MinInt64}
	if w.rest = otherTiers(ch.Starts, want, time.Now().UnixNano()); len(w.rest) == 0 {
		return nil, nil
	}
	return w, nil
}

// otherTiers returns the buckets, by time, that can hold blocks on other tiers than
// one, after the starts listed, and are not expired. Of those to come it has the next
// ones: clocks differ.
func otherTiers(starts []store.Bucket, than store.Tier, now int64) (out []store.Bucket) {
	for b := range store.InUse(starts, now, now+int64(24*time.Hour)) {
		if b.Tier() != than {
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b store.Bucket) int { return cmp.Compare(a.Start(), b.Start()) })
	return out
}

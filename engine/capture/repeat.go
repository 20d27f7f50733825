package capture

import (
	"cmp"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/sample"
)

// A channel with a MaxPeriod has a sample in each interval of that length, even if its value does not change:
//
//	interval without a sample ─▶ Subscription reads the value ─▶ Checked ─┬─ that of the latest update ─▶ repeated
//	                                                                      └─ another one ─▶ handled like an update
//
// A repeated sample has the value of the latest update, which the IOC has just confirmed, and the beginning of the
// interval as its time, flagged as EngineClock. So two engines that see the same updates store the same sample. The
// IOC's own time is that of the latest update: a sample with this time would be a duplicate, unless a filter dropped that update.

// repeats says when a channel's value is read because of its MaxPeriod. The channel's lock guards it.
type repeats struct {
	interval int64         // the beginning of the interval in which the value was last due, ns since 1970
	asked    time.Duration // the monotonic time of the last read in it; 0: none
	done     bool          // the interval has a sample
	missed   uint64        // intervals without a sample
	lag      int64         // how far the time of the latest update was behind its arrival, in ns
	renewed  time.Duration // the monotonic time of the last value that renewed the subscription; 0: never
}

const (
	// repeatTick is the interval between two searches for channels without a recent sample.
	repeatTick = 250 * time.Millisecond
	// repeatAgain is the time after which the engine repeats a read that has got no answer.
	repeatAgain = 10 * time.Second
	// renewEvery is how often, at most, a value that differs from the latest update renews a subscription. A record
	// with its own deadband has such values all the time.
	renewEvery = 10 * time.Minute
)

// reader is a Subscription that can read the value at once. Sink.Checked gets the value.
type reader interface {
	// Poll returns false if it does not read the value, for example because the server gets too many requests.
	Poll() bool
}

// repeating returns the channels with a MaxPeriod, sorted by name. The caller holds apply.
func (m *Manager) repeating() (repeated []*channel) {
	for _, c := range m.snapshot() {
		c.mu.Lock()
		set := c.filter.set
		c.mu.Unlock()
		if set.MaxPeriod > 0 && !set.Paused {
			repeated = append(repeated, c)
		}
	}
	slices.SortFunc(repeated, func(a, b *channel) int { return cmp.Compare(a.pv, b.pv) })
	return repeated
}

// scheduleRepeats runs a clock while there are channels with a MaxPeriod. The caller holds apply.
func (m *Manager) scheduleRepeats(needed bool) {
	if !needed {
		m.repeats.keep(nil)
		return
	}
	m.repeats.every(repeatTick, 0, func(int64) { m.repeatValues() })
}

// repeatValues reads the values of channels that have no sample in the present interval. Each pass begins behind the last
// channel that was read, so that all channels are read if there are more of them than one pass may read.
func (m *Manager) repeatValues() {
	m.mu.RLock()
	all := m.repeated
	m.mu.RUnlock()
	at, begin := m.instant(), m.nextRepeat
	for i := range all {
		n := (begin + i) % len(all)
		if r := all[n].dueRepeat(at.Now, at.Monotonic); r != nil && r.Poll() {
			all[n].noteRead(at.Monotonic)
			m.nextRepeat = n + 1
		}
	}
}

// dueRepeat returns the subscription of the channel if its value must be read now, and nil otherwise.
func (c *channel) dueRepeat(now int64, monotonic time.Duration) reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.filter.set.MaxPeriod
	if p == 0 {
		return nil
	}
	begin := slotEnd(now+1, p) - int64(p)
	c.enterIntervalLocked(begin, p)
	switch r := &c.repeats; {
	case r.done:
		return nil
	case c.state != Connected || !c.arrived || c.head == nil || c.disabledLocked() || c.hasSampleSinceLocked(begin):
		r.done = true
		return nil
	case now-begin < max(int64(repeatDelay(c.pv, p)), c.repeats.lag) || r.asked != 0 && monotonic-r.asked < repeatAgain:
		return nil
	}
	sub, _ := c.sub.(reader)
	return sub
}

// enterIntervalLocked begins an interval if it is a new one. It counts the previous one if that has no sample.
func (c *channel) enterIntervalLocked(begin int64, period time.Duration) {
	r := &c.repeats
	if r.interval == begin {
		return
	}
	if r.interval == begin-int64(period) && !r.done && !c.hasSampleSinceLocked(r.interval) {
		r.missed++
	}
	*r = repeats{interval: begin, missed: r.missed, renewed: r.renewed, lag: r.lag}
}

// repeatDelay returns how long after the beginning of an interval the value of a PV is read. It spreads the reads over
// the first half of the interval. Updates from before the interval have arrived by then.
func repeatDelay(pv string, period time.Duration) time.Duration {
	least := min(period/10, 500*time.Millisecond)
	return least + time.Duration(xxhash.Sum64String(pv)%1000)*(period/2-least)/1000
}

// noteUpdateLocked notes what is needed to repeat an update that arrived at a time. If the clock of the IOC is behind, a later
// update may have a time before the present interval. So the engine waits for that long before it repeats a value.
func (c *channel) noteUpdateLocked(s *sample.Sample, arrival int64) {
	c.latest.word, c.latest.time = c.digest(s), s.Time
	if !c.filter.fresh && c.filter.set.Clock == SourceClock {
		c.repeats.lag = max(0, arrival-s.Time)
	}
}

// hasSampleSinceLocked reports whether a sample since a time is stored, or waits for its scan time.
func (c *channel) hasSampleSinceLocked(t int64) bool {
	return c.filter.has && c.filter.last.Time >= t || c.scan.holding && c.scan.held.Time >= t
}

// noteRead notes that the value was requested.
func (c *channel) noteRead(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repeats.asked = max(now, 1)
}

// renewsLocked reports whether a value that was read for a channel with a MaxPeriod is a reason to subscribe again.
func (c *channel) renewsLocked(s *sample.Sample) bool {
	now := c.m.instant().Monotonic
	if c.isLatestLocked(s) || c.repeats.renewed != 0 && now-c.repeats.renewed < renewEvery {
		return false
	}
	c.repeats.renewed = max(now, 1)
	return true
}

// isLatestLocked reports whether a value is that of the latest update. The time does not count.
func (c *channel) isLatestLocked(s *sample.Sample) bool {
	if !c.latest.has || !c.latest.tag.SameAlarm(s.Tag) {
		return false
	}
	return c.latest.word == c.digest(s)
}

// digest returns the word of a value, or a hash of its bytes if it has no word.
func (c *channel) digest(s *sample.Sample) uint64 {
	if c.filter.typ.Fixed() {
		return s.Word
	}
	return xxhash.Sum64(s.Bytes)
}

// repeatLocked handles a value that was read for a channel with a MaxPeriod. It stores a sample in the present interval if
// the interval has none.
func (c *channel) repeatLocked(s *sample.Sample) {
	arrival := c.m.instant()
	if !c.isLatestLocked(s) { // a deadband of the record explains it
		c.received++
		c.latest = latest{has: true, tag: s.Tag, word: c.digest(s), time: s.Time}
		c.filter.fresh = true
		c.takeLocked(s, arrival)
		return
	}
	p := c.filter.set.MaxPeriod
	begin := slotEnd(arrival.Now+1, p) - int64(p)
	if c.head == nil || c.hasSampleSinceLocked(begin) || arrival.Now-begin < c.repeats.lag {
		return
	}
	c.received++
	c.repeats.done = true
	if len(s.Bytes) > MaxValueBytes {
		c.ledger.drop(sample.TooLarge, 1, arrival)
		return
	}
	again, source := *s, c.filter.lastSrc
	again.Time, again.Tag = begin, s.Tag|sample.EngineClock
	if at := c.latest.time; c.filter.set.Clock == SourceClock && at >= begin && at <= arrival.Now {
		again.Time, again.Tag, source = at, s.Tag, at // a filter dropped the update: the PV did not have this value before
	}
	c.appendSample(&again)
	c.filter.remember(&again, source)
}

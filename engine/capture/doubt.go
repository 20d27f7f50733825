package capture

import (
	"math"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// A record sends an update only when its value differs from the last sent one by more than its
// deadband: MDEL for the events Value, and ADEL for the events Log. A value that reached this engine
// without an update is therefore a reason to read the deadband first:
//
//	a check reads another value ────────┐           within twice the deadband: no update was due
//	another engine has a newer sample ──┴─▶ doubt ──┤
//	                            MDEL, ADEL ──▲      else, or unknown: the subscription may be dead
//
// Twice the deadband, because the last update may be the first one of a subscription. Its value
// may itself be a deadband away from the value that the record compares with.

// answerWithin is how long a server has for the values of the deadbands.
const answerWithin = 30 * time.Second

// lateChange is the text of the mark for a value that changed without an update.
const lateChange = "the value changed without an update: the subscription may have been dead"

// doubt is the question whether updates of a channel were lost. The channel's lock guards it.
type doubt struct {
	distance  float64         // the largest distance of a value from the last update
	since, to int64           // bounds of the time in which a check found the value change; 0 if none did
	again     *resubscription // if another engine has a newer sample
	asked     time.Duration   // monotonic time at which the deadbands were requested; 0: not yet
	deadbands []*deadband
}

// resubscription says why a channel is subscribed again, and whom to tell.
type resubscription struct {
	why  string
	done func()
}

// deadband is a deadband of a record. It is the sink of the subscription to its field.
type deadband struct {
	sub Subscription

	mu    sync.Mutex
	typ   sample.Type
	known bool
	value float64
}

// deadbandFields returns the fields that decide whether a record sends an update for a change of
// its value. ok is false for channels to which no deadband applies.
func (c *channel) deadbandFields() (fields []string, ok bool) {
	if c.pv != pvname.Record(c.pv) || !c.filter.typ.Numeric() {
		return nil, false
	}
	events := c.filter.set.Events
	switch {
	case c.filter.set.Provider == PVA:
		events = EventValue // what servers of records subscribe to
	case events == 0:
		events = EventLog
	}
	if events&EventValue != 0 {
		fields = append(fields, "MDEL")
	}
	if events&EventLog != 0 {
		fields = append(fields, "ADEL")
	}
	return fields, true
}

// distanceLocked returns how far a value is from the last update. ok is false if no deadband can be
// the reason that the record sent no update for it.
func (c *channel) distanceLocked(s *sample.Sample) (d float64, ok bool) {
	if _, ok := c.deadbandFields(); !ok || !c.latest.has || !c.latest.tag.SameAlarm(s.Tag) {
		return 0, false
	}
	d = math.Abs(sample.Float(c.filter.typ, s.Word) - sample.Float(c.filter.typ, c.latest.word))
	return d, !math.IsNaN(d) && !math.IsInf(d, 0)
}

// doubtCheckLocked handles a value that a check has read, and that differs from the last sample. The
// last update arrived at since. Both times are in ns since 1970.
func (c *channel) doubtCheckLocked(s *sample.Sample, since, now int64) {
	d, ok := c.distanceLocked(s)
	switch {
	case ok && d == 0: // a filter dropped the update
	case c.onlyAlarmOfFieldLocked(s):
		c.ledger.withinDeadband++
	case ok:
		q := c.doubtLocked()
		q.distance, q.to = max(q.distance, d), max(q.to, now)
		if q.since == 0 {
			q.since = since
		}
	default:
		c.markLateChangeLocked(since, now)
	}
}

// doubtLocked returns the channel's doubt, and creates it if there is none.
func (c *channel) doubtLocked() *doubt {
	if c.doubt == nil {
		c.doubt = &doubt{}
		c.m.doubts.add(c)
	}
	return c.doubt
}

// onlyAlarmOfFieldLocked reports whether a value of a field other than VAL differs from the last update only in the alarm.
// The alarm is that of the record. When it changes, a record sends updates for VAL, but not for most other fields.
func (c *channel) onlyAlarmOfFieldLocked(s *sample.Sample) bool {
	_, field, ok := strings.Cut(c.pv, ".")
	field, _, _ = strings.Cut(field, "{") // without a filter of the server
	if field = strings.TrimSuffix(field, "$"); !ok || field == "" || field == "VAL" {
		return false
	}
	if !c.filter.has || !c.latest.has || c.latest.tag.SameAlarm(s.Tag) {
		return false
	}
	again := *s
	again.Time, again.Tag = c.filter.last.Time, c.filter.last.Tag
	return c.filter.last.Same(&again) && (!c.filter.typ.Fixed() || c.latest.word == s.Word)
}

// markLateChangeLocked marks that updates may have been lost between two times.
func (c *channel) markLateChangeLocked(since, to int64) {
	c.ledger.suspected++
	c.addMark(sample.Mark{Time: since, End: to, Kind: sample.Lost, Reason: sample.Overrun, Text: lateChange})
}

// doubtSample handles a sample that another engine stored, and of which this engine had no update. If
// no deadband can be the reason, it subscribes again at once. The caller holds Manager.apply.
func (c *channel) doubtSample(typ sample.Type, s *sample.Sample, again resubscription) {
	c.mu.Lock()
	d, ok := c.distanceLocked(s)
	if ok = ok && typ == c.filter.typ; ok {
		q := c.doubtLocked()
		q.distance, q.again = max(q.distance, d), &again
	}
	c.mu.Unlock()
	if !ok {
		c.resubscribe(again)
	}
}

// pursueDoubt reads the deadbands, and decides the doubt once they are known or the server has not
// answered in time. It reports false if it must be called again. The caller holds Manager.apply, and
// not the channel's lock, because subscriptions wait for calls of their sinks.
func (c *channel) pursueDoubt(now time.Duration) (done bool) {
	c.mu.Lock()
	q, source := c.doubt, c.m.sources[c.filter.set.Provider]
	fields, ok := c.deadbandFields()
	c.mu.Unlock()
	if q == nil {
		return true
	}
	if q.asked == 0 && source != nil && ok {
		for _, field := range fields {
			b := &deadband{}
			b.sub = source.Subscribe(pvname.Record(c.pv)+"."+field, SubscribeOptions{Events: EventValue}, b)
			q.deadbands = append(q.deadbands, b)
		}
		q.asked = now
		return false
	}
	c.mu.Lock()
	within, known := q.within()
	c.mu.Unlock()
	if !known && now-q.asked < answerWithin {
		return false
	}
	if again := c.endDoubt(); again != nil && !within {
		c.resubscribe(*again)
	}
	return true
}

// within reports whether the record had no reason to send an update, and whether all its deadbands are
// known.
func (q *doubt) within() (within, known bool) {
	within, known = q.asked != 0, true
	for _, b := range q.deadbands {
		value, ok := b.get()
		known = known && ok
		within = within && ok && value > 0 && q.distance <= 2*value
	}
	return within, known
}

// endDoubt ends the channel's doubt. It marks the possible loss, unless the deadbands explain the
// value, and returns the subscription that the doubt was to replace.
func (c *channel) endDoubt() *resubscription {
	c.mu.Lock()
	q := c.doubt
	c.doubt = nil
	if q == nil {
		c.mu.Unlock()
		return nil
	}
	if within, _ := q.within(); within {
		c.ledger.withinDeadband++
	} else if q.since != 0 {
		c.markLateChangeLocked(q.since, q.to)
	}
	c.mu.Unlock()
	for _, b := range q.deadbands {
		b.sub.Close()
	}
	return q.again
}

// Doubt doubts the subscription of a PV, because another engine stored a sample of which this engine
// had no update. stored ends with that sample. Unless a deadband of the record explains it, Doubt
// replaces the subscription with a new one, marks why, and calls done. It does nothing for a PV that
// is paused or not captured. Reading the deadbands takes some seconds, so done may be called after
// Doubt has returned.
func (m *Manager) Doubt(pv string, stored *sample.Run, why string, done func()) {
	m.apply.Lock()
	defer m.apply.Unlock()
	m.mu.RLock()
	c := m.channels[pv]
	m.mu.RUnlock()
	if c == nil {
		return
	}
	s := stored.At(stored.Len() - 1)
	c.doubtSample(stored.Type, &s, resubscription{why, done})
}

// pursueDoubts pursues the doubts of all channels. It waits for the next call while an assignment is
// applied, or the manager is closed.
func (m *Manager) pursueDoubts() {
	if !m.apply.TryLock() {
		return
	}
	defer m.apply.Unlock()
	now := m.instant().Monotonic
	for c := range m.doubts.takeAll() {
		if !c.pursueDoubt(now) {
			m.doubts.add(c)
		}
	}
}

func (b *deadband) get() (value float64, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.value, b.known
}

// Connected implements Sink.
func (b *deadband) Connected(info ChannelInfo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.typ = info.Type
}

// Sample implements Sink.
func (b *deadband) Sample(s *sample.Sample) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.typ.Numeric() {
		b.value, b.known = sample.Float(b.typ, s.Word), true
	}
}

// Checked implements Sink.
func (b *deadband) Checked(s *sample.Sample, _ time.Time) bool {
	b.Sample(s)
	return false
}

// Metadata implements Sink.
func (*deadband) Metadata(*sample.Metadata) {}

// Dropped implements Sink.
func (*deadband) Dropped(sample.Reason, uint64) {}

// Suspect implements Sink.
func (*deadband) Suspect(time.Time, time.Time) {}

// Disconnected implements Sink.
func (*deadband) Disconnected(error) {}

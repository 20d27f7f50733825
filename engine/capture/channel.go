package capture

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
)

// channel is one captured PV. It is the sink of the PV's subscription.
type channel struct {
	// The fields that every sample touches come first, in two cache lines: with many
	// PVs, waiting for memory takes most of the time.
	mu       sync.Mutex
	m        *Manager
	journal  *journal.ShardJournal
	head     *journal.Head // nil until a type is known
	received uint64
	enabling *enabling // nil: no condition enables the channel
	filter   filter    // holds the settings

	ledger ledger
	scan   scanner
	pv     string
	group  string
	shard  int          // guarded by the manager's lock
	sub    Subscription // nil while paused

	state    State
	since    int64
	begin    int64         // the earliest time that since may be, for marks
	changed  time.Duration // the monotonic time of since
	first    time.Duration // the monotonic time of the first connect; 0: none
	moved    time.Duration // the monotonic time of the latest move to another shard; 0: none
	marked   stateMark     // the latest mark about the state
	heard    heard
	latest   latest
	update   Update
	absence  absence
	repeats  repeats
	arrived  bool // a value has arrived since the channel connected
	info     ChannelInfo
	meta     *sample.Metadata // from the source, with the properties added
	props    properties
	connects uint64
	losses   uint64 // connections lost
	rate     rate   // of samples received
	doubt    *doubt // whether updates were lost; nil if there is no reason for doubt

	old    []*journal.Head // retired heads that may not be empty yet
	stored uint64          // samples stored by retired heads that are empty
	shed   uint64          // samples that those heads dropped for lack of memory
}

// heard is the time of the latest sample that the source sent, and the monotonic time of its
// arrival. The first sample after a connect does not count, because its time may be long ago.
type heard struct {
	time    int64 // ns since 1970; 0: none
	arrived time.Duration
}

// latest is the latest value that the source sent, whether it was kept or not.
type latest struct {
	has  bool
	tag  sample.Tag
	word uint64 // of a channel with a MaxPeriod: the hash of its bytes, if it has bytes
	time int64  // of a channel with a MaxPeriod: the source's time, ns since 1970
}

// Connected implements Sink.
func (c *channel) Connected(info ChannelInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.state
	c.info = info
	c.forgetHeldLocked() // the source sends the value again
	if was != Connected && was != Unsupported {
		c.connects++
	}
	if info.Type == sample.Unknown {
		c.closeHead(c.setStateLocked(Unsupported, absence{cause: "values of type " + info.TypeName + " cannot be archived"}).Now)
		return
	}
	at := c.setStateLocked(Connected, absence{})
	if c.first == 0 {
		c.first = at.Monotonic
	}
	c.filter.fresh = true
	if was != Connected {
		c.rate = rate{at: at.Monotonic, count: c.received}
		c.arrived = false
		c.addStateLocked(at, sample.Mark{Kind: sample.Connected, Text: info.Host})
	}
	c.openHead(info.Type, at.Now)
	if len(c.props.all) > 0 && c.props.base == nil {
		c.scheduleMetadataLocked()
	}
}

// openHead makes sure that the head takes samples of a type.
func (c *channel) openHead(t sample.Type, now int64) {
	if c.head != nil {
		if c.head.Type() == t {
			return
		}
		c.changeTypeLocked(t.String(), now)
		if c.meta != nil && hasNone(t) {
			c.setMetadataLocked(bare(&c.info)) // the metadata of the old type no longer applies
		}
	}
	c.head = c.journal.Open(c.pv, t)
	c.filter = filter{set: c.filter.set, typ: t, fresh: true}
	c.latest = latest{}
}

// closeHead retires the head, because values of a type follow that cannot be archived.
func (c *channel) closeHead(now int64) {
	if c.head != nil {
		c.changeTypeLocked(c.info.TypeName+", which cannot be archived", now)
	}
	c.filter = filter{set: c.filter.set}
}

// changeTypeLocked marks that values of another type follow, and retires the head. It
// first appends the sample held for the current scan slot, so a slot may keep a sample
// of each type.
func (c *channel) changeTypeLocked(to string, now int64) {
	if c.scan.holding {
		c.appendSample(&c.scan.held)
		c.scan.holding = false
	}
	c.m.marks.Add(c.pv, sample.Mark{Time: now, Kind: sample.TypeChanged, Text: c.head.Type().String() + " to " + to})
	c.giveUpHead((*journal.Head).Retire)
}

// giveUpHead gives up the head, by Retire or End. The shard journal keeps and writes its samples.
func (c *channel) giveUpHead(retire func(*journal.Head)) {
	if c.head != nil {
		retire(c.head)
		c.old = append(c.old, c.head)
		c.head = nil
	}
}

// countOutcomes sums up what became of the samples of all heads, and forgets retired
// heads that are empty.
func (c *channel) countOutcomes() (stored, shed uint64) {
	c.old = slices.DeleteFunc(c.old, func(h *journal.Head) bool {
		done := h.Done()
		if done {
			c.stored += h.Stored()
			c.shed += h.Lost()
		}
		return done
	})
	stored, shed = c.stored, c.shed
	for _, h := range c.old {
		stored += h.Stored()
		shed += h.Lost()
	}
	if c.head != nil {
		stored += c.head.Stored()
		shed += c.head.Lost()
	}
	return stored, shed
}

// Sample implements Sink.
func (c *channel) Sample(s *sample.Sample) {
	arrival := c.m.instant()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received++
	c.arrived = true
	c.latest = latest{has: true, tag: s.Tag, word: s.Word}
	c.update = Update{Arrived: arrival.Now, Time: s.Time, First: c.filter.fresh}
	if c.filter.set.MaxPeriod > 0 {
		c.noteUpdateLocked(s, arrival.Now)
	}
	if c.head == nil {
		c.ledger.drop(sample.Unsupported, 1, arrival)
		c.update.drop(sample.Unsupported)
		return
	}
	if !c.filter.fresh {
		c.heard = heard{s.Time, arrival.Monotonic}
	}
	if c.disabledLocked() {
		c.holdLocked(s, arrival)
		return
	}
	c.takeLocked(s, arrival)
}

// takeLocked passes a sample through the filters to the head.
func (c *channel) takeLocked(s *sample.Sample, arrival clock.Instant) {
	reason, ok := c.filter.keep(s, arrival)
	if !ok {
		c.ledger.drop(reason, 1, arrival)
		c.update.drop(reason)
		return
	}
	if c.filter.set.Mode == Monitor {
		c.appendSample(s)
		return
	}
	if passed := c.scan.offer(s, c.filter.set.Period, c.appendSample); passed > 0 {
		c.ledger.drop(sample.Scan, passed, arrival)
	}
}

// Checked implements Sink. A value that differs counts like the first one after connecting,
// because its age says nothing about the clock of the IOC.
func (c *channel) Checked(s *sample.Sample, since time.Time) (differs bool) {
	from, to := c.m.moment(since).Begin, c.m.instant().End
	c.mu.Lock()
	switch {
	case c.state != Connected:
	case c.disabledLocked():
		differs = c.heldDiffersLocked(s)
	case c.filter.set.MaxPeriod > 0 && !c.renewsLocked(s):
		c.repeatLocked(s)
	case c.filter.differs(s):
		differs, c.filter.fresh = true, true
		c.doubtCheckLocked(s, from, to)
	}
	c.mu.Unlock()
	if differs {
		c.Sample(s)
	}
	return differs
}

// appendSample appends a sample to the head.
func (c *channel) appendSample(s *sample.Sample) { c.journal.Append(c.head, c.filter.typ, s) }

// tick appends the sample held for a scan time that has passed.
func (c *channel) tick(end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head != nil && c.filter.set.Mode == Scan {
		c.scan.tick(end, c.filter.set.Period, c.appendSample)
	}
}

// Dropped implements Sink.
func (c *channel) Dropped(r sample.Reason, n uint64) {
	at := c.m.instant()
	c.mu.Lock()
	c.received += n
	c.ledger.drop(r, n, at)
	c.mu.Unlock()
}

// Suspect implements Sink.
func (c *channel) Suspect(from, to time.Time) {
	begin, end := c.m.moment(from), c.m.moment(to)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.suspectLoss(begin.Begin, max(begin.Begin, end.End), c.m.instant().Monotonic, c.addMark)
}

// addMark adds a mark of the channel.
func (c *channel) addMark(m sample.Mark) { c.m.marks.Add(c.pv, m) }

// addStateLocked adds a mark which says whether updates arrive from an instant on. A time without updates
// must cover all updates that are missing, although the clock may be wrong. So it begins at the earliest
// possible time and ends at the latest. While the channel is disabled, there are none. The marks of a channel keep their order, because the latest mark
// counts. They lose it only if the clock was more than mostAhead ahead, without evidence.
func (c *channel) addStateLocked(at clock.Instant, m sample.Mark) {
	if c.disabledLocked() {
		return
	}
	m.Time = at.Begin
	if m.Kind.Delivers() {
		m.Time = at.End
	}
	now := c.m.instant()
	m.Time = c.afterMarksLocked(now, m.Time)
	c.marked = stateMark{time: m.Time, monotonic: now.Monotonic, guess: now.Guess}
	c.addMark(m)
}

// stateMark is when a mark was added, and the time in it, in ns since 1970. If the time is a guess, the log
// corrects it once the clock is known (mark.Log.UseClock).
type stateMark struct {
	time      int64
	monotonic time.Duration
	guess     bool
}

// afterMarksLocked returns a time for a mark, which is after all marks about the state. now is the present
// instant.
func (c *channel) afterMarksLocked(now clock.Instant, t int64) int64 {
	latest := c.marked.time
	if c.marked.guess && !now.Guess {
		latest = min(latest, now.Ago(now.Monotonic-c.marked.monotonic).Now)
	}
	if t <= latest && latest-t < int64(mostAhead) {
		return latest + 1
	}
	return t
}

// mostAhead is the largest difference between clocks for which the marks of a channel keep their order.
const mostAhead = 10 * time.Minute

// moveTo makes later samples go to another shard journal. The old one keeps and seals
// the samples that it holds.
func (c *channel) moveTo(to *journal.ShardJournal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.journal == to {
		return
	}
	c.journal, c.moved = to, c.m.instant().Monotonic
	if h := c.head; h != nil {
		c.giveUpHead((*journal.Head).Retire)
		c.head = to.Open(c.pv, h.Type())
	}
}

// configure applies settings: it subscribes, resubscribes, or unsubscribes a paused channel.
func (c *channel) configure(ch Channel) {
	c.leaveGate(ch.Settings, !ch.Settings.Paused)
	c.mu.Lock()
	old, sub, started := c.filter.set, c.sub, c.since != 0
	c.filter.set, c.group = ch.Settings, ch.Group
	resubscribe := sub != nil && (c.filter.set.Paused || c.filter.set.subscription() != old.subscription())
	subscribe := !c.filter.set.Paused && (sub == nil || resubscribe)
	if c.filter.set.Mode != Scan && c.scan.holding {
		c.scan.give(old.Period, c.appendSample)
	}
	c.mu.Unlock()

	if resubscribe {
		c.unsubscribe()
	}
	c.joinGate(ch.Settings)
	if c.filter.set.Paused && (sub != nil || !started || old.Paused && old.PauseReason != ch.Settings.PauseReason) {
		c.pause()
	}
	if subscribe {
		c.subscribe(started && old.Paused, "the settings of the subscription changed")
	}
	c.subscribeProperties(ch.Settings, old.Provider != ch.Settings.Provider)
}

// resubscribe replaces the current subscription with a new one.
func (c *channel) resubscribe(r resubscription) {
	c.mu.Lock()
	subscribed := c.sub != nil
	c.mu.Unlock()
	if subscribed {
		c.unsubscribe()
		c.subscribe(false, r.why)
		r.done()
	}
}

// subscribe creates a subscription. If the channel was connected, the mark of the
// disconnection says why.
func (c *channel) subscribe(resumed bool, why string) {
	c.mu.Lock()
	was := c.state
	at := c.setStateLocked(Searching, absence{kind: sample.Searching})
	if was == Connected {
		c.addStateLocked(at, sample.Mark{Kind: sample.Disconnected, Text: why})
	}
	if resumed {
		c.addStateLocked(at, sample.Mark{Kind: sample.Resumed, Text: c.group})
	}
	c.mu.Unlock()
	set := c.filter.set
	source := c.m.sources[set.Provider]
	if source == nil {
		c.Disconnected(errors.New("this engine has no client for provider " + set.Provider.String()))
		return
	}
	sub := source.Subscribe(c.pv, SubscribeOptions{Events: set.Events, Fields: set.subscribedFields()}, c)
	c.mu.Lock()
	c.sub = sub
	c.mu.Unlock()
}

// unsubscribe closes the subscription. The caller must not hold the lock, because
// closing waits for calls of the sink.
func (c *channel) unsubscribe() {
	c.mu.Lock()
	sub := c.sub
	c.sub = nil
	c.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
}

func (c *channel) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.group
	if why := c.filter.set.PauseReason; why != "" {
		text += pauseBecause + why
	}
	at := c.setStateLocked(Paused, absence{kind: sample.Paused, cause: ExplainPause(text), marked: sample.Paused})
	c.addStateLocked(at, sample.Mark{Kind: sample.Paused, Text: text})
}

// pauseBecause separates the group from the reason in the text of a mark. No name of a group contains it.
const pauseBecause = ": "

// ExplainPause explains the text of a mark Paused to users.
func ExplainPause(text string) string {
	if group, why, has := strings.Cut(text, pauseBecause); has {
		return "group " + group + " pauses the PV: " + why
	}
	return "group " + text + " is paused"
}

// close ends the capture. Samples stay in the shard journal.
func (c *channel) close() {
	c.unsubscribe()
	c.leaveGate(nil, false)
	c.unsubscribeProperties()
	c.endDoubt()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scan.holding && c.head != nil {
		c.scan.give(c.filter.set.Period, c.appendSample)
	}
	c.ledger.emitLosses(c.addMark)
	c.ledger.emitSuspicion(c.m.instant().Monotonic, c.addMark)
	c.giveUpHead((*journal.Head).End)
}

// period returns the scan period, 0 for a monitored channel.
func (c *channel) period() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.filter.set.Period
}

// setStateLocked changes the state and returns the present instant.
func (c *channel) setStateLocked(s State, a absence) clock.Instant {
	at := c.m.instant()
	if c.state != s || c.since == 0 {
		c.state, c.since, c.begin, c.changed = s, at.Now, at.Begin, at.Monotonic
	}
	a.since, a.begin = c.since, c.begin
	c.absence = a
	return at
}

// report marks the losses gathered so far, marks why the channel is absent if mayMark is true,
// and updates the rate. It returns the time of the latest sample since the last call, and whether
// it marked an absence.
func (c *channel) report(mayMark bool) (h clock.Heard, marked bool) {
	at := c.m.instant()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.emitLosses(c.addMark)
	c.ledger.emitSuspicion(at.Monotonic-suspicionGap, c.addMark)
	c.rate.update(at.Monotonic, c.received)
	h = clock.Heard{Server: c.info.Host, Time: c.heard.time, Monotonic: c.heard.arrived}
	c.heard = heard{}
	c.forgetRefusalLocked(at.Now)
	return h, mayMark && c.markAbsenceLocked(at.Now)
}

// status returns a snapshot.
func (c *channel) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := Status{
		PV: c.pv, Group: c.group, Provider: c.filter.set.Provider, State: c.state, Since: c.since, Cause: c.causeLocked(),
		Absent: c.absence.kind, AbsentSince: c.absence.since, Missing: c.missingLocked(), Silent: c.silentLocked(),
		Host: c.info.Host, Type: c.info.Type, TypeName: c.info.TypeName, Count: c.info.Count,
		Sampling: c.filter.set.String(), Retention: c.filter.set.Retention, Rate: c.rateLocked(),
		Connects: c.connects, LostConnections: c.losses,
		Received: c.received, Dropped: c.ledger.dropped, Suspected: c.ledger.suspected,
		HasLast: c.filter.has, Last: c.filter.last, Metadata: c.meta, Update: c.update, Filters: c.filter.set.Filters(),
	}
	var shed uint64
	st.Stored, shed = c.countOutcomes()
	st.Stored -= min(st.Stored, st.Dropped[sample.Expired])
	st.Dropped[sample.Overflow] += shed
	if len(st.Last.Bytes) > maxLast {
		st.Last.Bytes, st.Last.Tag = nil, st.Last.Tag|sample.Elsewhere
	}
	st.Last.Bytes = slices.Clone(st.Last.Bytes)
	c.explainEnablingLocked(&st)
	return st
}

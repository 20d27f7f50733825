package capture

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
)

// channel is one PV that is captured: the sink of its subscription.
type channel struct {
	// What a sample touches comes first, in two cache lines: with many PVs, waiting
	// for memory is most of the work.
	mu           sync.Mutex
	m            *Manager
	shardJournal *journal.ShardJournal
	head         *journal.Head // nil until a type is known
	received     uint64
	filter       filter // with the settings

	ledger ledger
	scan   scanner
	pv     string
	group  string
	shard  int          // belongs to the manager's lock
	sub    Subscription // nil while paused

	state    State
	since    int64
	cause    string
	info     ChannelInfo
	meta     *sample.Metadata // as it was told, with the properties
	props    properties
	connects uint64
	losses   uint64 // connections lost
	rate     rate   // of samples received

	old    []*journal.Head // given up, and perhaps not empty yet
	stored uint64          // by heads that were given up and emptied
	shed   uint64          // lost for want of memory by those
}

// Connected implements Sink.
func (c *channel) Connected(info ChannelInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.state
	c.info = info
	if was != Connected && was != Unsupported {
		c.connects++
	}
	if info.Type == sample.Unknown {
		c.shut(c.enter(Unsupported, "values of type "+info.TypeName+" can not be archived"))
		return
	}
	now := c.enter(Connected, "")
	c.filter.fresh = true
	if c.rate.at == 0 {
		c.rate = rate{at: now}
	}
	if was != Connected {
		c.m.marks.Add(c.pv, sample.Mark{Time: now, Kind: sample.Connected, Text: info.Host})
	}
	c.open(info.Type, now)
	if len(c.props.all) > 0 && c.props.told == nil {
		c.metadataChanged()
	}
}

// open makes sure that the head takes samples of a type.
func (c *channel) open(t sample.Type, now int64) {
	if c.head != nil {
		if c.head.Type() == t {
			return
		}
		c.changeType(t.String(), now)
		if c.meta != nil && hasNone(t) {
			c.tell(bare(&c.info)) // that of the old type is not in force any more
		}
	}
	c.head = c.shardJournal.Open(c.pv, t)
	c.filter = filter{set: c.filter.set, typ: t, fresh: true}
}

// shut ends the head: no values of a type come that can be archived.
func (c *channel) shut(now int64) {
	if c.head != nil {
		c.changeType(c.info.TypeName+", which can not be archived", now)
	}
	c.filter = filter{set: c.filter.set}
}

// changeType marks that values of another type follow, and ends the head with
// what is held for it. The samples of both types in one slot of a scan are kept.
func (c *channel) changeType(to string, now int64) {
	if c.scan.holding {
		c.keep(&c.scan.held)
		c.scan.holding = false
	}
	c.m.marks.Add(c.pv, sample.Mark{Time: now, Kind: sample.TypeChanged, Text: c.head.Type().String() + " to " + to})
	c.retire()
}

// retire gives up the head. Its samples go on their way without it.
func (c *channel) retire() {
	if c.head != nil {
		c.head.Retire()
		c.old = append(c.old, c.head)
		c.head = nil
	}
}

// settle sums up what became of the samples of all heads, and forgets those
// that are empty for good.
func (c *channel) settle() (stored, shed uint64) {
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
	arrival := c.m.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received++
	if c.head == nil {
		c.ledger.drop(sample.Unsupported, 1, arrival)
		return
	}
	reason, ok := c.filter.keep(s, arrival)
	if !ok {
		c.ledger.drop(reason, 1, arrival)
		return
	}
	if c.filter.set.Mode == Monitor {
		c.keep(s)
		return
	}
	if passed := c.scan.offer(s, c.filter.set.Period, c.keep); passed > 0 {
		c.ledger.drop(sample.Scan, passed, arrival)
	}
}

// keep hands a sample on.
func (c *channel) keep(s *sample.Sample) { c.shardJournal.Append(c.head, c.filter.typ, s) }

// tick gives out the sample held for a scan time that has passed.
func (c *channel) tick(end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head != nil && c.filter.set.Mode == Scan {
		c.scan.tick(end, c.filter.set.Period, c.keep)
	}
}

// Dropped implements Sink.
func (c *channel) Dropped(r sample.Reason, n uint64) {
	now := c.m.now()
	c.mu.Lock()
	c.received += n
	c.ledger.drop(r, n, now)
	c.mu.Unlock()
}

// Suspect implements Sink.
func (c *channel) Suspect(from, to int64) {
	now := c.m.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.suspectLoss(from, to, now, c.mark)
}

// mark adds a mark of the channel.
func (c *channel) mark(m sample.Mark) { c.m.marks.Add(c.pv, m) }

// Disconnected implements Sink.
func (c *channel) Disconnected(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Paused {
		return
	}
	text := ""
	if cause != nil {
		text = cause.Error()
	}
	switch c.state {
	case Connected:
		c.losses++
		now := c.enter(Disconnected, text)
		c.mark(sample.Mark{Time: now, Kind: sample.Disconnected, Text: text})
	case Unsupported:
		c.losses++
		c.enter(Disconnected, strings.TrimPrefix(text+"; ", "; ")+"its values, of type "+c.info.TypeName+", can not be archived")
	default:
		c.cause = text // still searching: why it does not succeed
	}
}

// move sends what comes from now on to another shardJournal. What the old one holds, it
// keeps and seals.
func (c *channel) move(to *journal.ShardJournal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shardJournal == to {
		return
	}
	c.shardJournal = to
	if h := c.head; h != nil {
		c.retire()
		c.head = to.Open(c.pv, h.Type())
	}
}

// configure brings the channel to settings: it subscribes, or not while paused.
func (c *channel) configure(ch Channel) {
	c.mu.Lock()
	old, sub, started := c.filter.set, c.sub, c.since != 0
	c.filter.set, c.group = ch.Settings, ch.Group
	resubscribe := sub != nil && (c.filter.set.Paused || c.filter.set.subscription() != old.subscription())
	subscribe := !c.filter.set.Paused && (sub == nil || resubscribe)
	if c.filter.set.Mode != Scan && c.scan.holding {
		c.scan.give(old.Period, c.keep)
	}
	c.mu.Unlock()

	if resubscribe {
		c.unsubscribe()
	}
	if c.filter.set.Paused && (sub != nil || !started) {
		c.pause()
	}
	if subscribe {
		c.subscribe(started && old.Paused, "the settings of the subscription changed")
	}
	c.follow(ch.Settings, old.Provider != ch.Settings.Provider)
}

// resubscribe makes a new subscription in place of the one there is.
func (c *channel) resubscribe(why string) {
	c.mu.Lock()
	subscribed := c.sub != nil
	c.mu.Unlock()
	if subscribed {
		c.unsubscribe()
		c.subscribe(false, why)
	}
}

// subscribe says why, if the channel is connected.
func (c *channel) subscribe(resumed bool, why string) {
	c.mu.Lock()
	was := c.state
	now := c.enter(Searching, "")
	if was == Connected {
		c.mark(sample.Mark{Time: now, Kind: sample.Disconnected, Text: why})
	}
	c.mu.Unlock()
	if resumed {
		c.m.marks.Add(c.pv, sample.Mark{Time: now, Kind: sample.Resumed, Text: c.group})
	}
	set := c.filter.set
	source := c.m.sources[set.Provider]
	if source == nil {
		c.Disconnected(errors.New("this engine does not speak " + set.Provider.String()))
		return
	}
	sub := source.Subscribe(c.pv, SubscribeOptions{Events: set.Events, Fields: set.subscribedFields()}, c)
	c.mu.Lock()
	c.sub = sub
	c.mu.Unlock()
}

// unsubscribe must be called without the lock: it waits for calls of the sink.
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
	now := c.enter(Paused, "")
	c.mu.Unlock()
	c.m.marks.Add(c.pv, sample.Mark{Time: now, Kind: sample.Paused, Text: c.group})
}

// close ends the capture; samples stay in the shardJournal.
func (c *channel) close() {
	c.unsubscribe()
	c.unfollow()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scan.holding && c.head != nil {
		c.scan.give(c.filter.set.Period, c.keep)
	}
	c.ledger.take(c.mark)
	c.ledger.settle(c.m.now(), c.mark)
	c.retire()
}

// period returns the scan period, 0 for a monitored channel.
func (c *channel) period() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.filter.set.Period
}

// enter changes the state. It needs the lock.
func (c *channel) enter(s State, cause string) (now int64) {
	now = c.m.now()
	if c.state != s || c.since == 0 {
		c.state, c.since = s, now
	}
	c.cause = cause
	return now
}

// report marks the losses gathered and brings the rate up to date.
func (c *channel) report() {
	now := c.m.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.take(c.mark)
	c.ledger.settle(now-int64(suspicionGap), c.mark)
	c.rate.update(now, c.received)
}

// status returns a snapshot.
func (c *channel) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := Status{
		PV: c.pv, Group: c.group, Provider: c.filter.set.Provider, State: c.state, Since: c.since, Cause: c.cause,
		Host: c.info.Host, Type: c.info.Type, TypeName: c.info.TypeName, Count: c.info.Count,
		Sampling: c.filter.set.String(), Retention: c.filter.set.Retention, Rate: c.rate.perSecond,
		Connects: c.connects, LostConnections: c.losses,
		Received: c.received, Dropped: c.ledger.dropped, Suspected: c.ledger.suspected,
		HasLast: c.filter.has, Last: c.filter.last, Metadata: c.meta,
	}
	var shed uint64
	st.Stored, shed = c.settle()
	st.Stored -= min(st.Stored, st.Dropped[sample.Expired])
	st.Dropped[sample.Overflow] += shed
	if len(st.Last.Bytes) > maxLast {
		st.Last.Bytes, st.Last.Tag = nil, st.Last.Tag|sample.Elsewhere
	}
	st.Last.Bytes = slices.Clone(st.Last.Bytes)
	return st
}

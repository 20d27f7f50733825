package capture

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// properties are the fields of a channel's record that are kept with its
// metadata. They are guarded by the channel's lock; all is changed by configure
// and close only.
type properties struct {
	all []*property // by name
	// told is the metadata that the source gave; nil before, and for types that have
	// none.
	told *sample.Metadata
	// since is the time of the first change that is not written; 0 if there is none.
	since int64
	// written is when an entry was written last.
	written int64
}

// Metadata waits to be written until all properties are known, so that a channel
// that connects gives one entry; and after an entry, so that a property that
// changes all the time does not fill the store.
const (
	writeEvery  = time.Second
	waitForAll  = 30 * time.Second
	waitBetween = 10 * time.Second
)

// property is one of them: the sink of its subscription.
type property struct {
	c    *channel
	name string
	sub  Subscription

	// What follows is guarded by the channel's lock.
	typ    sample.Type // of the samples that come
	labels []string    // of an enumeration
	value  sample.Sample
	of     sample.Type // of value; Unknown: there is none yet
	never  bool        // its type can not be archived
}

// Connected implements Sink.
func (p *property) Connected(info ChannelInfo) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.typ, p.never = info.Type, info.Type == sample.Unknown
}

// Sample implements Sink.
func (p *property) Sample(s *sample.Sample) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	head := s.Bytes[:min(len(s.Bytes), maxPropertyBytes)]
	if p.of == p.typ && p.value.Word == s.Word && bytes.Equal(p.value.Bytes, head) {
		return
	}
	p.value.Word, p.value.Bytes, p.of = s.Word, append(p.value.Bytes[:0], head...), p.typ
	p.c.metadataChanged()
}

// Metadata implements Sink.
func (p *property) Metadata(m *sample.Metadata) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if !slices.Equal(p.labels, m.Labels) {
		p.labels = m.Labels
		p.c.metadataChanged()
	}
}

// Dropped implements Sink. Of a property the latest value counts.
func (p *property) Dropped(sample.Reason, uint64) {}

// Suspect implements Sink.
func (p *property) Suspect(int64, int64) {}

// Disconnected implements Sink. The value is what was known last.
func (p *property) Disconnected(error) {}

// known reports whether nothing more has to come to show the value.
func (p *property) known() bool {
	return p.never || p.of != sample.Unknown && (p.of != sample.Enum || p.labels != nil)
}

// follow subscribes to the properties of settings, and ends the subscriptions of
// others; of all, if the channel is to be told anew what it is.
func (c *channel) follow(set *Settings, anew bool) {
	names := set.subscribed()
	if len(names)+len(c.props.all) == 0 {
		return
	}
	var all []*property
	for _, p := range c.props.all {
		if !anew && slices.Contains(names, p.name) {
			all = append(all, p)
		} else {
			p.sub.Close()
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p *property) bool { return p.name == name }) {
			all = append(all, c.subscribeTo(name, set.Provider))
		}
	}
	slices.SortFunc(all, func(a, b *property) int { return cmp.Compare(a.name, b.name) })
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := !slices.Equal(all, c.props.all)
	c.props.all = all
	switch {
	case anew || set.Paused:
		c.props.told = nil
	case changed:
		c.metadataChanged()
	}
}

// subscribeTo subscribes to a property, where there is a source.
func (c *channel) subscribeTo(name string, provider Provider) *property {
	p := &property{c: c, name: name, sub: nothing{}}
	if source := c.m.sources[provider]; source != nil {
		p.sub = source.Subscribe(pvname.Record(c.pv)+"."+name, SubscribeOptions{Events: EventValue}, p)
	}
	return p
}

// nothing is the subscription that an engine without a source has.
type nothing struct{}

// Close implements Subscription.
func (nothing) Close() {}

// unfollow ends the subscriptions, and writes what was not written.
func (c *channel) unfollow() {
	for _, p := range c.props.all {
		p.sub.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.props.since != 0 && c.complete() {
		c.writeMetadata(c.m.now())
	}
	c.props = properties{}
}

// Metadata implements Sink.
func (c *channel) Metadata(m *sample.Metadata) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(m)
}

// tell takes metadata. It needs the lock.
func (c *channel) tell(m *sample.Metadata) {
	c.props.told = m
	c.meta = c.withProperties()
	if len(c.props.all) == 0 {
		c.m.marks.Metadata(c.pv, c.m.now(), c.meta)
		return
	}
	c.metadataChanged()
}

// metadataChanged lets the metadata be written soon. It needs the lock.
func (c *channel) metadataChanged() {
	if c.props.since == 0 {
		c.props.since = c.m.now()
	}
	c.m.unwritten.add(c)
}

// withProperties returns the metadata told, with the properties. It needs the lock.
func (c *channel) withProperties() *sample.Metadata {
	if len(c.props.all) == 0 {
		return c.props.told
	}
	m := *c.props.told
	m.Properties = slices.Clone(m.Properties)
	for _, p := range c.props.all {
		if p.of != sample.Unknown {
			m.Properties = append(m.Properties, sample.Property{Name: p.name, Value: text(p.of, &p.value, p.labels)})
		}
	}
	slices.SortStableFunc(m.Properties, func(a, b sample.Property) int { return cmp.Compare(a.Name, b.Name) })
	return &m
}

// writeWhenDue writes the metadata if it is time. It reports false if it has to be
// asked again.
func (c *channel) writeWhenDue(now int64) (done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.props.told == nil && c.state != Connected {
		c.props.since = 0 // it begins when the channel connects
	}
	since := c.props.since
	if since == 0 {
		return true
	}
	wait := waitForAll
	if c.complete() {
		wait = writeEvery
	}
	if now-since < int64(wait) || c.props.written != 0 && now-c.props.written < int64(waitBetween) {
		return false
	}
	c.writeMetadata(now)
	return true
}

// writeMetadata needs the lock.
func (c *channel) writeMetadata(now int64) {
	if c.props.told == nil {
		c.props.told = bare(&c.info)
	}
	c.meta = c.withProperties()
	c.m.marks.Metadata(c.pv, c.props.since, c.meta)
	c.props.since, c.props.written = 0, now
}

// complete reports whether metadata and all properties are known.
func (c *channel) complete() bool {
	return (c.props.told != nil || hasNone(c.info.Type)) &&
		!slices.ContainsFunc(c.props.all, func(p *property) bool { return !p.known() })
}

// hasNone reports whether values of a type may have no metadata: strings of Channel
// Access have none.
func hasNone(t sample.Type) bool { return t.Elem() == sample.String }

// bare returns the metadata of a channel whose source gives none.
func bare(info *ChannelInfo) *sample.Metadata {
	m := &sample.Metadata{Type: info.Type, Count: info.Count, Host: info.Host}
	none := math.NaN()
	m.SetLimits([8]float64{none, none, none, none, none, none, none, none})
	return m
}

// unwritten are the channels whose metadata changed and is to be written. Its lock
// is taken after a channel's.
type unwritten struct {
	mu       sync.Mutex
	channels map[*channel]struct{}
}

func (u *unwritten) add(c *channel) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.channels[c] = struct{}{}
}

// take empties it.
func (u *unwritten) take() map[*channel]struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.channels
	u.channels = map[*channel]struct{}{}
	return all
}

// writeMetadata writes the metadata that is due.
func (m *Manager) writeMetadata() {
	now := m.now()
	for c := range m.unwritten.take() {
		if !c.writeWhenDue(now) {
			m.unwritten.add(c)
		}
	}
}

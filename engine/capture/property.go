package capture

import (
	"bytes"
	"cmp"
	"slices"

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

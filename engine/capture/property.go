package capture

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// properties are the fields of a channel's record that are kept with its metadata. The
// channel's lock guards them. Only configure and close change the field all.
type properties struct {
	all []*property // sorted by name
	// base is the metadata from the source. It is nil before the source has sent any, and
	// for types that have none.
	base *sample.Metadata
	// since is the time of the first change that is not written yet, or 0.
	since int64
	// written is when the last entry was written.
	written int64
}

// property is one field of the record. It is the sink of the field's subscription.
type property struct {
	c    *channel
	name string
	sub  Subscription

	// The fields below are guarded by the channel's lock.
	typ    sample.Type // of the samples that arrive
	labels []string    // of an enumeration
	value  sample.Sample
	of     sample.Type // type of value; Unknown if there is no value yet
	never  bool        // values of its type cannot be archived
	since  int64       // when the subscription began, ns since 1970
	cause  string      // why a server that was found does not provide the property
}

// Connected implements Sink.
func (p *property) Connected(info ChannelInfo) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.typ, p.never, p.cause = info.Type, info.Type == sample.Unknown, ""
	if p.never {
		p.cause = "values of type " + info.TypeName + " cannot be archived"
	}
}

// Sample implements Sink.
func (p *property) Sample(s *sample.Sample) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.setLocked(s)
}

// setLocked sets the value, and reports whether it differs from the value before.
func (p *property) setLocked(s *sample.Sample) (differs bool) {
	head := s.Bytes[:min(len(s.Bytes), maxPropertyBytes)]
	if p.of == p.typ && p.value.Word == s.Word && bytes.Equal(p.value.Bytes, head) {
		return false
	}
	p.value.Word, p.value.Bytes, p.of = s.Word, append(p.value.Bytes[:0], head...), p.typ
	p.c.scheduleMetadataLocked()
	return true
}

// Checked implements Sink.
func (p *property) Checked(s *sample.Sample, _ time.Time) (differs bool) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return p.setLocked(s)
}

// Metadata implements Sink.
func (p *property) Metadata(m *sample.Metadata) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if !slices.Equal(p.labels, m.Labels) {
		p.labels = m.Labels
		p.c.scheduleMetadataLocked()
	}
}

// Dropped implements Sink. Only the latest value of a property counts.
func (p *property) Dropped(sample.Reason, uint64) {}

// Suspect implements Sink.
func (p *property) Suspect(time.Time, time.Time) {}

// Disconnected implements Sink. The property keeps its last known value.
func (p *property) Disconnected(cause error) {
	if cause == nil {
		return
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.cause = cause.Error()
}

// missingLocked returns the properties that have no value although the channel has been
// connected for a while.
func (c *channel) missingLocked() (missing []MissingProperty) {
	for _, p := range c.props.all {
		if c.state != Connected || p.of != sample.Unknown || c.m.now()-max(c.since, p.since) < int64(markAfter) {
			continue
		}
		m := MissingProperty{p.name, p.cause}
		if source := c.m.sources[c.filter.set.Provider]; m.Cause == "" && source != nil {
			m.Cause = source.Reach().text()
		}
		missing = append(missing, m)
	}
	return missing
}

// known reports whether all that is needed to show the value has arrived.
func (p *property) known() bool {
	return p.never || p.of != sample.Unknown && (p.of != sample.Enum || p.labels != nil)
}

// subscribeProperties subscribes to the properties of settings, and ends the other
// subscriptions. If anew is true, it replaces all subscriptions.
func (c *channel) subscribeProperties(set *Settings, anew bool) {
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
		c.props.base = nil
	case changed:
		c.scheduleMetadataLocked()
	}
}

// subscribeTo subscribes to a property if there is a source for its provider.
func (c *channel) subscribeTo(name string, provider Provider) *property {
	p := &property{c: c, name: name, sub: nothing{}, since: c.m.now()}
	if source := c.m.sources[provider]; source != nil {
		p.sub = source.Subscribe(pvname.Record(c.pv)+"."+name, SubscribeOptions{Events: EventValue}, p)
	}
	return p
}

// nothing is the subscription to a property without a source.
type nothing struct{}

// Close implements Subscription.
func (nothing) Close() {}

// unsubscribeProperties ends the subscriptions and writes metadata that was not written.
func (c *channel) unsubscribeProperties() {
	for _, p := range c.props.all {
		p.sub.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.props.since != 0 && c.completeLocked() {
		c.writeMetadataLocked(c.m.now())
	}
	c.props = properties{}
}

package capture

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/sample"
)

// Metadata is written only once all properties are known, so that a channel that connects
// causes one entry. The next entry must wait, so that a property that changes all the
// time does not fill the store.
const (
	writeEvery  = time.Second
	waitForAll  = 30 * time.Second
	waitBetween = 10 * time.Second
)

// Metadata implements Sink.
func (c *channel) Metadata(m *sample.Metadata) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setMetadataLocked(m)
}

// setMetadataLocked sets the metadata from the source.
func (c *channel) setMetadataLocked(m *sample.Metadata) {
	c.props.base = m
	c.meta = c.withPropertiesLocked()
	if len(c.props.all) == 0 {
		c.m.marks.Metadata(c.pv, c.m.now(), c.meta)
		return
	}
	c.scheduleMetadataLocked()
}

// scheduleMetadataLocked makes writeMetadata write the metadata soon.
func (c *channel) scheduleMetadataLocked() {
	if c.props.since == 0 {
		c.props.since = c.m.now()
	}
	c.m.unwritten.add(c)
}

// withPropertiesLocked returns the metadata from the source with the properties added.
func (c *channel) withPropertiesLocked() *sample.Metadata {
	if len(c.props.all) == 0 {
		return c.props.base
	}
	m := *c.props.base
	m.Properties = slices.Clone(m.Properties)
	for _, p := range c.props.all {
		if p.of != sample.Unknown {
			m.Properties = append(m.Properties, sample.Property{Name: p.name, Value: text(p.of, &p.value, p.labels)})
		}
	}
	slices.SortStableFunc(m.Properties, func(a, b sample.Property) int { return cmp.Compare(a.Name, b.Name) })
	return &m
}

// writeWhenDue writes the metadata if it is due. It reports false if it must be called
// again.
func (c *channel) writeWhenDue(now int64) (done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.props.base == nil && c.state != Connected {
		c.props.since = 0 // set again when the channel connects
	}
	since := c.props.since
	if since == 0 {
		return true
	}
	wait := waitForAll
	if c.completeLocked() {
		wait = writeEvery
	}
	if now-since < int64(wait) || c.props.written != 0 && now-c.props.written < int64(waitBetween) {
		return false
	}
	c.writeMetadataLocked(now)
	return true
}

// writeMetadataLocked writes the metadata.
func (c *channel) writeMetadataLocked(now int64) {
	if c.props.base == nil {
		c.props.base = bare(&c.info)
	}
	c.meta = c.withPropertiesLocked()
	c.m.marks.Metadata(c.pv, c.props.since, c.meta)
	c.props.since, c.props.written = 0, now
}

// completeLocked reports whether the metadata and all properties are known.
func (c *channel) completeLocked() bool {
	return (c.props.base != nil || hasNone(c.info.Type)) &&
		!slices.ContainsFunc(c.props.all, func(p *property) bool { return !p.known() })
}

// hasNone reports whether values of a type may have no metadata, as strings of Channel
// Access.
func hasNone(t sample.Type) bool { return t.Elem() == sample.String }

// bare returns the metadata of a channel whose source provides none.
func bare(info *ChannelInfo) *sample.Metadata {
	m := &sample.Metadata{Type: info.Type, Count: info.Count, Host: info.Host}
	none := math.NaN()
	m.SetLimits([8]float64{none, none, none, none, none, none, none, none})
	return m
}

// channelSet is a set of channels that need attention. Its lock is taken after a channel's lock.
type channelSet struct {
	mu       sync.Mutex
	channels map[*channel]struct{}
}

func (u *channelSet) add(c *channel) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.channels[c] = struct{}{}
}

// takeAll empties the set and returns its channels.
func (u *channelSet) takeAll() map[*channel]struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.channels
	u.channels = map[*channel]struct{}{}
	return all
}

// writeMetadata writes the metadata that is due.
func (m *Manager) writeMetadata() {
	now := m.now()
	for c := range m.unwritten.takeAll() {
		if !c.writeWhenDue(now) {
			m.unwritten.add(c)
		}
	}
}

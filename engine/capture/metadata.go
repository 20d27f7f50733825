package capture

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/sample"
)

// Metadata waits to be written until all properties are known, so that a channel
// that connects gives one entry; and after an entry, so that a property that
// changes all the time does not fill the store.
const (
	writeEvery  = time.Second
	waitForAll  = 30 * time.Second
	waitBetween = 10 * time.Second
)

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

package capture

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/engine/condition"
	"varve.dev/varve/engine/pvname"
)

// conditions holds the watched PVs of a manager. A goroutine opens and closes the gates, because a sink must not wait
// until all channels of a gate are notified.
type conditions struct {
	m *Manager

	mu      sync.Mutex
	watched map[string]*watched // by name, prefixed with the provider
	open    map[*gate]struct{}  // all gates

	changed chan struct{}
	stop    chan struct{} // closed by close
	once    sync.Once
	ended   sync.WaitGroup
}

func newConditions(m *Manager) *conditions {
	c := &conditions{
		m: m, watched: map[string]*watched{}, open: map[*gate]struct{}{},
		changed: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	c.ended.Go(c.run)
	return c
}

// wake makes the goroutine check the gates.
func (c *conditions) wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// close ends the goroutine, and waits for it.
func (c *conditions) close() {
	c.once.Do(func() { close(c.stop) })
	c.ended.Wait()
}

// run opens and closes gates until close is called.
func (c *conditions) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-c.changed:
		case <-timer.C:
		}
		if wait := c.pass(); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// pass opens and closes gates, and notifies their channels. It returns how long the next gate waits, or 0.
func (c *conditions) pass() (next time.Duration) {
	now := c.m.instant().Monotonic
	c.mu.Lock()
	told := map[*channel]*gate{}
	for g := range c.open {
		changed, wait := g.step(now)
		if wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
		if changed {
			for ch := range g.channels {
				told[ch] = g
			}
		}
	}
	c.mu.Unlock()
	for ch, g := range told {
		ch.applyGate(g)
	}
	return next
}

// look returns whether a gate is closed, and the text of the mark Disabled.
func (c *conditions) look(g *gate) (closed bool, mark string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return g.closed, g.mark()
}

// explain explains to users whether a gate enables its channels.
func (c *conditions) explain(g *gate) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return g.state()
}

// join returns the gate of a channel, and subscribes to its PV if no other channel has done so. The caller holds
// Manager.apply, and no lock of a channel. It returns nil if the settings have no valid condition.
func (c *conditions) join(ch *channel, set *Settings) *gate {
	name, when, _ := strings.Cut(set.EnabledBy, " ")
	test, err := condition.Parse(when)
	if err != nil {
		c.m.log.Error("a channel is captured without its condition, which cannot be parsed", "pv", ch.pv, "err", err)
		return nil
	}
	c.mu.Lock()
	w, known := c.watched[name]
	if !known {
		w = &watched{all: c, pv: pvname.Canonical(name), provider: providerOf(name), gates: map[string]*gate{}}
		c.watched[name] = w
	}
	g := w.gates[when]
	if g == nil {
		at := c.m.instant()
		g = &gate{of: w, when: when, test: test, channels: map[*channel]struct{}{}, since: at}
		w.gates[when], c.open[g] = g, struct{}{}
		w.update(at)
		g.met = false
		g.step(at.Monotonic)
	}
	g.channels[ch] = struct{}{}
	c.mu.Unlock()
	if source := c.m.sources[w.provider]; !known && source != nil {
		w.sub = source.Subscribe(w.pv, SubscribeOptions{Events: EventValue | EventAlarm}, w)
	} else if source == nil {
		w.Disconnected(fmt.Errorf("this engine has no client for provider %v", w.provider))
	}
	return g
}

// providerOf returns the provider with which a name is prefixed.
func providerOf(name string) Provider {
	if pvname.Scheme(name) == PVA.String() {
		return PVA
	}
	return CA
}

// leave removes a channel from its gate, and ends the subscription if no channel depends on the PV any more.
// The caller holds Manager.apply, and no lock of a channel.
func (c *conditions) leave(ch *channel, g *gate) {
	c.mu.Lock()
	w := g.of
	delete(g.channels, ch)
	if len(g.channels) == 0 {
		delete(w.gates, g.when)
		delete(c.open, g)
	}
	unused := len(w.gates) == 0
	if unused {
		for key, other := range c.watched {
			if other == w {
				delete(c.watched, key)
			}
		}
	}
	c.mu.Unlock()
	if unused && w.sub != nil {
		w.sub.Close()
	}
}

// unknown counts the watched PVs without a value that conditions can be compared with.
func (c *conditions) unknown() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watched {
		for _, g := range w.gates {
			if g.result == condition.Unknown {
				n++
				break
			}
		}
	}
	return n
}

package overview

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/absence"
	"varve.dev/varve/engine/store"
)

const (
	// freshFor is how long a census, a state of the engines or of the store is used again, and
	// restFactor how many times longer than it took to make it.
	freshFor   = 2 * time.Second
	restFactor = 10
	// maxWorst is the number of channels with problems that a census keeps of each group.
	maxWorst = 20
)

// counts are the channels of a group, or of all groups.
type counts struct {
	Channels int            `json:"channels"`
	States   map[string]int `json:"states"`
	// Silent channels are connected, but had no value since.
	Silent  int               `json:"silent"`
	Rate    float64           `json:"samplesPerSecond"`
	Dropped map[string]uint64 `json:"dropped,omitempty"` // since engines started, by reason; only losses
	Worst   []worst           `json:"worst,omitempty"`

	dropped [sample.NumReasons]uint64
	byTier  [store.NumTiers]float64 // kept samples/s
	pvs     [store.NumTiers][]string
}

// worst is a channel with a problem.
type worst struct {
	PV    string `json:"pv"`
	State string `json:"state"`
	Since string `json:"since,omitempty"`
	Cause string `json:"cause"`
	Text  string `json:"text,omitempty"`

	since int64
}

// census counts the channels of an archive at a time.
type census struct {
	at      time.Time
	total   counts
	groups  map[string]*counts
	missing string         // why channels are missing
	losing  map[string]int // PVs that lost samples since their engine started
}

// add counts a channel.
func (m *counts) add(s *capture.Status) {
	if m.States == nil {
		m.States = map[string]int{}
	}
	m.Channels++
	m.States[s.State.String()]++
	m.Rate += s.Rate
	if s.Silent {
		m.Silent++
	}
	for r, n := range s.Dropped {
		m.dropped[r] += n
	}
	wanted := s.State == capture.Connected || s.State == capture.Paused || s.State == capture.Disabled
	if !wanted || s.Silent {
		m.addWorst(s)
	}
}

// addWorst keeps the channels that have had a problem for the longest time.
func (m *counts) addWorst(s *capture.Status) {
	w := worst{PV: s.PV, State: s.State.String(), since: s.Since}
	at, _ := slices.BinarySearchFunc(m.Worst, w, func(a, b worst) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.PV, b.PV)) })
	if at == maxWorst {
		return
	}
	c := absence.OfStatus(s)
	w.Cause, w.Text = c.Kind, c.Text
	if s.Since != 0 {
		w.Since = clock(s.Since)
	}
	m.Worst = slices.Insert(m.Worst, at, w)
	m.Worst = m.Worst[:min(len(m.Worst), maxWorst)]
}

// maxMeasured is how many PVs of each tier a census proposes for measuring their stored size.
const maxMeasured = 16

// addTier adds the samples that a channel stores to the tier of its raw samples.
func (m *counts) addTier(s *capture.Status) {
	tier := s.Retention.Raw
	if s.Received == 0 || s.Rate <= 0 || !tier.Valid() {
		return
	}
	m.byTier[tier] += s.Rate * float64(s.Stored) / float64(s.Received)
	if len(m.pvs[tier]) < maxMeasured {
		m.pvs[tier] = append(m.pvs[tier], s.PV)
	}
}

// losses returns the samples that were lost, by reason.
func (m *counts) losses() map[string]uint64 {
	by := map[string]uint64{}
	for r, n := range m.dropped {
		if n > 0 && sample.Reason(r).Loss() {
			by[sample.Reason(r).String()] = n
		}
	}
	return by
}

// takeCensus counts all channels.
func (h *Handler) takeCensus(ctx context.Context) *census {
	c := &census{at: h.now(), groups: map[string]*counts{}, total: counts{States: map[string]int{}}, losing: map[string]int{}}
	for s, err := range h.channels.Statuses(ctx) {
		if err != nil {
			c.missing = err.Error()
			continue
		}
		g := c.groups[s.Group]
		if g == nil {
			g = &counts{}
			c.groups[s.Group] = g
		}
		g.add(&s)
		c.total.add(&s)
		c.total.addTier(&s)
		for r, n := range s.Dropped {
			if n > 0 && sample.Reason(r).Loss() && len(c.losing) < maxLosing {
				c.losing[s.PV]++
			}
		}
	}
	for _, g := range c.groups {
		g.Dropped = g.losses()
	}
	c.total.Dropped, c.total.Worst = c.total.losses(), nil
	return c
}

// maxLosing bounds the PVs of which a census knows that they lost samples.
const maxLosing = 100_000

// cache keeps the last result of an operation that costs much, for all clients. Only one client at a
// time makes a new result; the others wait for it.
type cache[T any] struct {
	turn  chan struct{} // holds one token while nobody makes a result
	mu    sync.Mutex
	last  T
	made  bool
	least time.Duration // how long a result is used at least
	until time.Time
}

// newCache returns a cache whose results are used again for at least a time.
func newCache[T any](least time.Duration) *cache[T] {
	c := &cache[T]{turn: make(chan struct{}, 1), least: least}
	c.turn <- struct{}{}
	return c
}

// get returns the last result, or makes a new one if it is too old. It returns an error only if ctx
// ends. produce gets a context that outlives the client, because others wait for the result; limit bounds
// its time.
func (c *cache[T]) get(ctx context.Context, now func() time.Time, limit time.Duration, produce func(context.Context) T) (T, error) {
	if v, fresh := c.fresh(now()); fresh {
		return v, nil
	}
	select {
	case <-c.turn:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { c.turn <- struct{}{} }()
	begun := now()
	if v, fresh := c.fresh(begun); fresh {
		return v, nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	v := produce(bounded)
	ended := now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.made, c.until = v, true, ended.Add(max(c.least, restFactor*ended.Sub(begun)))
	return v, nil
}

func (c *cache[T]) fresh(now time.Time) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.made && now.Before(c.until)
}

package capture

import (
	"cmp"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Marks takes marks and metadata. It must not block. mark.Log implements it.
type Marks interface {
	Add(pv string, m sample.Mark)
	Metadata(pv string, at int64, m *sample.Metadata)
}

// Config configures a Manager.
type Config struct {
	Sources Sources
	// ShardJournal returns the journal of a shard. It returns the same one for as long as
	// assignments list the shard.
	ShardJournal func(shard int) *journal.ShardJournal
	Marks        Marks
	// Now returns the engine's time; nil means that the clock of the machine is right.
	Now func() clock.Instant
	// Heard is called every few seconds with the latest times that IOCs sent. It may be nil.
	Heard      func([]clock.Heard)
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Manager captures the channels of an assignment.
type Manager struct {
	sources      Sources
	shardJournal func(int) *journal.ShardJournal
	marks        Marks
	instant      func() clock.Instant
	heard        func([]clock.Heard)
	log          *slog.Logger

	apply sync.Mutex // held by all that subscribe and unsubscribe

	mu       sync.RWMutex
	channels map[string]*channel
	shards   map[int]map[*channel]struct{}
	gone     Totals // of removed channels
	version  uint64 // changes when channels does
	used     [NumProviders]bool

	conditions *conditions
	repeated   []*channel // the channels with a MaxPeriod, in a fixed order; guarded by mu
	nextRepeat int        // where the next pass over repeated begins; only repeatValues uses it

	unwritten channelSet // their metadata has changed
	doubts    channelSet

	scans, reports, repeats clocks
}

// reportEvery is how often rates are computed and losses are marked.
const reportEvery = 10 * time.Second

// NewManager returns a Manager that captures nothing yet.
func NewManager(cfg Config) *Manager {
	m := &Manager{
		sources: cfg.Sources, shardJournal: cfg.ShardJournal, marks: cfg.Marks, instant: cfg.Now, heard: cfg.Heard, log: cfg.Log,
		channels: map[string]*channel{}, shards: map[int]map[*channel]struct{}{},
	}
	m.unwritten.channels, m.doubts.channels = map[*channel]struct{}{}, map[*channel]struct{}{}
	if m.instant == nil {
		m.instant = clock.New(clock.Config{}).Now
	}
	m.scans.now, m.reports.now, m.repeats.now = m.now, m.now, m.now
	m.conditions = newConditions(m)
	cfg.Registerer.MustRegister(collector{m})
	m.reports.every(reportEvery, 0, func(int64) { m.report() })
	m.reports.every(writeEvery, 0, func(int64) { m.writeMetadata(); m.pursueDoubts() })
	return m
}

// Ended describes a channel whose capture ended.
type Ended struct {
	PV, Group string
	Shard     int
	Time      int64 // ns since 1970, for a mark; samples that arrived later were not captured
}

// now returns the engine's time in ns since 1970.
func (m *Manager) now() int64 { return m.instant().Now }

// moment returns the instant at which time.Now returned t.
func (m *Manager) moment(t time.Time) clock.Instant { return clock.Moment(m.instant, t) }

// Apply captures exactly the channels of an assignment. It starts, changes and ends the
// capture of single channels, and leaves all others alone. It returns the channels whose
// capture it ended.
func (m *Manager) Apply(a Assignment) (ended []Ended) {
	m.apply.Lock()
	defer m.apply.Unlock()
	wanted := make(map[string]bool)
	var used [NumProviders]bool
	periods := map[time.Duration]bool{}
	for _, shard := range slices.Sorted(maps.Keys(a)) {
		for _, ch := range a[shard] {
			wanted[ch.PV] = true
			m.addOrChange(shard, ch)
			used[ch.Settings.Provider] = true
			if ch.Settings.EnabledBy != "" && !ch.Settings.Paused {
				used[providerOf(ch.Settings.EnabledBy)] = true
			}
			if ch.Settings.Mode == Scan {
				periods[ch.Settings.Period] = true
			}
		}
	}
	for _, c := range m.snapshot() {
		if !wanted[c.pv] {
			ended = append(ended, m.remove(c))
		}
	}
	m.schedule(periods)
	repeated := m.repeating()
	m.mu.Lock()
	m.used, m.repeated = used, repeated
	m.mu.Unlock()
	m.scheduleRepeats(len(repeated) > 0)
	return ended
}

// Problems says why searches for captured channels may not reach all servers.
func (m *Manager) Problems() (problems []string) {
	m.mu.RLock()
	used := m.used
	m.mu.RUnlock()
	for p, source := range m.sources {
		if !used[p] || source == nil {
			continue
		}
		if r := source.Reach(); r.Problem != "" {
			problems = append(problems, r.Problem)
		}
	}
	return problems
}

// schedule runs a clock for each scan period.
func (m *Manager) schedule(periods map[time.Duration]bool) {
	for p := range periods {
		delay := min(p/10, 500*time.Millisecond) // updates of the slot may still arrive
		m.scans.every(p, delay, func(end int64) { m.tick(p, end) })
	}
	m.scans.keep(periods)
}

func (m *Manager) tick(period time.Duration, end int64) {
	for _, c := range m.snapshot() {
		if c.period() == period {
			c.tick(end)
		}
	}
}

// addOrChange starts or changes the capture of a channel.
func (m *Manager) addOrChange(shard int, ch Channel) {
	m.mu.Lock()
	c := m.channels[ch.PV]
	if c == nil {
		c = &channel{pv: ch.PV, m: m, journal: m.shardJournal(shard), filter: filter{set: ch.Settings}, group: ch.Group}
		m.channels[ch.PV] = c
		m.version++
		m.enterShardLocked(shard, c)
	} else if c.shard != shard {
		m.leaveShardLocked(c)
		m.enterShardLocked(shard, c)
	}
	m.mu.Unlock()
	c.moveTo(m.shardJournal(shard))
	c.configure(ch)
}

// enterShardLocked adds a channel to a shard.
func (m *Manager) enterShardLocked(shard int, c *channel) {
	if m.shards[shard] == nil {
		m.shards[shard] = map[*channel]struct{}{}
	}
	m.shards[shard][c] = struct{}{}
	c.shard = shard
}

// leaveShardLocked removes a channel from its shard.
func (m *Manager) leaveShardLocked(c *channel) {
	delete(m.shards[c.shard], c)
	if len(m.shards[c.shard]) == 0 {
		delete(m.shards, c.shard)
	}
}

// remove ends the capture of a channel.
func (m *Manager) remove(c *channel) Ended {
	c.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone.add(c)
	delete(m.channels, c.pv)
	m.version++
	m.leaveShardLocked(c)
	now := m.instant()
	return Ended{PV: c.pv, Group: c.group, Shard: c.shard, Time: c.afterMarksLocked(now, now.Begin)}
}

// InShard returns the PVs that are captured in a shard.
func (m *Manager) InShard(shard int) (pvs []string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for c := range m.shards[shard] {
		pvs = append(pvs, c.pv)
	}
	return pvs
}

// ShardStatus sums up the channels of a shard.
type ShardStatus struct {
	Channels int
	States   [NumStates]int
	// SteadilyConnected and Unreachable count the channels that have been connected, or
	// not connected, for at least SteadyAfter. Paused channels count as neither.
	SteadilyConnected, Unreachable int
	// Rate is the number of samples received per second, smoothed. BytesPerSecond is the
	// rate of their bytes; all samples of a channel count with the size of its latest
	// value.
	Rate, BytesPerSecond float64
}

// SteadyAfter is how long a channel must have been connected, or not connected, to count
// in ShardStatus.SteadilyConnected or Unreachable. It is longer than two engines may take
// to report a change.
const SteadyAfter = 30 * time.Second

// ShardStatus sums up the channels that are captured in a shard.
func (m *Manager) ShardStatus(shard int) (s ShardStatus) {
	m.mu.RLock()
	channels := slices.Collect(maps.Keys(m.shards[shard]))
	m.mu.RUnlock()
	s.Channels = len(channels)
	steady := m.instant().Monotonic - SteadyAfter
	for _, c := range channels {
		c.mu.Lock()
		s.States[c.state]++
		switch {
		case c.changed > steady || c.state == Paused:
		case c.state == Connected || c.state == Unsupported:
			s.SteadilyConnected++
		default:
			s.Unreachable++
		}
		rate := c.rateLocked()
		s.Rate += rate
		s.BytesPerSecond += rate * float64(c.filter.size())
		c.mu.Unlock()
	}
	return s
}

// Shard returns the shard of a PV that is captured.
func (m *Manager) Shard(pv string) (shard int, captured bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := m.channels[pv]
	if c == nil {
		return 0, false
	}
	return c.shard, true
}

// ConnectedSince returns the time since which a PV has been connected without interruption, and since
// which its samples have also gone to its present shard, in ns since 1970. Both are 0 if the PV is not
// connected or not captured. If the clock may be wrong, they are the latest times that they may have
// been, by what is known now: samples from before may be missing.
func (m *Manager) ConnectedSince(pv string) (connected, inShard int64) {
	m.mu.RLock()
	c := m.channels[pv]
	m.mu.RUnlock()
	if c == nil {
		return 0, 0
	}
	at := m.instant()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Connected {
		return 0, 0
	}
	since := func(t time.Duration) int64 { return at.Ago(at.Monotonic - t).End }
	return since(c.changed), since(max(c.changed, c.moved))
}

// FirstConnected returns when a PV connected for the first time since this engine began to capture it, in ns
// since 1970, or 0 if it has not connected or is not captured. If the clock may be wrong, it is the latest time
// that it may have been.
func (m *Manager) FirstConnected(pv string) int64 {
	m.mu.RLock()
	c := m.channels[pv]
	m.mu.RUnlock()
	if c == nil {
		return 0
	}
	at := m.instant()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == 0 {
		return 0
	}
	return at.Ago(at.Monotonic - c.first).End
}

// Retention returns how long the samples of a PV are kept, and false if the PV is not
// captured.
func (m *Manager) Retention(pv string) (r store.Retention, captured bool) {
	m.mu.RLock()
	c := m.channels[pv]
	m.mu.RUnlock()
	if c == nil {
		return r, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.filter.set.Retention, true
}

// Expired counts samples of a PV that were stored in the journal but are too old to be
// kept in blocks.
func (m *Manager) Expired(pv string, n int) {
	m.mu.RLock()
	c := m.channels[pv]
	m.mu.RUnlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.drop(sample.Expired, uint64(n), m.instant())
}

// Names yields the captured PVs, in no particular order.
func (m *Manager) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, c := range m.snapshot() {
			if !yield(c.pv) {
				return
			}
		}
	}
}

// Captures reports whether a PV is captured.
func (m *Manager) Captures(pv string) bool {
	_, captured := m.Shard(pv)
	return captured
}

// NamesVersion returns another number after each change of the set of captured PVs.
func (m *Manager) NamesVersion() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.version
}

// Status returns a snapshot of a channel.
func (m *Manager) Status(pv string) (Status, bool) {
	m.mu.RLock()
	c := m.channels[pv]
	m.mu.RUnlock()
	if c == nil {
		return Status{}, false
	}
	return c.status(), true
}

// Statuses yields snapshots of all channels, sorted by name.
func (m *Manager) Statuses() iter.Seq[Status] {
	return func(yield func(Status) bool) {
		channels := m.snapshot()
		slices.SortFunc(channels, func(a, b *channel) int { return cmp.Compare(a.pv, b.pv) })
		for _, c := range channels {
			if !yield(c.status()) {
				return
			}
		}
	}
}

// Close ends the capture of all channels. Their samples stay in the shard journals. It returns
// the channels that were not paused.
func (m *Manager) Close() (ended []Ended) {
	m.apply.Lock()
	defer m.apply.Unlock()
	m.scans.keep(nil)
	m.reports.keep(nil)
	m.repeats.keep(nil)
	m.report()
	m.conditions.close()
	for _, c := range m.snapshot() {
		if e := m.remove(c); c.state != Paused {
			ended = append(ended, e)
		}
	}
	return ended
}

func (m *Manager) snapshot() []*channel {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Values(m.channels))
}

// maxAbsences is the maximum number of marks per report about channels that do not connect. The
// others wait for the next report. So the queue of marks has room if no IOC of many is found.
const maxAbsences = 5000

func (m *Manager) report() {
	left := maxAbsences
	var heard []clock.Heard
	for _, c := range m.snapshot() {
		h, marked := c.report(left > 0)
		if marked {
			left--
		}
		if h.Time != 0 && m.heard != nil {
			heard = append(heard, h)
		}
	}
	if m.heard != nil {
		m.heard(heard)
	}
}

package capture

import (
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
)

// Totals sums up all channels, including removed ones.
type Totals struct {
	Channels  int
	States    [NumStates]int
	Received  uint64
	Dropped   [sample.NumReasons]uint64
	Suspected uint64 // times that an IOC may have dropped updates without reporting it
	// WithinDeadband counts the values without an update that a deadband of the record explains.
	WithinDeadband uint64
	LostLinks      uint64
	// UnknownConditions counts the PVs that enable channels, and whose value cannot be compared.
	UnknownConditions int
	// MissedRepeats counts the intervals of MaxPeriod without a sample.
	MissedRepeats uint64
	// Properties counts the fields of records with subscriptions besides the channels.
	Properties int
}

// add adds the counts of a channel.
func (t *Totals) add(c *channel) {
	t.Received += c.received
	t.LostLinks += c.losses
	t.Suspected += c.ledger.suspected
	t.WithinDeadband += c.ledger.withinDeadband
	t.MissedRepeats += c.repeats.missed
	for r, n := range c.ledger.dropped {
		t.Dropped[r] += n
	}
}

// Totals sums up all channels, so its cost grows with their number. The journal counts
// samples dropped for lack of memory.
func (m *Manager) Totals() Totals {
	m.mu.RLock()
	t := m.gone
	m.mu.RUnlock()
	t.UnknownConditions = m.conditions.unknown()
	for _, c := range m.snapshot() {
		c.mu.Lock()
		t.Channels++
		t.States[c.shownStateLocked()]++
		t.Properties += len(c.props.all)
		t.add(c)
		c.mu.Unlock()
	}
	return t
}

// collector computes the metrics of a manager when they are scraped, so that counting
// costs nothing per sample.
type collector struct{ m *Manager }

var (
	descReceived = prometheus.NewDesc("varve_capture_received_total", "Samples received from IOCs.", nil, nil)
	descDropped  = prometheus.NewDesc("varve_capture_dropped_total",
		"Samples received and not stored, by reason.", []string{"reason"}, nil)
	descSuspected = prometheus.NewDesc("varve_capture_suspected_total",
		"Times that updates of a channel may have been lost unseen: the connection stalled, or a value changed without an update.", nil, nil)
	descWithin = prometheus.NewDesc("varve_capture_within_deadband_total",
		"Times that a channel's value changed without an update, but within the record's own deadband (MDEL, ADEL), so that nothing was lost.", nil, nil)
	descChannels   = prometheus.NewDesc("varve_capture_channels", "Channels by state.", []string{"state"}, nil)
	descProperties = prometheus.NewDesc("varve_capture_properties",
		"Fields of records that are subscribed to for metadata, besides the channels.", nil, nil)
	descUnknown = prometheus.NewDesc("varve_capture_unknown_conditions",
		"PVs that enable other PVs (enabledBy) and have no value to compare: they are not connected, or undefined. Meanwhile the other PVs are captured.", nil, nil)
	descMissed = prometheus.NewDesc("varve_capture_missed_repeats_total",
		"Intervals of maxPeriod without a sample although the PV was connected: its IOC did not answer in time, or would have got too many reads.", nil, nil)
	descProblems = prometheus.NewDesc("varve_capture_search_problems",
		"Protocols whose searches may not reach all servers: no addresses, or host names that cannot be resolved. /readyz says which.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- descReceived
	ch <- descDropped
	ch <- descSuspected
	ch <- descWithin
	ch <- descChannels
	ch <- descProperties
	ch <- descUnknown
	ch <- descMissed
	ch <- descProblems
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	t := c.m.Totals()
	ch <- prometheus.MustNewConstMetric(descReceived, prometheus.CounterValue, float64(t.Received))
	for r, n := range t.Dropped {
		ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(n), sample.Reason(r).String())
	}
	ch <- prometheus.MustNewConstMetric(descSuspected, prometheus.CounterValue, float64(t.Suspected))
	ch <- prometheus.MustNewConstMetric(descWithin, prometheus.CounterValue, float64(t.WithinDeadband))
	ch <- prometheus.MustNewConstMetric(descProperties, prometheus.GaugeValue, float64(t.Properties))
	ch <- prometheus.MustNewConstMetric(descUnknown, prometheus.GaugeValue, float64(t.UnknownConditions))
	ch <- prometheus.MustNewConstMetric(descMissed, prometheus.CounterValue, float64(t.MissedRepeats))
	ch <- prometheus.MustNewConstMetric(descProblems, prometheus.GaugeValue, float64(len(c.m.Problems())))
	for s, n := range t.States {
		ch <- prometheus.MustNewConstMetric(descChannels, prometheus.GaugeValue, float64(n), State(s).String())
	}
}

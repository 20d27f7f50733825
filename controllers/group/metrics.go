package group

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
)

// channels is the metric of groups. The label group is NAMESPACE/NAME. There is no label namespace, because
// Prometheus would interpret it as the operator's own namespace.
var channels = prometheus.NewDesc("varve_operator_group_channels",
	"Channels of an ArchiveGroup by state, as in its status. silent: connected channels without a value.", []string{"group", "state"}, nil)

// groupMetrics holds the counts of each group from its last reconciliation. It is a prometheus.Collector. Its
// zero value is ready to use, and it is safe for concurrent use.
type groupMetrics struct {
	mu     sync.Mutex
	groups map[types.NamespacedName]v1alpha1.ChannelCounts
}

// observe replaces the counts of a group. They are nil if there are none.
func (m *groupMetrics) observe(group types.NamespacedName, counts *v1alpha1.ChannelCounts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if counts == nil {
		delete(m.groups, group)
		return
	}
	if m.groups == nil {
		m.groups = map[types.NamespacedName]v1alpha1.ChannelCounts{}
	}
	m.groups[group] = *counts
}

// forget drops a group that no longer exists.
func (m *groupMetrics) forget(group types.NamespacedName) { m.observe(group, nil) }

// Describe implements prometheus.Collector.
func (m *groupMetrics) Describe(to chan<- *prometheus.Desc) { to <- channels }

// Collect implements prometheus.Collector.
func (m *groupMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for group, c := range m.groups {
		for state, n := range map[string]int32{
			"connected": c.Connected, "disconnected": c.Disconnected, "never_connected": c.NeverConnected,
			"silent": c.Silent, "paused": c.Paused, "disabled": c.Disabled,
		} {
			to <- prometheus.MustNewConstMetric(channels, prometheus.GaugeValue, float64(n), group.String(), state)
		}
	}
}

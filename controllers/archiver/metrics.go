package archiver

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/fleet"
)

// These are the metrics of Archivers. The label archiver is NAMESPACE/NAME. There is no label
// namespace, because Prometheus would interpret it as the operator's own namespace.
var (
	samplesPerSecond = prometheus.NewDesc("varve_operator_archiver_samples_per_second",
		"Samples per second that the engines of an Archiver capture. A PV that two engines capture counts twice.", []string{"archiver"}, nil)
	shardsByPhase = prometheus.NewDesc("varve_operator_archiver_shards",
		"Shards by the phase of their engines; a shard with two engines counts for both. Moving: shards that move between two living engines. Unplaced: shards that have channels but no engine.",
		[]string{"archiver", "phase"}, nil)
	conditions = prometheus.NewDesc("varve_operator_archiver_condition",
		"Conditions in the status of an Archiver: 1 if the condition is True, otherwise 0.", []string{"archiver", "condition", "reason"}, nil)
)

// archiverMetrics holds the figures of each Archiver from its last reconciliation. It is a
// prometheus.Collector. Its zero value is ready to use, and it is safe for concurrent use.
type archiverMetrics struct {
	mu        sync.Mutex
	archivers map[types.NamespacedName]archiverFigures
}

// archiverFigures are the figures of one Archiver.
type archiverFigures struct {
	samples      float64 // per second
	samplesKnown bool
	phases       map[string]int
	conditions   []metav1.Condition
}

// observe replaces the figures of an Archiver. The rate does not change while an engine does
// not report, so that an autoscaler does not mistake a missing report for idleness.
func (m *archiverMetrics) observe(archiver types.NamespacedName, in *archiverstatus.Input, conditions []metav1.Condition) {
	samples, known := samplesOf(in.Fleet)
	figures := archiverFigures{samples, known && in.Synced, phasesOf(in.Shards), conditions}
	figures.phases["Moving"], figures.phases["Unplaced"] = in.Moving, in.Unplaced
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.archivers == nil {
		m.archivers = map[types.NamespacedName]archiverFigures{}
	}
	if old := m.archivers[archiver]; !figures.samplesKnown {
		figures.samples, figures.samplesKnown = old.samples, old.samplesKnown
	}
	m.archivers[archiver] = figures
}

// forget drops an Archiver that no longer exists.
func (m *archiverMetrics) forget(archiver types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.archivers, archiver)
}

// samplesOf adds up the rates of all engines. known is false if a ready engine does not
// report.
func samplesOf(engines []fleet.Engine) (perSecond float64, known bool) {
	for i := range engines {
		e := &engines[i]
		if e.Report == nil {
			if e.Ready && !e.Dead {
				return 0, false
			}
			continue
		}
		for _, s := range e.Report.Shards {
			if s.Phase == string(v1alpha1.Capturing) {
				perSecond += s.SamplesPerSecond
			}
		}
	}
	return perSecond, true
}

// phasesOf counts the answers of engines by phase. It ignores engines that the shard does not
// name.
func phasesOf(shards []v1alpha1.ArchiveShard) map[string]int {
	n := map[string]int{string(v1alpha1.Joining): 0, string(v1alpha1.Capturing): 0, string(v1alpha1.Draining): 0}
	for i := range shards {
		s := &shards[i]
		if s.Status == nil {
			continue
		}
		for _, answer := range s.Status.Engines {
			_, counts := n[string(answer.Phase)]
			named := slices.ContainsFunc(s.Spec.Engines, func(e v1alpha1.ShardEngine) bool { return e.Name == answer.Name })
			if counts && named {
				n[string(answer.Phase)]++
			}
		}
	}
	return n
}

// Describe implements prometheus.Collector.
func (m *archiverMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- samplesPerSecond
	to <- shardsByPhase
	to <- conditions
}

// Collect implements prometheus.Collector.
func (m *archiverMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for archiver, f := range m.archivers {
		if f.samplesKnown {
			to <- prometheus.MustNewConstMetric(samplesPerSecond, prometheus.GaugeValue, f.samples, archiver.String())
		}
		for phase, n := range f.phases {
			to <- prometheus.MustNewConstMetric(shardsByPhase, prometheus.GaugeValue, float64(n), archiver.String(), phase)
		}
		for _, c := range f.conditions {
			holds := 0.0
			if c.Status == metav1.ConditionTrue {
				holds = 1
			}
			to <- prometheus.MustNewConstMetric(conditions, prometheus.GaugeValue, holds, archiver.String(), c.Type, c.Reason)
		}
	}
}

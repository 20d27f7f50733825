package archiver

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/fleet"
)

// Metrics of Archivers. The label archiver is NAMESPACE/NAME: a label namespace would
// be taken for that of the operator.
var (
	samplesPerSecond = prometheus.NewDesc("varve_operator_archiver_samples_per_second",
		"Samples per second that the engines of an Archiver take, twice where two capture a PV.", []string{"archiver"}, nil)
	shardsByPhase = prometheus.NewDesc("varve_operator_archiver_shards",
		"Shards by what their engines do; one between two engines counts for both. Moving: between living engines; Unplaced: with channels and without an engine.",
		[]string{"archiver", "phase"}, nil)
)

// archiverMetrics are figures of Archivers, as of when they were reconciled. It is a
// prometheus.Collector, safe for concurrent use; its zero value is ready to use.
type archiverMetrics struct {
	mu sync.Mutex
	of map[types.NamespacedName]archiverFigures
}

type archiverFigures struct {
	samples float64
	known   bool // samples are
	phases  map[string]int
}

// observe replaces the figures of an Archiver. Its rate stays as it was while an engine
// does not report: who scales by it must not take that for idleness.
func (m *archiverMetrics) observe(archiver types.NamespacedName, in *archiverstatus.Input) {
	samples, known := samplesOf(in.Fleet)
	figures := archiverFigures{samples, known && in.Settled, phasesOf(in.Shards)}
	figures.phases["Moving"], figures.phases["Unplaced"] = in.Moving, in.Unplaced
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]archiverFigures{}
	}
	if old := m.of[archiver]; !figures.known {
		figures.samples, figures.known = old.samples, old.known
	}
	m.of[archiver] = figures
}

func (m *archiverMetrics) forget(archiver types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, archiver)
}

// samplesOf adds up what engines capture, if all of them report that can.
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

// phasesOf counts what engines answer that are named in shards.
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
}

// Collect implements prometheus.Collector.
func (m *archiverMetrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for archiver, f := range m.of {
		if f.known {
			to <- prometheus.MustNewConstMetric(samplesPerSecond, prometheus.GaugeValue, f.samples, archiver.String())
		}
		for phase, n := range f.phases {
			to <- prometheus.MustNewConstMetric(shardsByPhase, prometheus.GaugeValue, float64(n), archiver.String(), phase)
		}
	}
}

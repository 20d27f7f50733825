package archiver

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/fleet"
)

// TestArchiverMetrics checks the figures by which an autoscaler may scale an Archiver. The
// total rate of all engines must not drop because one engine does not answer.
func TestArchiverMetrics(t *testing.T) {
	var m archiverMetrics
	registry := prometheus.NewRegistry()
	registry.MustRegister(&m)
	gathered := func() map[string]float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, f := range families {
			for _, s := range f.GetMetric() {
				name := f.GetName()
				for _, l := range s.GetLabel() {
					name += " " + l.GetValue()
				}
				out[name] = s.GetGauge().GetValue()
			}
		}
		return out
	}
	reporting := func(name string, phase v1alpha1.ShardPhase, rate float64) fleet.Engine {
		return fleet.Engine{Name: name, Ready: true, Report: &report.Report{Shards: []report.Shard{{Phase: string(phase), SamplesPerSecond: rate}}}}
	}
	main := types.NamespacedName{Namespace: "lab", Name: "main"}
	in := archiverstatus.Input{
		Synced: true, Moving: 1, Unplaced: 2,
		Fleet: []fleet.Engine{
			reporting("a", v1alpha1.Capturing, 1000), reporting("b", v1alpha1.Capturing, 500), reporting("c", v1alpha1.Joining, 70), {Name: "starting"},
		},
		Shards: []v1alpha1.ArchiveShard{{
			Spec: v1alpha1.ArchiveShardSpec{Engines: []v1alpha1.ShardEngine{{Name: "a"}, {Name: "b"}}},
			Status: &v1alpha1.ArchiveShardStatus{Engines: []v1alpha1.ShardEngineStatus{
				{Name: "a", Phase: v1alpha1.Capturing}, {Name: "b", Phase: v1alpha1.Joining}, {Name: "gone", Phase: v1alpha1.Capturing},
			}},
		}, {}},
	}
	want := map[string]float64{
		"varve_operator_archiver_samples_per_second lab/main": 1500,
		"varve_operator_archiver_shards lab/main Joining":     1,
		"varve_operator_archiver_shards lab/main Capturing":   1,
		"varve_operator_archiver_shards lab/main Draining":    0,
		"varve_operator_archiver_shards lab/main Moving":      1,
		"varve_operator_archiver_shards lab/main Unplaced":    2,
	}
	m.observe(main, &in, nil)
	if got := gathered(); !maps.Equal(got, want) {
		t.Errorf("metrics are %v\nwant %v", got, want)
	}
	in.Fleet[0].Report = nil
	m.observe(main, &in, nil)
	if got := gathered(); !maps.Equal(got, want) {
		t.Errorf("metrics are %v while an engine does not report\nwant %v", got, want)
	}
	in.Fleet[0].Dead = true
	m.observe(main, &in, nil)
	if got := gathered()["varve_operator_archiver_samples_per_second lab/main"]; got != 500 {
		t.Errorf("the rate is %v after the engine died, want 500", got)
	}
	m.forget(main)
	if got := gathered(); len(got) != 0 {
		t.Errorf("metrics of a deleted Archiver are %v, want none", got)
	}

	m.observe(main, &archiverstatus.Input{}, nil) // the operator has just started
	if got, known := gathered()["varve_operator_archiver_samples_per_second lab/main"]; known {
		t.Errorf("the rate is %v before any report, want none", got)
	}
}

// The operator serves the time series that the samples in config/samples/keda use for scaling.
func TestOperatorServesTheSeriesOfKEDASamples(t *testing.T) {
	var m archiverMetrics
	registry := prometheus.NewRegistry()
	registry.MustRegister(&m)
	m.observe(types.NamespacedName{Namespace: "epics", Name: "main"}, &archiverstatus.Input{Synced: true}, nil)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	files, err := filepath.Glob("../../config/samples/keda/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	series := regexp.MustCompile(`varve_\w+{[^}]*}`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		named := series.FindAllString(string(text), -1)
		if len(named) != 1 || !strings.Contains(w.Body.String(), "\n"+named[0]+" ") {
			t.Errorf("%s scales by %q, but the operator serves:\n%s", file, named, w.Body)
		}
	}
}

// TestAStalledRolloutIsMeasured checks the series of the alert VarveRolloutStalled: 1 if Kubernetes gives up on the pods of
// a Deployment, and 0 while a rollout progresses or is paused.
func TestAStalledRolloutIsMeasured(t *testing.T) {
	main := types.NamespacedName{Namespace: "lab", Name: "main"}
	for name, c := range map[string]struct {
		progress appsv1.DeploymentCondition
		step     archiverstatus.Step
		want     float64
	}{
		"pods do not become ready": {appsv1.DeploymentCondition{Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}, archiverstatus.StepNone, 1},
		"pods are replaced":        {appsv1.DeploymentCondition{Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated"}, archiverstatus.StepNone, 0},
		"the rollout is paused":    {appsv1.DeploymentCondition{Status: corev1.ConditionUnknown, Reason: "DeploymentPaused"}, archiverstatus.StepPaused, 0},
	} {
		c.progress.Type = appsv1.DeploymentProgressing
		in := archiverstatus.Input{
			Archiver: &v1alpha1.Archiver{}, Step: c.step,
			Engines: &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{c.progress}}},
		}
		var m archiverMetrics
		registry := prometheus.NewRegistry()
		registry.MustRegister(&m)
		m.observe(main, &in, archiverstatus.Compute(in).Conditions)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range families {
			for _, s := range f.GetMetric() {
				if f.GetName() != "varve_operator_archiver_condition" || s.GetLabel()[1].GetValue() != v1alpha1.ConditionStalled {
					continue
				}
				found = true
				if got := s.GetGauge().GetValue(); got != c.want {
					t.Errorf("%s: Stalled is %v, want %v", name, got, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%s: there is no series of the condition Stalled", name)
		}
	}
}

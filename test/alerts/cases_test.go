package alerts_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"sigs.k8s.io/yaml"
)

// cases are the unit tests of alerts, in the form of promtool.
type cases struct {
	RuleFiles  []string `json:"rule_files"`
	Evaluation string   `json:"evaluation_interval"`
	Tests      []struct {
		Name     string `json:"name"`
		Interval string `json:"interval"`
		Input    []struct {
			Series string `json:"series"`
			Values string `json:"values"`
		} `json:"input_series"`
		Queries []struct {
			Expr string `json:"expr"`
			At   string `json:"eval_time"`
			Want []struct {
				Labels string  `json:"labels"`
				Value  float64 `json:"value"`
			} `json:"exp_samples"`
		} `json:"promql_expr_test"`
	} `json:"tests"`
}

// TestAlertsFire runs the cases of testdata/alerts.test.yaml with Prometheus' own query engine. `make alerts` runs them
// with promtool, which takes minutes to build.
func TestAlertsFire(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all cases
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	rules := load(t)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	t.Cleanup(func() { _ = engine.Close() })
	seen := map[string]bool{}
	for _, c := range all.Tests {
		name, verb, _ := strings.Cut(c.Name, " ")
		seen[c.Name] = true
		r, there := rules[name]
		if !there || verb != "fires" && verb != "does not fire" || len(c.Queries) != 1 || c.Interval != "1m" {
			t.Errorf("case %q: it must be ALERT fires, or ALERT does not fire, with an interval of 1m and one query", c.Name)
			continue
		}
		var data series
		for _, in := range c.Input {
			data.add(t, in.Series, in.Values)
		}
		at := duration(t, c.Queries[0].At)
		if got := data.firing(t, engine, &r, at); got != (len(c.Queries[0].Want) > 0) || got != (verb == "fires") {
			t.Errorf("case %q: the alert fires after %v: %v", c.Name, at, got)
		}
	}
	for name := range rules {
		for _, verb := range []string{" fires", " does not fire"} {
			if !seen[name+verb] {
				t.Errorf("testdata/alerts.test.yaml has no case in which %s%s", name, verb)
			}
		}
	}
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	if text == "" {
		return 0
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(d)
}

// series are the time series of a case, with a sample each minute. They are a storage.Queryable.
type series struct {
	storage.LabelQuerier
	all []storage.Series
}

func (s *series) add(t *testing.T, name, values string) {
	t.Helper()
	set, list, err := parser.ParseSeriesDesc(name + " " + values)
	if err != nil {
		t.Fatal(err)
	}
	var samples []chunks.Sample
	for i, v := range list {
		if !v.Omitted {
			samples = append(samples, value{time.Duration(i) * time.Minute, v.Value})
		}
	}
	s.all = append(s.all, storage.NewListSeries(set, samples))
}

// firing reports whether an alert fires at a time: it is active since at least the time in its field for.
func (s *series) firing(t *testing.T, engine *promql.Engine, r *rule, at time.Duration) bool {
	t.Helper()
	since := map[string]time.Duration{} // by the labels of an active alert
	for now := time.Duration(0); now <= at; now += time.Minute {
		q, err := engine.NewInstantQuery(t.Context(), s, nil, r.Expr, time.Unix(0, 0).Add(now))
		if err != nil {
			t.Fatal(err)
		}
		vector, err := q.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatalf("%s: %v", r.Expr, err)
		}
		active := map[string]time.Duration{}
		for _, sample := range vector {
			key := sample.Metric.String()
			active[key] = now
			if began, was := since[key]; was {
				active[key] = began
			}
		}
		since = active
		q.Close()
	}
	for _, began := range since {
		if at-began >= duration(t, r.For) {
			return true
		}
	}
	return false
}

// Querier implements storage.Queryable.
func (s *series) Querier(int64, int64) (storage.Querier, error) { return s, nil }

// Close implements storage.Querier.
func (s *series) Close() error { return nil }

// Select implements storage.Querier.
func (s *series) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, one := range s.all {
		matching := true
		for _, m := range matchers {
			matching = matching && m.Matches(one.Labels().Get(m.Name))
		}
		if matching {
			found = append(found, one)
		}
	}
	return &set{found, nil}
}

// set is a storage.SeriesSet.
type set struct {
	rest []storage.Series
	now  storage.Series
}

func (s *set) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.now, s.rest = s.rest[0], s.rest[1:]
	return true
}
func (s *set) At() storage.Series                { return s.now }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// value is a sample at a time since the start of the case.
type value struct {
	at time.Duration
	v  float64
}

func (v value) T() int64                      { return v.at.Milliseconds() }
func (v value) F() float64                    { return v.v }
func (v value) H() *histogram.Histogram       { return nil }
func (v value) FH() *histogram.FloatHistogram { return nil }
func (v value) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (v value) Copy() chunks.Sample           { return v }
func (v value) String() string                { return fmt.Sprint(v.v) }

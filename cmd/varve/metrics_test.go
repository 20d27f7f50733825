package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/controllers"
	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/test/authority"
	"varve.dev/varve/test/cassandra"
)

var update = flag.Bool("update", false, "write docs/reference/metrics.md")

// family is a metric of some processes.
type family struct {
	kind, help string
	labels     map[string][]string // the values of each label that exist from the start
	processes  []string
}

// TestMetricsReference compares docs/reference/metrics.md with the metrics that the processes register. Tests of alerts and
// dashboards rely on the page.
func TestMetricsReference(t *testing.T) {
	all := map[string]*family{}
	for _, r := range registries(t) {
		for name, f := range described(t, &r) {
			if !documented.MatchString(name) {
				continue
			}
			if all[name] == nil {
				all[name] = f
			}
			all[name].processes = append(all[name].processes, r.processes...)
		}
	}
	page := reference(all)
	const file = "../../docs/reference/metrics.md"
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != page {
		t.Errorf("docs/reference/metrics.md is out of date: run go test ./cmd/varve -run TestMetricsReference -update\n%s", page)
	}
}

// documented matches the metrics of Varve, and those of libraries that dashboards use.
var documented = regexp.MustCompile(`^(varve_.*|process_(cpu_seconds_total|resident_memory_bytes)|controller_runtime_reconcile_errors_total)$`)

// registry has the metrics of processes.
type registry struct {
	processes []string
	registry  *prometheus.Registry
	idle      bool // nothing has happened that creates series
}

// registries opens every process with all its options, and returns their metrics.
func registries(t *testing.T) []registry {
	cert := func(self identity.Name) internalTLS { return internalTLS{dir: tlsFiles(t, authority.New(t), self)} }
	keep := func(r *resources, g *gate, o *older) *prometheus.Registry {
		t.Cleanup(func() {
			o.close()
			g.close(slog.New(slog.DiscardHandler))
			r.release(slog.New(slog.DiscardHandler))
		})
		return r.metrics
	}
	older := throughOptions{url: "http://older.invalid", names: 1}

	inDirectory := embedded(t)
	small, err := openEngine(inDirectory)
	if err != nil {
		t.Fatal(err)
	}
	inCassandra := embedded(t)
	inCassandra.storage, inCassandra.spool = storageOptions{hosts: []string{"127.0.0.1:1"}, keyspace: "varve"}, t.TempDir()
	inCassandra.tls = cert(inCassandra.component("engine"))
	large, err := openEngine(inCassandra)
	if err != nil {
		t.Fatal(err)
	}
	access := inDirectory.access
	access.audit = filepath.Join(t.TempDir(), "audit")
	reading, err := openRetrieval(&retrievalOptions{
		clusterOptions: inDirectory.clusterOptions, listen: "127.0.0.1:0", enginePort: 1, tls: cert(inDirectory.component("retrieval")),
		access: access, through: older, storage: inCassandra.storage, log: inDirectory.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	ks := cassandra.Shared(t)
	inShared := storageOptions{hosts: []string{ks.Addr}, keyspace: ks.Name}
	alone, err := openStandalone(t.Context(), &standaloneOptions{
		pipelineOptions: pipelineOptions{
			memory: 64 << 20, spool: t.TempDir(), spoolSize: spool.MinSize, flush: time.Second, checkpoint: time.Minute,
			storage: inShared, ca: ca.Config{Config: clienttest.ByUDP("127.0.0.1:1")},
		},
		file: "../../config/samples/monitor.yaml", listen: "127.0.0.1:0", log: inDirectory.log, access: access, through: older,
		policies: writeFile(t, t.TempDir(), "policies.yaml", strings.Replace(standalonePolicy, "READERS", "{everybody: true}", 1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop() // some metrics are registered when the parts start to run
	if err := alone.run(ctx); err != nil {
		t.Fatal(err)
	}
	stored := func(o storageOptions) *prometheus.Registry {
		reg := prometheus.NewRegistry()
		st, err := o.open(t.Context(), reg, inDirectory.log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return reg
	}
	return []registry{
		{[]string{"engine"}, keep(&small.resources, &small.gate, small.older), true},
		{[]string{"engine"}, keep(&large.resources, &large.gate, large.older), true},
		{[]string{"retrieval"}, keep(&reading.resources, &reading.gate, reading.older), true},
		{[]string{"standalone"}, alone.metrics, false},
		{[]string{"engine", "standalone"}, stored(storageOptions{dir: t.TempDir()}), true},
		{[]string{"engine", "retrieval", "standalone"}, stored(inShared), false},
		{[]string{"operator"}, operatorMetrics(t, cert(identity.Operator("varve"))), true},
	}
}

// operatorMetrics returns the registry of the operator, which the libraries keep in a global variable.
func operatorMetrics(t *testing.T, tls internalTLS) *prometheus.Registry {
	all := metrics.Registry.(*prometheus.Registry)
	if _, added := described(t, &registry{registry: all})["varve_operator_compiles_total"]; added {
		return all // the test runs again
	}
	o := operatorOptions{Options: controllers.Options{Metrics: "0", Probes: "0", PodNamespace: "varve", Log: logr.Discard()}, tls: tls}
	if err := o.identify(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	mgr, err := controllers.NewManager(startAPIServer(t).Config, o.Options)
	if err != nil {
		t.Fatal(err)
	}
	if err := controllers.Setup(mgr, o.Options); err != nil {
		t.Fatal(err)
	}
	return all
}

var description = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// described returns the metrics of a registry, including those without a series.
func described(t *testing.T, r *registry) map[string]*family {
	t.Helper()
	descriptions := make(chan *prometheus.Desc)
	go func() { defer close(descriptions); r.registry.Describe(descriptions) }()
	all := map[string]*family{}
	for d := range descriptions {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatal("the description of a metric has another form: ", d)
		}
		name, _ := strconv.Unquote(m[1])
		help, _ := strconv.Unquote(m[2])
		if all[name] == nil {
			all[name] = &family{kind: kindOf(name), help: help, labels: map[string][]string{}}
		}
		for _, l := range constLabel.FindAllStringSubmatch(m[3], -1) {
			all[name].add(l[1], l[2])
		}
		for label := range strings.SplitSeq(m[4], ",") {
			if label != "" {
				all[name].labels[label] = nil
			}
		}
	}
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range families {
		f := all[g.GetName()]
		if f == nil {
			continue // a metric of the Go runtime
		}
		f.kind = strings.ToLower(g.GetType().String())
		for _, s := range g.GetMetric() {
			for _, l := range s.GetLabel() {
				if r.idle {
					f.add(l.GetName(), l.GetValue())
				}
			}
		}
	}
	return all
}

var constLabel = regexp.MustCompile(`(\w+)="(\w+)"`)

// add adds a value of a label.
func (f *family) add(label, value string) {
	if values := f.labels[label]; !slices.Contains(values, value) {
		f.labels[label] = append(values, value)
	}
}

// kindOf returns the type of a metric without a series, which follows from its name: all gauges have series from the
// start, count something, or are times.
func kindOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_seconds") && !strings.HasSuffix(name, "_timestamp_seconds"):
		return "histogram"
	}
	return "gauge"
}

const referenceHead = `# Metrics

Every process serves its metrics at /metrics, for Prometheus: engines and retrieval pods at the port ` + "`metrics`" + ` of their pods, the
operator at ` + "`--metrics-bind-address`" + `, ` + "`varve standalone`" + ` at ` + "`--listen`" + `. Metrics of the Go runtime and of the operator's libraries are
not listed. If the values of a label are listed, they exist from the start. Others appear when something happens.

Alerts are in [runbooks.md](../runbooks.md), dashboards in [kubernetes.md](../kubernetes.md#dashboards).

| metric | type | labels | processes | meaning |
|---|---|---|---|---|
`

// reference writes the page. A test writes it, because only the processes know their metrics.
func reference(all map[string]*family) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		var labels []string
		for _, l := range slices.Sorted(maps.Keys(f.labels)) {
			labels = append(labels, strings.TrimSuffix(fmt.Sprintf("`%s`: %s", l, strings.Join(slices.Sorted(slices.Values(f.labels[l])), ", ")), ": "))
		}
		slices.Sort(f.processes)
		processes := strings.Join(slices.Compact(f.processes), ", ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", name, f.kind, cmp.Or(strings.Join(labels, "; "), "–"), processes, strings.ReplaceAll(f.help, "|", `\|`))
	}
	return b.String()
}

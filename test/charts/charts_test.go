// Package charts_test tests the Helm charts with the real helm command:
//
//	testdata/CHART/*.values.yaml ──▶ helm template ──┬─▶ *.golden.yaml
//	config/samples ──────────────────────────────────┴─▶ a real API server, dry run
//	charts ──▶ helm install, upgrade, uninstall ──▶ a real API server
//
// `go test ./test/charts -update` writes the golden files.
package charts_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	operatorChart = "../../charts/varve-operator"
	varveChart    = "../../charts/varve"
	cassChart     = "../../charts/varve-operator/charts/cass-operator"
	// helm template does not connect to a cluster, and the Kubernetes version that it assumes
	// by default is old.
	kubeVersion = "--kube-version=1.30.0"
)

// helmPath installs helm at first use.
var helmPath = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("../../hack/tools.sh", "helm")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// helm runs a helm command and returns its stdout and stderr.
func helm(t *testing.T, env []string, args ...string) (string, string, error) {
	t.Helper()
	path, err := helmPath()
	if err != nil {
		t.Fatal("installing helm:", err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// render runs helm template for release main in namespace epics.
func render(t *testing.T, chart string, args ...string) (string, string, error) {
	t.Helper()
	return helm(t, nil, append([]string{"template", "main", chart, "--namespace=epics", kubeVersion}, args...)...)
}

// cases calls do for each values file of each chart.
func cases(t *testing.T, do func(t *testing.T, chart, values string)) {
	for _, chart := range []string{operatorChart, varveChart, cassChart} {
		name := filepath.Base(chart)
		files, err := filepath.Glob(filepath.Join("testdata", name, "*.values.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatal("no values files for chart", name, err)
		}
		for _, values := range files {
			test := strings.TrimSuffix(filepath.Base(values), ".values.yaml")
			t.Run(name+"/"+test, func(t *testing.T) { do(t, chart, values) })
		}
	}
}

func TestGolden(t *testing.T) {
	cases(t, func(t *testing.T, chart, values string) {
		out, complaint, err := render(t, withFewRules(t, chart), "--values="+values)
		if err != nil {
			t.Fatal(err, complaint)
		}
		golden := strings.Replace(values, ".values.", ".golden.", 1)
		if *update {
			if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), out); d != "" {
			t.Errorf("-want +got; if the change is intended, run go test ./test/charts -update\n%s", d)
		}
	})
}

// withFewRules returns a copy of the operator's chart with short RBAC rules and two short
// dashboards, so that the golden files do not change whenever the operator's rights or the
// dashboards change. TestRights checks the rights, and test/alerts the dashboards. For any other
// chart, withFewRules returns the chart itself.
func withFewRules(t *testing.T, chart string) string {
	t.Helper()
	if chart != operatorChart {
		return chart
	}
	rules, err := os.ReadFile("testdata/rules.tpl")
	if err != nil {
		t.Fatal(err)
	}
	dir := copyOperatorChart(t)
	dashboards := filepath.Join(dir, "files/dashboards")
	if err := os.RemoveAll(dashboards); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dashboards, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"templates/_rules.tpl":        string(rules),
		"files/dashboards/one.json":   "{\n \"legendFormat\": \"{{pod}}\"\n}\n",
		"files/dashboards/other.json": "{}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// copyOperatorChart copies the operator's chart and returns the directory of the copy.
func copyOperatorChart(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(operatorChart)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLint(t *testing.T) {
	cases(t, func(t *testing.T, chart, values string) {
		out, complaint, err := helm(t, nil, "lint", "--strict", chart, "--values="+values, kubeVersion)
		if err != nil {
			t.Error(out, complaint)
		}
	})
}

// TestRefusals checks that helm rejects mistakes in the values before it changes the cluster,
// and that the message names the mistake.
func TestRefusals(t *testing.T) {
	storage := `archiver.spec.storage={"embedded":{}}`
	for _, c := range []struct{ name, chart, set, want string }{
		{"unknown key of the operator", operatorChart, `crds.protected=true`, "'/crds': additional properties 'protected' not allowed"},
		{"third operator", operatorChart, `replicas=3`, "'/replicas': maximum: got 3, want 2"},
		{"wrong log level", operatorChart, `log.level="loud"`, "'/log/level': value must be one of 'debug', 'info', 'warn', 'error'"},
		{"wrong digest", operatorChart, `image.digest="latest"`, "'/image/digest': 'latest' does not match pattern"},
		{"unknown key of cass-operator", operatorChart, `cass-operator={"enabled":true,"image":{"version":"v1"}}`, "additional properties 'version' not allowed"},
		{"wrong pull policy", cassChart, `imageConfig.pullPolicy="Sometimes"`, "'/imageConfig/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		{"no storage", varveChart, `archiver.spec.engines.replicas=2`, "archiver.spec.storage is required and cannot be changed later"},
		{"unknown key", varveChart, `group={}`, "additional properties 'group' not allowed"},
		{"unknown field of an Archiver", varveChart, `archiver.spec.engines.replica=2`, "'/archiver/spec/engines': additional properties 'replica' not allowed"},
		{"unknown field of a group", varveChart, `groups.a.sampling.rate=2`, "'/groups/a/sampling': additional properties 'rate' not allowed"},
		{"archiverRef of a group", varveChart, `groups.a.archiverRef.name="b"`, "'/groups/a': additional properties 'archiverRef' not allowed"},
		{"wrong duration", varveChart, `groups.a.retention.raw="90 days"`, "'/groups/a/retention/raw': '90 days' does not match pattern"},
		{"space in the name of a PV", varveChart, `channelLists.a=["SR01 VA"]`, "'SR01 VA' does not match pattern"},
		{"wrong name of a list", varveChart, `channelLists.Vacuum=["a"]`, "'Vacuum' does not match pattern"},
		{"credentials without Cassandra", varveChart, `cassandraCredentials.username="u"`, "cassandraCredentials require archiver.spec.storage.cassandra.external"},
		{"autoscaling of a fixed number", varveChart, `archiver.spec.engines={"replicas":3,"autoscaling":{"maxReplicas":5}}`, "archiver.spec.engines.autoscaling and archiver.spec.engines.replicas: set only one of them"},
		{"autoscaling without bounds", varveChart, `archiver.spec.engines.autoscaling={"minReplicas":5}`, "maxReplicas"},
		{"ingress without access", varveChart, `ingress.enabled=true`, "set archiver.spec.retrieval.access; with {authenticators: [{anonymous: {}}]} everybody may read"},
		{"token reviews without kubernetes", varveChart, `tokenReview.create=true`, "add {kubernetes: {}} to archiver.spec.retrieval.access.authenticators"},
		{"requests without access", varveChart, `requests.archiveGroups=["a"]`, "set archiver.spec.retrieval.access"},
		{"requests to an embedded archive", varveChart, `requests.archiveGroups=["a"],archiver.spec.retrieval.access={"authenticators":[{"anonymous":{}}]}`, "an archive with storage.embedded accepts no requests"},
		{"wrong name of a group", varveChart, `requests.archiveGroups=["a*"]`, "'/requests/archiveGroups/0': 'a*' does not match pattern"},
		{"route without a gateway", varveChart, `httpRoute.enabled=true`, "httpRoute.parentRefs is required: it names the Gateway"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"--set-json=" + c.set}
			if c.name != "no storage" && c.chart == varveChart {
				args = append(args, "--set-json="+storage)
			}
			_, complaint, err := render(t, c.chart, args...)
			if err == nil || !strings.Contains(complaint, c.want) {
				t.Errorf("got %v: %s\nwant %s", err, complaint, c.want)
			}
		})
	}
}

func TestNameOfArchiver(t *testing.T) {
	path := []string{"template", "1st.release", varveChart, kubeVersion, `--set-json=archiver.spec.storage={"embedded":{}}`}
	if _, complaint, err := helm(t, nil, path...); err == nil || !strings.Contains(complaint, "archiver.name") {
		t.Errorf("a release name that is not a valid Archiver name: got %v: %s", err, complaint)
	}
	if _, complaint, err := helm(t, nil, append(path, "--set=archiver.name=main")...); err != nil {
		t.Error(complaint)
	}
}

// TestTagOfDigits checks image tags that consist of digits. A commit hash can be such a tag,
// and YAML and --set parse it as a number.
func TestTagOfDigits(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("image: {tag: 12345678}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--set=image.tag=12345678"}, {"--values=" + values}} {
		out, complaint, err := render(t, operatorChart, args...)
		if err != nil || !strings.Contains(out, "image: varve.dev/varve:12345678\n") {
			t.Error(args, err, complaint)
		}
	}
}

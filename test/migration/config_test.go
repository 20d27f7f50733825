package migration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/test/program"
)

// exported returns the answer of exportConfig for some PVs, from one on. Each tenth PV is scanned.
func exported(first, n int) string {
	var out []string
	for i := first; i < first+n; i++ {
		method := "MONITOR"
		if i%10 == 0 {
			method = "SCAN"
		}
		out = append(out, fmt.Sprintf(`{"pvName":"CFG%02d-VA:PUMP-%05d:PRES","policyName":"Default","samplingMethod":%q,"samplingPeriod":"2.0","paused":"false","archiveFields":["DESC"]}`, i%30, i, method))
	}
	return "[" + strings.Join(out, ",\n") + "]"
}

// importConfig runs varve import config, and returns what it prints and its exit code.
func importConfig(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Path(), append([]string{"import", "config"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	t.Logf("varve import config %s: %s", strings.Join(args, " "), errs.String())
	return string(text), cmd.ProcessState.ExitCode()
}

// TestConfigOfARunningAppliance imports from an address, checks, and imports again after a change.
func TestConfigOfARunningAppliance(t *testing.T) {
	var config atomic.Pointer[string]
	serve := func(text string) { config.Store(&text) }
	serve(exported(0, 40))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mgmt/bpl/exportConfig":
			_, _ = io.WriteString(w, *config.Load())
		case "/mgmt/bpl/getAllAliases":
			_, _ = io.WriteString(w, "[]")
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	dir := filepath.Join(t.TempDir(), "groups")
	args := []string{"--from", "appliance", s.URL, "-o", dir}
	if _, code := importConfig(t, append(args, "--check")...); code != 1 {
		t.Errorf("the check of an import that was never made ends with %d", code)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the check has written the directory")
	}
	if out, code := importConfig(t, args...); code != 0 || strings.Count(out, "added ") != 5 {
		t.Errorf("the import ends with %d, and prints %s", code, out)
	}
	for _, again := range [][]string{args, append(args, "--check")} {
		if out, code := importConfig(t, again...); code != 0 || out != "" {
			t.Errorf("a repetition ends with %d, and prints %s", code, out)
		}
	}
	serve(strings.Replace(exported(0, 40), `"MONITOR"`, `"DONT_ARCHIVE"`, 1))
	if out, code := importConfig(t, args...); code != 1 || !strings.Contains(out, "changed not-imported.csv") {
		t.Errorf("the import of a PV that is not archived ends with %d, and prints %s", code, out)
	}
	if _, code := importConfig(t, "--from", "appliance", s.URL+"/elsewhere/bpl/x", "-o", dir); code != 2 {
		t.Errorf("the import from an address without a configuration ends with %d", code)
	}
}

// TestServerTakesImportedConfig applies the manifests of 20,000 PVs to a real API server, twice. The second
// time must change nothing.
func TestServerTakesImportedConfig(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
	file, dir := filepath.Join(t.TempDir(), "config.json"), filepath.Join(t.TempDir(), "groups")
	if err := os.WriteFile(file, []byte(exported(0, 20_000)), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, code := importConfig(t, "--from", "appliance", file, "-o", dir, "--namespace", "default"); code != 0 {
		t.Fatalf("the import ends with %d", code)
	}
	api := newAPI(t)
	var versions [2][]string
	for i := range versions {
		for _, u := range objects(t, dir) {
			if err := api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"), client.ForceOwnership); err != nil {
				t.Fatalf("applying %s %s: %v", u.GetKind(), u.GetName(), err)
			}
			version := u.GetResourceVersion()
			if g := u.GetGeneration(); g != 0 {
				// Until an operator writes the status, the API server stores its default with the second write.
				version = fmt.Sprint("generation ", g)
			}
			versions[i] = append(versions[i], u.GetKind()+"/"+u.GetName()+"@"+version)
		}
	}
	if fmt.Sprint(versions[0]) != fmt.Sprint(versions[1]) || len(versions[0]) < 4 || strings.HasSuffix(versions[0][0], "@") {
		t.Errorf("applying again changes %v to %v", versions[0], versions[1])
	}
}

// newAPI starts an API server with the CRDs.
func newAPI(t *testing.T) client.Client {
	t.Helper()
	log.SetLogger(logr.Discard())
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{"../../charts/varve-operator/files/crds"}, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

// objects returns the objects in the files of a directory.
func objects(t *testing.T, dir string) (out []*unstructured.Unstructured) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(&u.Object); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

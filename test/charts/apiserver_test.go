package charts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// server is a real API server.
type server struct {
	client.Client
	kubeconfig string
}

const crdFolder = "../../charts/varve-operator/files/crds"

// common is the server of all tests that change nothing on it that other tests see. TestMain ends it.
var common struct {
	*server
	stop func() error
}

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	code := m.Run()
	if common.stop != nil {
		if err := common.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// commonServer returns the server that several tests use, one after the other. It has the CRDs of Varve and of KEDA.
func commonServer(t *testing.T) *server {
	t.Helper()
	needAssets(t)
	if common.server == nil {
		var err error
		if common.server, common.stop, err = startServer(crdFolder, kedaCRD(t)); err != nil {
			t.Fatal(err)
		}
	}
	return common.server
}

// newServer starts an API server for one test, with the CRDs of the given directories.
func newServer(t *testing.T, crds ...string) *server {
	t.Helper()
	needAssets(t)
	s, stop, err := startServer(crds...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func needAssets(t *testing.T) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
}

// startServer starts an API server, which the caller stops.
func startServer(crds ...string) (_ *server, stop func() error, err error) {
	env := &envtest.Environment{
		CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	cfg, err := env.Start()
	if err != nil {
		return nil, nil, err
	}
	dir := ""
	stop = func() error { return errors.Join(env.Stop(), os.RemoveAll(dir)) }
	if dir, err = os.MkdirTemp("", "varve-charts-"); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	s := &server{Client: client.WithFieldValidation(c, metav1.FieldValidationStrict), kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := os.WriteFile(s.kubeconfig, env.KubeConfig, 0o600); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	for _, name := range []string{"epics", "beamlines", "varve-system"} {
		if err := c.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, nil, errors.Join(err, stop())
		}
	}
	return s, stop, nil
}

// dryRun applies an object without storing it, like kubectl apply --dry-run=server. The server
// rejects fields that it does not know.
func (s *server) dryRun(t *testing.T, u *unstructured.Unstructured) error {
	if u.GetNamespace() == "" {
		u.SetNamespace("epics") // the server ignores it for cluster-scoped kinds
	}
	return s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u),
		client.DryRunAll, client.FieldOwner("test"), client.ForceOwnership)
}

// documents returns the objects of a YAML text.
func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

// foreignKinds are kinds of other projects. The server does not have their CRDs.
var foreignKinds = map[string]bool{"ServiceMonitor": true, "PrometheusRule": true, "HTTPRoute": true, "Issuer": true, "Certificate": true}

func TestServerTakesCharts(t *testing.T) {
	s := commonServer(t)
	cases(t, func(t *testing.T, chart, values string) {
		args := []string{"--values=" + values}
		if chart != varveChart {
			args = append(args, "--set=crds.enabled=true")
		}
		out, complaint, err := render(t, chart, args...)
		if err != nil {
			t.Fatal(complaint)
		}
		for _, u := range documents(t, out) {
			if foreignKinds[u.GetKind()] {
				continue
			}
			if err := s.dryRun(t, u); err != nil {
				t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
			}
		}
	})
	// The checks above prove nothing unless the server rejects wrong objects.
	unknown := documents(t, "{apiVersion: varve.dev/v1alpha1, kind: Archiver, metadata: {name: main}, spec: {storage: {embedded: {}}, engnes: {}}}")[0]
	if err := s.dryRun(t, unknown); err == nil || !strings.Contains(err.Error(), "engnes") {
		t.Error("the server accepted an unknown field:", err)
	}
	unscaled := documents(t, "{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: main}, spec: {scaleTargetRef: {kind: Archiver}, triggers: []}}")[0]
	if err := s.dryRun(t, unscaled); err == nil || !strings.Contains(err.Error(), "scaleTargetRef.name") {
		t.Error("the server accepted a ScaledObject without scaleTargetRef.name:", err)
	}
	t.Run("samples", func(t *testing.T) { checkSamples(t, s) })
}

// kedaCRD returns the path of the file with the CRD of KEDA's ScaledObject.
func kedaCRD(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("../../hack/crd.sh", "ScaledObject").Output()
	if err != nil {
		t.Fatal("hack/crd.sh: ", err)
	}
	return strings.TrimSpace(string(out))
}

func checkSamples(t *testing.T, s *server) {
	var files []string
	err := filepath.WalkDir("../../config/samples", func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".yaml" && filepath.Base(path) != "kustomization.yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatal("found no sample manifests: ", err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range documents(t, string(text)) {
			kinds[u.GetKind()] = true
			if err := s.dryRun(t, u); err != nil {
				t.Errorf("%s: %s %s: %v", file, u.GetKind(), u.GetName(), err)
			}
		}
	}
	for _, kind := range []string{"Archiver", "ArchiveGroup", "ScaledObject"} {
		if !kinds[kind] {
			t.Errorf("no sample manifest has kind %s", kind)
		}
	}
}

package fleet

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/test/authority"
)

// certified returns a process with a certificate.
func certified(t *testing.T, by *authority.Authority, self identity.Name) *identity.Party {
	t.Helper()
	dir := t.TempDir()
	for name, text := range by.Secret(t, string(self)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return identity.New(identity.Config{Files: identity.Files(dir), Self: self, Log: slog.New(slog.DiscardHandler)})
}

// TestReportsOfEnginesWithCertificates reads reports of engines of all modes, with and without a certificate of the operator.
func TestReportsOfEnginesWithCertificates(t *testing.T) {
	ours := authority.New(t)
	operator := identity.Operator("varve-system")
	engine := certified(t, ours, identity.Of("lab", "main", "engine"))
	start := func(wrap func(net.Listener) net.Listener) int32 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(report.Report{Engine: "e"})
		}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		go func() { _ = s.Serve(wrap(l)) }()
		t.Cleanup(func() { _ = s.Close() })
		_, port, _ := net.SplitHostPort(l.Addr().String())
		n, _ := strconv.Atoi(port)
		return int32(n)
	}
	off := start(func(l net.Listener) net.Listener { return l })
	optional := start(func(l net.Listener) net.Listener { return engine.Listener(l, true, operator) })
	required := start(func(l net.Listener) net.Listener { return engine.Listener(l, false, operator) })
	with, without := newClients(certified(t, ours, operator)), newClients(nil)
	defer with.keep(nil)
	defer without.keep(nil)
	for name, c := range map[string]struct {
		by       *clients
		port     int32
		archiver string
		mode     v1alpha1.InternalTLSMode
		want     string // part of the error, or ""
	}{
		"an old engine":                        {with, off, "main", "", ""},
		"an optional one":                      {with, optional, "main", "Optional", ""},
		"a required one":                       {with, required, "main", "Required", ""},
		"an engine that is not yet optional":   {with, off, "main", "Optional", ""},
		"a required one of another Archiver":   {with, required, "other", "Required", "wanted: spiffe://varve/lab/other/engine"},
		"of a later version":                   {with, required, "main", "Strict", "upgrade the operator"},
		"without a certificate: an old engine": {without, off, "main", "", ""},
		"without a certificate: optional":      {without, optional, "main", "Optional", ""},
		"without a certificate: required":      {without, required, "main", "Required", "set internalTLS of the chart varve-operator"},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "lab", Labels: map[string]string{v1alpha1.LabelArchiver: c.archiver}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: report.PortName, ContainerPort: c.port}}}}},
			Status:     corev1.PodStatus{PodIP: "127.0.0.1"},
		}
		if c.mode != "" {
			pod.Annotations = map[string]string{v1alpha1.AnnotationInternalTLS: string(c.mode)}
		}
		_, err := c.by.fetch(t.Context(), pod)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	if with.keep([]corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Labels: map[string]string{v1alpha1.LabelArchiver: "main"}}}}); len(with.of) != 1 {
		t.Errorf("%d clients are kept for one kind of engines", len(with.of))
	}
}

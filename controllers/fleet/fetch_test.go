package fleet

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestReportsComeFromTheInternalPort checks which port of a pod is asked, also during an upgrade from
// engines that have a single port.
func TestReportsComeFromTheInternalPort(t *testing.T) {
	pod := func(ports ...corev1.ContainerPort) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar"}, {Name: "engine", Ports: ports}}}}
	}
	for want, p := range map[int32]*corev1.Pod{
		17667: pod(corev1.ContainerPort{Name: "http", ContainerPort: 17665}, corev1.ContainerPort{Name: "internal", ContainerPort: 17667}),
		17665: pod(corev1.ContainerPort{Name: "http", ContainerPort: 17665}),
	} {
		if got := internalPort(p); got != want {
			t.Errorf("%v: port %d, want %d", p.Spec.Containers, got, want)
		}
	}
}

func TestFetch(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   []byte
		err    string
	}{
		{"a report", 200, []byte(`{"engine":"e1","later":"a field of a later version"}`), ""},
		{"an error", 503, nil, "503"},
		{"not JSON", 200, []byte("<html>"), "reading the report"},
		{"no end", 200, bytes.Repeat([]byte(" "), reportSize+1), "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write(tc.body)
			}))
			defer s.Close()
			r, err := fetch(t.Context(), s.Client(), s.URL)
			switch {
			case tc.err == "" && (err != nil || r.Engine != "e1"):
				t.Errorf("%+v, %v", r, err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

package render

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/serve/access"
)

// TestPodsAcceptTheirAccessFile checks that a pod can read the rendered file, which has every kind of
// authenticator, and that each file that it names is mounted.
func TestPodsAcceptTheirAccessFile(t *testing.T) {
	a := load(t, "testdata/everything.in.yaml")
	d := rendered[appsv1.Deployment](t, a, "Deployment", RetrievalName(a.Name))
	text := d.Spec.Template.Annotations[accessAnnotation]
	c, err := access.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(c.Authenticators) != 6 || c.Authenticators[5].Anonymous.Groups[0] != "0o17" || c.Hosts[0] != "everything-retrieval" {
		t.Errorf("the pod reads %+v", c)
	}
	pod := d.Spec.Template.Spec
	for _, file := range []string{
		c.Authenticators[1].Tokens.File, c.Authenticators[2].JWT.CAFile, c.TLS.Certificate, c.TLS.Key, c.TLS.ClientCA,
		strings.TrimPrefix(argument(pod.Containers[0].Args, "--access="), "--access="),
	} {
		if !mounted(&pod, filepath.Dir(file)) {
			t.Errorf("%s is in no volume", file)
		}
	}
	if argument(pod.Containers[0].Args, "--audit=") != "--audit=stderr" {
		t.Errorf("arguments %v", pod.Containers[0].Args)
	}
	if URL(a) != "https://everything-retrieval.lab.svc" {
		t.Errorf("URL %s", URL(a))
	}
}

// TestAccessNeedsNoSetting checks the smallest settings, for which the access file must be the one of
// the documentation.
func TestAccessNeedsNoSetting(t *testing.T) {
	for _, text := range []string{
		"authenticators: [{anonymous: {}}]",
		"{authenticators: [{kubernetes: {}}], default: {everybody: true}}",
		"{authenticators: [{kubernetes: {}}], default: {nobody: true}}",
	} {
		a := load(t, "testdata/embedded.in.yaml")
		a.Spec.Retrieval.Access = &v1alpha1.RetrievalAccess{}
		if err := yaml.UnmarshalStrict([]byte(text), a.Spec.Retrieval.Access); err != nil {
			t.Fatal(err)
		}
		d := rendered[appsv1.Deployment](t, a, "Deployment", EngineName(a.Name))
		if _, err := access.Parse([]byte(d.Spec.Template.Annotations[accessAnnotation])); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func argument(args []string, prefix string) string {
	for _, arg := range args {
		if strings.HasPrefix(arg, prefix) {
			return arg
		}
	}
	return ""
}

func mounted(pod *corev1.PodSpec, dir string) bool {
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.MountPath == dir && m.ReadOnly {
			return true
		}
	}
	return false
}

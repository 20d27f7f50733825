package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/freeport"
	"varve.dev/varve/test/program"
)

// TestPluginHasItsOwnCommands checks that the name of the program selects the commands.
func TestPluginHasItsOwnCommands(t *testing.T) {
	for program, want := range map[string]string{"/usr/bin/kubectl-varve": "kubectl varve", "kubectl-varve.exe": "kubectl varve", "/bin/varve": "varve", "varve-1": "varve"} {
		root := rootOf(program)
		if got := root.CommandPath(); got != want {
			t.Errorf("%s is %q, want %q", program, got, want)
		}
		if _, _, err := root.Find([]string{"why"}); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		_, _, err := root.Find([]string{"standalone"})
		if (err == nil) != (want == "varve") {
			t.Errorf("%s standalone: %v", program, err)
		}
	}
}

// TestTheOnlyArchiverIsTheDefault checks which Archiver the plugin takes.
func TestTheOnlyArchiverIsTheDefault(t *testing.T) {
	named := func(names ...string) (all []v1alpha1.Archiver) {
		for _, n := range names {
			all = append(all, v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Name: n, Namespace: "epics"}})
		}
		return all
	}
	a := &clusterArchive{namespace: "epics"}
	if got, err := a.only(named("main")); err != nil || got.Name != "main" || proxyPath(got) != "/api/v1/namespaces/epics/services/http:main-retrieval:appliance/proxy" {
		t.Errorf("%v, %v", got, err)
	}
	encrypted := named("main")[0]
	encrypted.Spec.Retrieval.Access = &v1alpha1.RetrievalAccess{TLS: &v1alpha1.RetrievalTLS{}}
	if path := proxyPath(&encrypted); path != "/api/v1/namespaces/epics/services/https:main-retrieval:appliance/proxy" {
		t.Errorf("with a certificate, the path is %s", path)
	}
	for want, list := range map[string][]v1alpha1.Archiver{"namespace epics has no Archiver; name another namespace with -n": nil, "has the Archivers main, test; name one with --archiver": named("main", "test")} {
		if _, err := a.only(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", list, err)
		}
	}
}

// plugin runs a command of the plugin, and returns its output and its error.
func plugin(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newPlugin()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// ownAddress returns an address of this machine that is not a loopback address. An API server connects to no other.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, is := a.(*net.IPNet); is && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatal("this machine has no IPv4 address other than those of loopback")
	return ""
}

// TestLong_PluginReadsThroughTheAPIServer asks an archive through a real API server.
func TestLong_PluginReadsThroughTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	env := startAPIServer(t)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(config, env.KubeConfig, 0o600)).To(Succeed())

	host := ownAddress(t)
	port := startOpen(t, host)
	c := epicsNamespace(t, env)
	create := func(obj kube.Object) {
		t.Helper()
		g.Expect(c.Create(t.Context(), obj)).To(Succeed())
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "epics"} }
	archiver := &v1alpha1.Archiver{ObjectMeta: named("main")}
	archiver.Spec.Storage.Embedded = &v1alpha1.EmbeddedSpec{}
	create(archiver)
	create(&corev1.Service{ObjectMeta: named("main-retrieval"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "appliance", Port: 17665, TargetPort: intstr.FromInt32(port)}}}})
	pod := &corev1.Pod{ObjectMeta: named("main-0"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "varve", Image: "varve"}}}} // an API server connects only to pods
	create(pod)
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, host, []corev1.PodIP{{IP: host}}
	g.Expect(c.Status().Update(t.Context(), pod)).To(Succeed())
	create(&corev1.Endpoints{ObjectMeta: named("main-retrieval"), Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // API servers read it for the proxy
		Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "epics", Name: "main-0", UID: pod.UID}}},
		Ports:     []corev1.EndpointPort{{Name: "appliance", Port: port}},
	}}})

	out, err := plugin(t, "status", "--kubeconfig", config, "-n", "epics")
	if err != nil || !strings.Contains(out, "GROUP") {
		t.Errorf("status: %v\n%s", err, out)
	}
	out, err = plugin(t, "why", "NO:PV", "--kubeconfig", config, "-n", "epics", "--archiver", "main")
	if exitCode(err) != exitCause || !strings.HasPrefix(out, "NO:PV: unknown_pv: ") {
		t.Errorf("why: %v\n%s", err, out)
	}
	for args, want := range map[string]string{
		"why X -n default":                          "namespace default has no Archiver",
		"why X -n epics --archiver other":           "reading the Archiver: .*not found",
		"why X -n epics --context nowhere":          `--kubeconfig, --context: .*"nowhere" does not exist`,
		"why X -n epics --token-file /dev/null":     "--token-file: the token does not pass through the API server",
		"why X -n epics --at tomorow":               "--at: ",
		"why X -n epics --url http://127.0.0.1:1":   "cannot reach the archive at http://127.0.0.1:1",
		"status --kubeconfig /nowhere/config -n ns": "--kubeconfig, --context: .*/nowhere/config",
	} {
		all := strings.Fields(args)
		if !strings.Contains(args, "--kubeconfig") {
			all = append(all, "--kubeconfig", config)
		}
		if _, err := plugin(t, all...); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("kubectl varve %s: %v, want %s", args, err, want)
		}
	}
}

// startOpen starts an archive that everybody may read on an address of this machine, and returns its port.
func startOpen(t *testing.T, address string) int32 {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"access.yaml": "access: [{anonymous: {}}]\n", "group.yaml": program.Group("g", "", "A:B")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port, err := freeport.Find(address)
	if err != nil {
		t.Fatal(err)
	}
	listen := fmt.Sprintf("%s:%d", address, port)
	t.Setenv("EPICS_CA_ADDR_LIST", "127.0.0.1:1")
	t.Setenv("EPICS_CA_AUTO_ADDR_LIST", "NO")
	ctx, stop := context.WithCancel(t.Context())
	root := newRoot()
	root.SetArgs([]string{"standalone", "-f", filepath.Join(dir, "group.yaml"), "--data", filepath.Join(dir, "data"), "--access", filepath.Join(dir, "access.yaml"), "--listen", listen})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	program.Eventually(t, "varve accepts requests", func() bool {
		_, _, err := varve(t, "status", "--url", listen)
		return err == nil
	})
	return int32(port)
}

// epicsNamespace makes the namespace epics, and returns a client.
func epicsNamespace(t *testing.T, env *envtest.Environment) kube.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := kube.New(env.Config, kube.Options{Scheme: scheme})
	if err == nil {
		err = c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "epics"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

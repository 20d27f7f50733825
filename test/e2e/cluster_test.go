package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/cassandra"
)

// operatorNamespace is where the operator runs.
const operatorNamespace = "varve-system"

// The cluster under test.
var (
	kube client.Client
	// hostIP is this machine's address in the cluster's network.
	hostIP string
	// image is in the cluster, as REPOSITORY:TAG.
	image string
	// database is a real Cassandra that pods reach.
	database *cassandra.Node
)

var _ = BeforeSuite(func() {
	hostIP, image = environment("VARVE_HOST_IP"), environment("VARVE_IMAGE")
	connect()
	database = cassandra.StartOn(GinkgoTB(), hostIP)
	installOperator()
})

var _ = AfterSuite(func() {
	if kube != nil {
		_, _ = run("helm", "uninstall", "varve-operator", "-n", operatorNamespace, "--wait", "--ignore-not-found")
	}
})

func environment(name string) string {
	v := os.Getenv(name)
	Expect(v).NotTo(BeEmpty(), "%s must be set, as `make e2e` does", name)
	return v
}

// connect makes the client.
func connect() {
	cfg, err := clientcmd.BuildConfigFromFlags("", environment("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	kube, err = client.New(cfg, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
}

// installOperator installs the operator's chart, or upgrades it; values are
// NAME=VALUE.
func installOperator(values ...string) {
	GinkgoHelper()
	repository, tag := imageParts()
	args := []string{
		"upgrade", "--install", "varve-operator", "../../charts/varve-operator", "-n", operatorNamespace, "--create-namespace",
		"--wait", "--timeout", "4m",
		"--set", "image.repository=" + repository, "--set", "image.tag=" + tag, "--set", "image.pullPolicy=IfNotPresent",
	}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	helm(args...)
}

func imageParts() (repository, tag string) {
	i := strings.LastIndex(image, ":")
	return image[:i], image[i+1:]
}

// run runs a program and returns what it wrote to its output.
func run(name string, args ...string) (string, error) { return feed("", name, args...) }

func feed(input, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if name == "helm" {
		name = helmBinary()
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// helmBinary is that of the environment, or the one that hack/tools.sh installs.
func helmBinary() string {
	if path := os.Getenv("HELM"); path != "" {
		return path
	}
	out, err := exec.Command("../../hack/tools.sh", "helm").Output()
	Expect(err).NotTo(HaveOccurred(), "installing helm")
	return strings.TrimSpace(string(out))
}

func helm(args ...string) string {
	GinkgoHelper()
	out, err := run("helm", args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

func kubectl(args ...string) string {
	GinkgoHelper()
	out, err := run("kubectl", args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// apply applies manifests.
func apply(namespace, manifests string) {
	GinkgoHelper()
	_, err := feed(manifests, "kubectl", "apply", "-n", namespace, "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

// show prints what kubectl prints, into the report.
func show(args ...string) {
	GinkgoHelper()
	AddReportEntry("kubectl "+strings.Join(args, " "), "\n"+kubectl(args...), ReportEntryVisibilityAlways)
}

// figure notes a measurement in the report.
func figure(name, format string, args ...any) {
	AddReportEntry(name, fmt.Sprintf(format, args...), ReportEntryVisibilityAlways)
}

// clusterScript runs hack/cluster/cluster.sh, with which specs labelled bare stop
// parts of the cluster.
func clusterScript(args ...string) {
	GinkgoHelper()
	_, err := run("../../hack/cluster/cluster.sh", args...)
	Expect(err).NotTo(HaveOccurred())
}

// makeNamespace makes a namespace under the restricted pod security standard, and
// deletes it when the specs are over.
func makeNamespace(name string) {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}}}
	Expect(kube.Create(context.Background(), ns)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			explain(name)
		}
		// Kubernetes looks at a namespace with ending pods again after half of their
		// grace period; without them it goes at once.
		_ = kube.DeleteAllOf(ctx, &v1alpha1.Archiver{}, client.InNamespace(name))
		Eventually(ctx, func() (int, error) {
			var pods corev1.PodList
			err := kube.List(ctx, &pods, client.InNamespace(name))
			return len(pods.Items), err
		}).WithTimeout(patience).Should(BeZero(), "pods in %s", name)
		_ = client.IgnoreNotFound(kube.Delete(ctx, ns))
		Eventually(ctx, func() bool { return gone(ctx, ns) }).WithTimeout(patience).Should(BeTrue(), "the namespace %s goes", name)
	}, NodeTimeout(2*patience))
}

// explain prints what helps to understand a failure.
func explain(namespace string) {
	for _, args := range [][]string{
		{"get", "all,archivers,archivegroups", "-n", namespace, "-o", "wide"},
		{"get", "archivers,archivegroups", "-n", namespace, "-o", "yaml"},
		{"get", "events", "-n", namespace, "--sort-by=.lastTimestamp"},
		{"logs", "-n", namespace, "-l", "app.kubernetes.io/name=varve", "--tail=60", "--prefix"},
		{"logs", "-n", operatorNamespace, "-l", "app.kubernetes.io/name=varve-operator", "--tail=100", "--prefix"},
	} {
		out, err := run("kubectl", args...)
		GinkgoWriter.Printf("$ kubectl %s\n%s%v\n", strings.Join(args, " "), out, err)
	}
}

// nodeAddress returns an address of a node that is ready.
func nodeAddress(ctx context.Context) string {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(kube.List(ctx, &nodes)).To(Succeed())
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type != corev1.NodeReady || c.Status != corev1.ConditionTrue {
				continue
			}
			for _, a := range n.Status.Addresses {
				if a.Type == corev1.NodeInternalIP && net.ParseIP(a.Address) != nil {
					return a.Address
				}
			}
		}
	}
	Fail("no node is ready")
	return ""
}

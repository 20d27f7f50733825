package lab

import (
	"context"
	"net"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/cassandra"

	"varve.dev/varve/test/checkout"
)

// OperatorNamespace is where the operator runs.
const OperatorNamespace = "varve-system"

// The cluster under test.
var (
	// Kube is a client of the API server.
	Kube client.Client
	// HostIP is this machine's address in the cluster's network.
	HostIP string
	// Image is the Varve image that the cluster has, as REPOSITORY:TAG.
	Image string
	// ContactPoints are the addresses of the Cassandra in which labs store their archives.
	ContactPoints []string
	// Database is the Cassandra that Open started.
	Database *cassandra.Node
)

// Open connects to the cluster, starts a Cassandra that pods can reach, and installs the
// operator. Call it in BeforeSuite.
func Open() {
	GinkgoHelper()
	Connect()
	// Specs kill this Cassandra, and there is no second replica. Every write that it
	// acknowledges must therefore be on disk. It runs under load for a long time, so the
	// optimising compiler is worth its start-up cost.
	GinkgoT().Setenv("CASSANDRA_JAVA", "")
	Database = cassandra.StartOn(GinkgoTB(), HostIP, "commitlog_sync: group", "commitlog_sync_group_window: 10ms")
	ContactPoints = []string{Database.Addr()}
	InstallOperator()
}

// Close removes the operator. Call it in AfterSuite.
func Close() {
	if Kube != nil {
		_, _ = Run("helm", "uninstall", "varve-operator", "-n", OperatorNamespace, "--wait", "--ignore-not-found")
	}
}

func environment(name string) string {
	v := os.Getenv(name)
	Expect(v).NotTo(BeEmpty(), "%s must be set, as `make e2e` does", name)
	return v
}

// Connect connects to the cluster that the environment variables name.
func Connect() {
	GinkgoHelper()
	HostIP, Image = environment("VARVE_HOST_IP"), environment("VARVE_IMAGE")
	cfg, err := clientcmd.BuildConfigFromFlags("", environment("KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	Kube, err = client.New(cfg, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
}

// InstallOperator installs or upgrades the operator's chart. Each value has the form NAME=VALUE.
func InstallOperator(values ...string) {
	GinkgoHelper()
	repository, tag := imageParts()
	args := []string{
		"upgrade", "--install", "varve-operator", checkout.Path("charts/varve-operator"), "-n", OperatorNamespace, "--create-namespace",
		"--wait", "--timeout", "4m",
		"--set", "image.repository=" + repository, "--set", "image.tag=" + tag, "--set", "image.pullPolicy=IfNotPresent",
	}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	Helm(args...)
}

func imageParts() (repository, tag string) {
	i := strings.LastIndex(Image, ":")
	return Image[:i], Image[i+1:]
}

// MakeNamespace creates a namespace under the restricted pod security standard. It deletes the
// namespace when the specs are over.
func MakeNamespace(name string) {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}}}
	Expect(Kube.Create(context.Background(), ns)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			explain(name)
		}
		// Delete the pods first. Kubernetes removes a namespace without pods at once, but
		// rechecks one with terminating pods only after half of their grace period.
		_ = Kube.DeleteAllOf(ctx, &v1alpha1.Archiver{}, client.InNamespace(name))
		Eventually(ctx, func() (int, error) {
			var pods corev1.PodList
			err := Kube.List(ctx, &pods, client.InNamespace(name))
			return len(pods.Items), err
		}).WithTimeout(Patience).Should(BeZero(), "number of pods in %s", name)
		_ = client.IgnoreNotFound(Kube.Delete(ctx, ns))
		Eventually(ctx, func() bool { return Gone(ctx, ns) }).WithTimeout(Patience).Should(BeTrue(), "the namespace %s is deleted", name)
	}, NodeTimeout(2*Patience))
}

// explain prints the objects, events and logs that help to understand a failure.
func explain(namespace string) {
	for _, args := range [][]string{
		{"get", "all,archivers,archivegroups", "-n", namespace, "-o", "wide"},
		{"get", "archivers,archivegroups", "-n", namespace, "-o", "yaml"},
		{"get", "events", "-n", namespace, "--sort-by=.lastTimestamp"},
		{"logs", "-n", namespace, "-l", "app.kubernetes.io/name=varve", "--tail=60", "--prefix"},
		{"logs", "-n", OperatorNamespace, "-l", "app.kubernetes.io/name=varve-operator", "--tail=100", "--prefix"},
	} {
		out, err := Run("kubectl", args...)
		GinkgoWriter.Printf("$ kubectl %s\n%s%v\n", strings.Join(args, " "), out, err)
	}
}

// nodeAddress returns the internal IP address of a ready node.
func nodeAddress(ctx context.Context) string {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(Kube.List(ctx, &nodes)).To(Succeed())
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

// Gone reports whether the API server no longer has an object.
func Gone(ctx context.Context, obj client.Object) bool {
	return apierrors.IsNotFound(Kube.Get(ctx, client.ObjectKeyFromObject(obj), obj))
}

// PodsOf returns the names of the pods that match labels and are not terminating. labels has the
// form NAME=VALUE.
func PodsOf(ctx context.Context, namespace, labels string) (names []string) {
	GinkgoHelper()
	selector, err := metav1.ParseToLabelSelector(labels)
	Expect(err).NotTo(HaveOccurred())
	var pods corev1.PodList
	Expect(Kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(selector.MatchLabels))).To(Succeed())
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

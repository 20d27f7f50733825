package controllers_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/api/v1alpha1"
)

// One kube-apiserver and etcd serve all specs of the package. Each spec has its own
// namespace and starts the reconcilers that it tests in this namespace.
var (
	scheme     = runtime.NewScheme()
	restConfig *rest.Config
	k8s        client.Client // has no cache, so it reads from the API server
)

// patience is the time limit of steps that normally take a second, but longer on a busy
// machine.
const patience = 2 * time.Minute

func TestControllers(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "controllers")
}

var _ = BeforeSuite(func() {
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(time.Minute)
	// Most polls list objects, which takes more processor time than what they wait for.
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())

	env := &envtest.Environment{
		Scheme:                   scheme,
		CRDDirectoryPaths:        []string{filepath.Join("..", "charts", "varve-operator", "files", "crds")},
		ErrorIfCRDPathMissing:    true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: patience},
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  time.Minute,
	}
	var err error
	restConfig, err = env.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	restConfig.QPS, restConfig.Burst = -1, 0 // no limit on the client's side
	k8s, err = client.New(restConfig, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})

// newNamespace creates a namespace. No spec deletes it, because envtest has no controller
// that would delete its objects.
func newNamespace(ctx SpecContext) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(k8s.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

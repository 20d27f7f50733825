package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

// Whatever of the control plane is away or broken, samples go on: every step of
// every PV is there, once.
var _ = Describe("Capture goes on", Ordered, func() {
	var (
		l     *lab
		pvs   = archive.Names("GO:", 500)
		begin time.Time
	)

	BeforeAll(func(ctx SpecContext) {
		ioc := epics.StartIOCOn(GinkgoTB(), hostIP, archive.Counting(pvs))
		l = newLab(ctx, "absence", spec{"engines": spec{"replicas": 2}}, ioc)
		apply(l.namespace, group("pvs", inline(pvs...)))
		l.awaitReadable(ctx, pvs, time.Now())
	}, NodeTimeout(2*patience))

	BeforeEach(func() { begin = time.Now() })

	// whole waits, while something is wrong, and reads then.
	whole := func(ctx SpecContext, d time.Duration) {
		GinkgoHelper()
		Eventually(ctx, time.After(d)).WithTimeout(d + time.Minute).Should(Receive())
		figure("samples read, each step once", "%d in %.0f s", l.checkComplete(pvs, begin), time.Since(begin).Seconds())
	}

	It("while the operator is away for two minutes", func(ctx SpecContext) {
		kubectl("scale", "deployment", "varve-operator", "-n", operatorNamespace, "--replicas=0")
		kubectl("wait", "pod", "-n", operatorNamespace, "-l", "app.kubernetes.io/name=varve-operator", "--for=delete", "--timeout=1m")
		whole(ctx, either(20*time.Second, 2*time.Minute))
		kubectl("scale", "deployment", "varve-operator", "-n", operatorNamespace, "--replicas=1")
		kubectl("rollout", "status", "deployment", "varve-operator", "-n", operatorNamespace, "--timeout=2m")
		whole(ctx, 5*time.Second)
	}, SpecTimeout(2*patience))

	It("while the API server is away for a minute", Label("bare"), func(ctx SpecContext) {
		clusterScript("stop", "kube-apiserver")
		DeferCleanup(clusterScript, "start", "kube-apiserver")
		whole(ctx, either(20*time.Second, time.Minute))
		By("killing an engine's process, which finds its PVs without the API server")
		killed := killEngine(l.namespace)
		Eventually(ctx, func() int { return len(l.without(pvs, killed.Add(2*time.Second))) }).WithTimeout(time.Minute).Should(BeZero())
		figure("container killed → all PVs have samples again, without the API server", "%.1f s", time.Since(killed).Seconds())
		clusterScript("start", "kube-apiserver")
		begin = time.Now()
		whole(ctx, either(20*time.Second, 40*time.Second))
	}, SpecTimeout(2*patience))

	It("while the operator is upgraded, and its leader killed", func(ctx SpecContext) {
		installOperator("replicas=2", "podAnnotations.upgrade=again")
		kubectl("delete", "pod", "-n", operatorNamespace, "-l", "app.kubernetes.io/name=varve-operator", "--grace-period=0", "--force", "--wait=false")
		whole(ctx, 10*time.Second)
		kubectl("rollout", "status", "deployment", "varve-operator", "-n", operatorNamespace, "--timeout=2m")
		installOperator()
		whole(ctx, 5*time.Second)
	}, SpecTimeout(2*patience))

	It("when labels and lists are removed by hand", func(ctx SpecContext) {
		var shards v1alpha1.ArchiveShardList
		Expect(kube.List(ctx, &shards, client.InNamespace(l.namespace))).To(Succeed())
		for i := range shards.Items[:8] {
			s := &shards.Items[i]
			s.Labels = nil
			Expect(kube.Update(ctx, s)).To(Succeed())
		}
		kubectl("delete", "configmap", "-n", l.namespace, "-l", "varve.dev/channels=list")
		whole(ctx, 10*time.Second)
		Eventually(ctx, func() (repaired int) {
			_ = kube.List(ctx, &shards, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelArchiver: "main"})
			for _, s := range shards.Items {
				if len(s.Spec.Engines) > 0 && hasEngineLabel(&s) && listed(ctx, &s) {
					repaired++
				}
			}
			return repaired
		}).Should(Equal(64), "shards with their labels and lists")
		whole(ctx, 2*time.Second)
	}, SpecTimeout(patience))

	It("when the custom resource definition of shards is deleted, and installed again", func(ctx SpecContext) {
		const crd = "archiveshards.varve.dev"
		_, err := run("kubectl", "delete", "crd", crd)
		Expect(err).To(MatchError(ContainSubstring("varve.dev/allow-deletion")), "deleting it by mistake is refused")
		kubectl("annotate", "crd", crd, "varve.dev/allow-deletion=true")
		kubectl("delete", "crd", crd, "--timeout=1m")
		whole(ctx, 15*time.Second)
		installOperator()
		Eventually(ctx, func() (int, error) {
			var shards v1alpha1.ArchiveShardList
			err := kube.List(ctx, &shards, client.InNamespace(l.namespace))
			return len(shards.Items), err
		}).WithTimeout(patience).Should(Equal(64))
		l.awaitReady(ctx)
		whole(ctx, 5*time.Second)
	}, SpecTimeout(2*patience))

	It("while engines are rolled and scaled", func(ctx SpecContext) {
		kubectl("scale", "archiver", "main", "-n", l.namespace, "--replicas=3")
		Eventually(ctx, func() int { return len(l.pods(ctx, "engine")) }).Should(Equal(3))
		l.awaitEven(ctx, 3)
		kubectl("rollout", "restart", "deployment", "main-engine", "-n", l.namespace)
		kubectl("rollout", "status", "deployment", "main-engine", "-n", l.namespace, "--timeout=5m")
		kubectl("scale", "archiver", "main", "-n", l.namespace, "--replicas=1")
		l.awaitEven(ctx, 1)
		whole(ctx, 5*time.Second)
	}, SpecTimeout(3*patience))
})

// awaitEven waits until all shards are captured by n engines and none moves.
func (l *lab) awaitEven(ctx SpecContext, n int) {
	GinkgoHelper()
	Eventually(ctx, func() (int, error) {
		var shards v1alpha1.ArchiveShardList
		if err := kube.List(ctx, &shards, client.InNamespace(l.namespace)); err != nil {
			return 0, err
		}
		engines := map[string]bool{}
		for _, s := range shards.Items {
			if len(s.Spec.Engines) != 1 || s.Status == nil || len(s.Status.Engines) != 1 ||
				s.Status.Engines[0].Name != s.Spec.Engines[0].Name || s.Status.Engines[0].Phase != v1alpha1.Capturing {
				return -1, nil
			}
			engines[s.Spec.Engines[0].Name] = true
		}
		return len(engines), nil
	}).WithTimeout(patience).Should(Equal(n), "engines that capture, with no shard on its way")
}

// without returns the PVs that have no sample since a time.
func (l *lab) without(pvs []string, since time.Time) (missing []string) {
	all, err := l.AllEvents(pvs, since)
	if err != nil {
		return pvs
	}
	for pv, events := range all {
		if len(events) == 0 {
			missing = append(missing, pv)
		}
	}
	return missing
}

func hasEngineLabel(s *v1alpha1.ArchiveShard) bool {
	_, has := s.Labels[v1alpha1.EngineLabel(s.Spec.Engines[0].Name)]
	return has
}

func listed(ctx SpecContext, s *v1alpha1.ArchiveShard) bool {
	for _, ref := range s.Spec.Lists {
		if kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: ref.Name}, &corev1.ConfigMap{}) != nil {
			return false
		}
	}
	return true
}

// killEngine kills the process of one engine, as a crash does, and returns when.
func killEngine(namespace string) time.Time {
	GinkgoHelper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range procs {
		text, _ := os.ReadFile(path)
		args := strings.Split(string(text), "\x00")
		if len(args) < 2 || args[1] != "engine" || !strings.HasSuffix(args[0], "varve") {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if !strings.Contains(string(env), "POD_NAMESPACE="+namespace+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		return time.Now()
	}
	Fail("no engine of " + namespace + " runs on this machine")
	return time.Time{}
}

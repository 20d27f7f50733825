package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/epics"
)

// These specs make parts of the control plane unavailable or break them. The engines must keep
// archiving: every step of every PV is stored exactly once.
var _ = Describe("Capture continues", Ordered, func() {
	var (
		l     *lab.Lab
		pvs   = archive.Names("GO:", 500)
		begin time.Time
	)

	BeforeAll(func(ctx SpecContext) {
		ioc := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(pvs))
		l = lab.New(ctx, "absence", lab.Spec{"engines": lab.Spec{"replicas": 2}}, ioc)
		lab.Apply(l.Namespace, lab.Group("pvs", lab.Inline(pvs...)))
		l.AwaitReadable(ctx, pvs, time.Now())
	}, NodeTimeout(2*lab.Patience))

	BeforeEach(func() { begin = time.Now() })

	// checkAfter waits for d while the fault lasts, and then checks every sample since begin.
	checkAfter := func(ctx SpecContext, d time.Duration) {
		GinkgoHelper()
		Eventually(ctx, time.After(d)).WithTimeout(d + time.Minute).Should(Receive())
		lab.Figure("samples read, with each step once", "%d in %.0f s", l.CheckComplete(pvs, begin), time.Since(begin).Seconds())
	}

	It("while the operator is unavailable for two minutes", func(ctx SpecContext) {
		lab.Kubectl("scale", "deployment", "varve-operator", "-n", lab.OperatorNamespace, "--replicas=0")
		lab.Kubectl("wait", "pod", "-n", lab.OperatorNamespace, "-l", "app.kubernetes.io/name=varve-operator", "--for=delete", "--timeout=1m")
		checkAfter(ctx, either(20*time.Second, 2*time.Minute))
		lab.Kubectl("scale", "deployment", "varve-operator", "-n", lab.OperatorNamespace, "--replicas=1")
		lab.Kubectl("rollout", "status", "deployment", "varve-operator", "-n", lab.OperatorNamespace, "--timeout=2m")
		checkAfter(ctx, 5*time.Second)
	}, SpecTimeout(2*lab.Patience))

	It("while the API server is unavailable for a minute", Label("bare"), func(ctx SpecContext) {
		lab.ClusterScript("stop", "kube-apiserver")
		DeferCleanup(lab.ClusterScript, "start", "kube-apiserver")
		checkAfter(ctx, either(20*time.Second, time.Minute))
		By("killing an engine's process, which must find its PVs without the API server")
		killed := lab.Kill(l.Pods(ctx, "engine")[0])
		Eventually(ctx, func() int { return len(without(l, pvs, killed.Add(2*time.Second))) }).WithTimeout(time.Minute).Should(BeZero())
		lab.Figure("container killed → all PVs have samples again, without the API server", "%.1f s", time.Since(killed).Seconds())
		lab.ClusterScript("start", "kube-apiserver")
		begin = time.Now()
		checkAfter(ctx, either(20*time.Second, 40*time.Second))
	}, SpecTimeout(2*lab.Patience))

	It("while the operator is upgraded and its leader is killed", func(ctx SpecContext) {
		lab.InstallOperator("replicas=2", "podAnnotations.upgrade=again")
		lab.Kubectl("delete", "pod", "-n", lab.OperatorNamespace, "-l", "app.kubernetes.io/name=varve-operator", "--grace-period=0", "--force", "--wait=false")
		checkAfter(ctx, 10*time.Second)
		lab.Kubectl("rollout", "status", "deployment", "varve-operator", "-n", lab.OperatorNamespace, "--timeout=2m")
		lab.InstallOperator()
		checkAfter(ctx, 5*time.Second)
	}, SpecTimeout(2*lab.Patience))

	It("when labels and channel lists are removed by hand", func(ctx SpecContext) {
		var shards v1alpha1.ArchiveShardList
		Expect(lab.Kube.List(ctx, &shards, client.InNamespace(l.Namespace))).To(Succeed())
		for i := range shards.Items[:8] {
			s := &shards.Items[i]
			s.Labels = nil
			Expect(lab.Kube.Update(ctx, s)).To(Succeed())
		}
		lab.Kubectl("delete", "configmap", "-n", l.Namespace, "-l", "varve.dev/channels=list")
		checkAfter(ctx, 10*time.Second)
		Eventually(ctx, func() (repaired int) {
			_ = lab.Kube.List(ctx, &shards, client.InNamespace(l.Namespace), client.MatchingLabels{v1alpha1.LabelArchiver: "main"})
			for _, s := range shards.Items {
				if len(s.Spec.Engines) > 0 && hasEngineLabel(&s) && listed(ctx, &s) {
					repaired++
				}
			}
			return repaired
		}).Should(Equal(64), "shards with their labels and channel lists")
		checkAfter(ctx, 2*time.Second)
	}, SpecTimeout(lab.Patience))

	It("when the custom resource definition of shards is deleted and installed again", func(ctx SpecContext) {
		const crd = "archiveshards.varve.dev"
		_, err := lab.Run("kubectl", "delete", "crd", crd)
		Expect(err).To(MatchError(ContainSubstring("varve.dev/allow-deletion")), "the deletion without the annotation is refused")
		lab.Kubectl("annotate", "crd", crd, "varve.dev/allow-deletion=true")
		lab.Kubectl("delete", "crd", crd, "--timeout=1m")
		checkAfter(ctx, 15*time.Second)
		lab.InstallOperator()
		Eventually(ctx, func() (int, error) {
			var shards v1alpha1.ArchiveShardList
			err := lab.Kube.List(ctx, &shards, client.InNamespace(l.Namespace))
			return len(shards.Items), err
		}).WithTimeout(lab.Patience).Should(Equal(64))
		l.AwaitReady(ctx)
		checkAfter(ctx, 5*time.Second)
	}, SpecTimeout(2*lab.Patience))

	It("while engines are rolled and scaled", func(ctx SpecContext) {
		lab.Kubectl("scale", "archiver", "main", "-n", l.Namespace, "--replicas=3")
		Eventually(ctx, func() int { return len(l.Pods(ctx, "engine")) }).Should(Equal(3))
		awaitEven(l, ctx, 3)
		lab.Kubectl("rollout", "restart", "deployment", "main-engine", "-n", l.Namespace)
		lab.Kubectl("rollout", "status", "deployment", "main-engine", "-n", l.Namespace, "--timeout=5m")
		lab.Kubectl("scale", "archiver", "main", "-n", l.Namespace, "--replicas=1")
		awaitEven(l, ctx, 1)
		checkAfter(ctx, 5*time.Second)
	}, SpecTimeout(3*lab.Patience))
})

// awaitEven waits until n engines capture all shards and no shard is moving.
func awaitEven(l *lab.Lab, ctx SpecContext, n int) {
	GinkgoHelper()
	Eventually(ctx, func() (int, error) {
		var shards v1alpha1.ArchiveShardList
		if err := lab.Kube.List(ctx, &shards, client.InNamespace(l.Namespace)); err != nil {
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
	}).WithTimeout(lab.Patience).Should(Equal(n), "engines that capture shards while no shard is moving")
}

// without returns the PVs that have no sample since the given time.
func without(l *lab.Lab, pvs []string, since time.Time) (missing []string) {
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
		if lab.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: ref.Name}, &corev1.ConfigMap{}) != nil {
			return false
		}
	}
	return true
}

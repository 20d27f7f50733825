package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

var _ = Describe("A change of the pods of an archive that works", func() {
	const soon = 2 * time.Second // a wrong step would be taken within this time
	var (
		namespace string
		a         *v1alpha1.Archiver
	)
	image := func(g Gomega, ctx context.Context, name string) string {
		d := &appsv1.Deployment{}
		g.Expect(k8s.Get(ctx, key(namespace, name), d)).To(Succeed())
		return d.Spec.Template.Spec.Containers[0].Image
	}
	images := func(ctx context.Context) func(Gomega) []string {
		return func(g Gomega) []string {
			return []string{image(g, ctx, "main-retrieval"), image(g, ctx, "main-engine")}
		}
	}
	// work makes the pods of a Deployment ready, as Kubernetes would.
	work := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, name), d)).To(Succeed())
			n := *d.Spec.Replicas
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
			g.Expect(k8s.Status().Update(ctx, d)).To(Succeed())
		}).Should(Succeed())
	}
	// finish completes the schema Job with a certain image, as Kubernetes would.
	finish := func(ctx context.Context, image string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			var jobs batchv1.JobList
			list(ctx, namespace, &jobs)
			found := false
			for i := range jobs.Items {
				job := &jobs.Items[i]
				if job.DeletionTimestamp != nil || job.Spec.Template.Spec.Containers[0].Image != image {
					continue
				}
				if found = true; job.Status.CompletionTime != nil {
					continue
				}
				now := metav1.Now()
				job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
				job.Status.Conditions = []batchv1.JobCondition{
					{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
					{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
				}
				g.Expect(k8s.Status().Update(ctx, job)).To(Succeed())
			}
			g.Expect(found).To(BeTrue())
		}).Should(Succeed())
	}
	reconciling := func(ctx context.Context) func(Gomega) string {
		return func(g Gomega) string {
			for _, c := range get(ctx, a).Status.Conditions {
				if c.Type == v1alpha1.ConditionReconciling {
					return c.Reason + ": " + c.Message
				}
			}
			return ""
		}
	}

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		startArchivers(namespace)
		a = newArchiver(namespace, "main")
		a.Spec.Image = "varve:old"
		a = create(ctx, a)
		finish(ctx, "varve:old")
		work(ctx, "main-retrieval")
		work(ctx, "main-engine")
	})

	It("waits for the schema Job, then for the retrieval pods, then reaches the engines", func(ctx SpecContext) {
		edit(ctx, a, func() {
			a.Spec.Image = "varve:new"
			a.Spec.Engines.Replicas = new(int32(4))
		})
		Eventually(reconciling(ctx)).Should(And(HavePrefix("SchemaRuns: "), ContainSubstring("engines stay as they are")))
		Consistently(images(ctx), soon).Should(Equal([]string{"varve:old", "varve:old"}))
		Eventually(func(g Gomega) int32 {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			return *d.Spec.Replicas
		}).Should(BeEquivalentTo(4))

		finish(ctx, "varve:new")
		Eventually(images(ctx)).Should(Equal([]string{"varve:new", "varve:old"}))
		Consistently(images(ctx), soon).Should(Equal([]string{"varve:new", "varve:old"}))
		Eventually(reconciling(ctx)).Should(And(HavePrefix("RollingOut: "), ContainSubstring("retrieval pods")))

		work(ctx, "main-retrieval")
		Eventually(images(ctx)).Should(Equal([]string{"varve:new", "varve:new"}))

		By("noting the template with which all pods worked, for the condition Ready")
		worked := func(g Gomega) map[string]string {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			return d.Annotations
		}
		before := worked(Default)
		Expect(before["varve.dev/worked"]).NotTo(Equal(before["varve.dev/template"]))
		work(ctx, "main-engine")
		Eventually(worked).Should(HaveKeyWithValue("varve.dev/worked", before["varve.dev/template"]))
	})

	It("goes back while the schema Job of the new version fails", func(ctx SpecContext) {
		edit(ctx, a, func() { a.Spec.Image = "varve:new" })
		Eventually(reconciling(ctx)).Should(ContainSubstring("engines stay as they are"))
		edit(ctx, a, func() { a.Spec.Image = "varve:old" })
		finish(ctx, "varve:old")
		Consistently(images(ctx), soon).Should(Equal([]string{"varve:old", "varve:old"}))
	})

	It("stops while spec.paused is true", func(ctx SpecContext) {
		edit(ctx, a, func() { a.Spec.Image, a.Spec.Paused = "varve:new", true })
		Eventually(reconciling(ctx)).Should(HavePrefix("RolloutPaused: spec.paused is true"))
		paused := func(g Gomega) bool {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			return d.Spec.Paused
		}
		Eventually(paused).Should(BeTrue())
		Consistently(func(g Gomega) {
			g.Expect(images(ctx)(g)).To(Equal([]string{"varve:old", "varve:old"}))
			var jobs batchv1.JobList
			list(ctx, namespace, &jobs)
			g.Expect(jobs.Items).To(HaveLen(1))
			g.Expect(jobs.Items[0].Spec.Template.Spec.Containers[0].Image).To(Equal("varve:old"))
		}, soon).Should(Succeed())

		edit(ctx, a, func() { a.Spec.Paused = false })
		finish(ctx, "varve:new")
		Eventually(images(ctx)).Should(Equal([]string{"varve:new", "varve:old"}))
		Eventually(paused).Should(BeFalse())
		work(ctx, "main-retrieval")
		Eventually(images(ctx)).Should(Equal([]string{"varve:new", "varve:new"}))
	})
})

package controllers_test

import (
	"context"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/archiver"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/render"
)

// An upgraded archive has format level 5, and its pods know level 6.
var _ = Describe("An upgraded archive", func() {
	const engine = "main-engine-a"
	var (
		namespace string
		a         *v1alpha1.Archiver
		archived  int // format level of the archive
	)
	// reconcile lets a new operator get the reports of the engines, and reconcile twice: the first time it may note that
	// pods work.
	reconcile := func(ctx context.Context) {
		GinkgoHelper()
		f := fleet.New(fleet.Config{
			Pods: k8s, API: k8s, Namespaces: []string{namespace}, Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
			Fetch: func(context.Context, *corev1.Pod) (*report.Report, error) {
				return &report.Report{Engine: engine, Format: &report.Format{Archive: archived, Latest: 6}}, nil
			},
		})
		run, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Start(run) })
		Eventually(f.Synced).Should(BeTrue())
		cancel()
		running.Wait()
		r := &archiver.Reconciler{
			Client: k8s, API: k8s, Fleet: f, Outcomes: &outcome.Latest{}, Image: "varve:new", Recorder: events.NewFakeRecorder(100),
		}
		for range 2 {
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key(namespace, "main")})
			Expect(err).NotTo(HaveOccurred())
		}
	}
	job := func(ctx context.Context, component string) (found *batchv1.Job) {
		GinkgoHelper()
		var jobs batchv1.JobList
		list(ctx, namespace, &jobs)
		for i := range jobs.Items {
			if j := &jobs.Items[i]; j.DeletionTimestamp == nil && j.Labels[v1alpha1.LabelComponent] == component {
				Expect(found).To(BeNil(), "there are two Jobs")
				found = j
			}
		}
		return found
	}
	condition := func(ctx context.Context, kind string) string {
		GinkgoHelper()
		c := meta.FindStatusCondition(get(ctx, a).Status.Conditions, kind)
		Expect(c).NotTo(BeNil())
		return string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	// startPodOf creates a pod of a component that runs an image, or whose container failed.
	startPodOf := func(ctx context.Context, component, name, failure string) {
		GinkgoHelper()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: render.Labels("main", component)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: component, Image: "varve:new"}}},
		}
		Expect(k8s.Create(ctx, pod)).To(Succeed())
		s := corev1.ContainerStatus{Name: component, Image: "varve:new", ImageID: "varve@sha256:new", Ready: failure == ""}
		if failure != "" {
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Message: failure}
		}
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.1.0.1", []corev1.PodIP{{IP: "10.1.0.1"}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{s}
		Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
	}

	// work makes the pods ready, as Kubernetes would.
	work := func(ctx context.Context) {
		GinkgoHelper()
		for _, name := range []string{"main-retrieval", "main-engine"} {
			d := &appsv1.Deployment{}
			Expect(k8s.Get(ctx, key(namespace, name), d)).To(Succeed())
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			}
			Expect(k8s.Status().Update(ctx, d)).To(Succeed())
		}
	}

	BeforeEach(func(ctx SpecContext) {
		namespace, archived = newNamespace(ctx), 5
		a = create(ctx, newArchiver(namespace, "main"))
		startPodOf(ctx, v1alpha1.ComponentEngine, engine, "")
		startPodOf(ctx, v1alpha1.ComponentRetrieval, "main-retrieval-a", "")
		reconcile(ctx)
		finish(ctx, job(ctx, v1alpha1.ComponentSchema))
		reconcile(ctx)
		work(ctx)
		reconcile(ctx)
		work(ctx) // the operator has noted that the pods work, which changes the Deployments
	})

	It("is finalized by a Job, and then refuses an image that is too old", func(ctx SpecContext) {
		reconcile(ctx)
		Expect(job(ctx, v1alpha1.ComponentFinalize)).To(BeNil())
		Expect(condition(ctx, v1alpha1.ConditionFinalized)).To(And(HavePrefix("False CanBeFinalized: "), ContainSubstring("you can go back to the former release")))
		Expect(get(ctx, a).Status.Format).To(HaveValue(And(HaveField("Level", BeEquivalentTo(5)), HaveField("Latest", BeEquivalentTo(6)))))

		By("waiting for the time during which one can go back")
		edit(ctx, a, func() { a.Spec.Upgrade = &v1alpha1.UpgradeSpec{Finalize: v1alpha1.FinalizeAutomatic} })
		reconcile(ctx)
		Expect(job(ctx, v1alpha1.ComponentFinalize)).To(BeNil())
		Expect(condition(ctx, v1alpha1.ConditionFinalized)).To(HavePrefix("False Scheduled: "))

		By("waiting while spec.paused is true")
		edit(ctx, a, func() { a.Spec.Upgrade.FinalizeAfter, a.Spec.Paused = "0s", true })
		reconcile(ctx)
		Expect(job(ctx, v1alpha1.ComponentFinalize)).To(BeNil())
		Expect(condition(ctx, v1alpha1.ConditionFinalized)).To(ContainSubstring("spec.paused is true"))

		By("running the Job")
		edit(ctx, a, func() { a.Spec.Paused = false })
		reconcile(ctx)
		work(ctx)
		reconcile(ctx)
		finalize := job(ctx, v1alpha1.ComponentFinalize)
		Expect(finalize).NotTo(BeNil())
		container := finalize.Spec.Template.Spec.Containers[0]
		Expect(container.Image).To(Equal("varve:new"))
		Expect(strings.Join(container.Args, " ")).To(HavePrefix("store finalize --level=6 --cassandra=cassandra --cassandra-keyspace="))
		Expect(condition(ctx, v1alpha1.ConditionFinalized)).To(HavePrefix("False Finalizing: "))

		By("reporting why the Job fails")
		startPodOf(ctx, v1alpha1.ComponentFinalize, "main-finalize-a", "varve: opening Cassandra: no host is up")
		reconcile(ctx)
		Expect(condition(ctx, v1alpha1.ConditionDegraded)).To(And(HavePrefix("True FinalizeFailed: "), ContainSubstring("no host is up")))
		Expect(k8s.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main-finalize-a"}})).To(Succeed())

		By("completing the Job")
		finish(ctx, finalize)
		archived = 6
		reconcile(ctx)
		Expect(condition(ctx, v1alpha1.ConditionFinalized)).To(And(HavePrefix("True UpToDate: "), ContainSubstring("you cannot go back")))
		Expect(get(ctx, a).Status.Format).To(HaveValue(And(HaveField("Level", BeEquivalentTo(6)), HaveField("WorkingSince", BeNil()))))
		Expect(job(ctx, v1alpha1.ComponentFinalize)).To(BeNil())

		By("trying an image that is too old")
		edit(ctx, a, func() { a.Spec.Image = "varve:0.1.0" })
		const refusal = "varve: the archive's schema has another version: keyspace main has version 6, this program uses version 5" // of 0.1.0
		startPodOf(ctx, v1alpha1.ComponentSchema, "main-schema-a", refusal)
		reconcile(ctx)
		Expect(job(ctx, v1alpha1.ComponentFinalize)).To(BeNil())
		Expect(condition(ctx, v1alpha1.ConditionDegraded)).To(And(HavePrefix("True SchemaFailed: "), ContainSubstring("engines stay as they are: "+refusal)))
		Expect(condition(ctx, v1alpha1.ConditionFinalized)).To(ContainSubstring("has format level 6: releases that do not know this level refuse it"))
		for _, name := range []string{"main-retrieval", "main-engine"} {
			d := &appsv1.Deployment{}
			Expect(k8s.Get(ctx, key(namespace, name), d)).To(Succeed())
			Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal("varve:new"))
		}
	})

	It("is not finalized while pods are replaced", func(ctx SpecContext) {
		edit(ctx, a, func() {
			a.Spec.Upgrade = &v1alpha1.UpgradeSpec{Finalize: v1alpha1.FinalizeAutomatic, FinalizeAfter: "0s"}
			a.Spec.LogLevel = "debug"
		})
		reconcile(ctx)
		Expect(job(ctx, v1alpha1.ComponentFinalize)).To(BeNil())
		Expect(condition(ctx, v1alpha1.ConditionFinalized)).To(HavePrefix("False WaitingForPods: "))
	})
})

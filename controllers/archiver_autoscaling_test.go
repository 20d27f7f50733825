package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

const autoscaledArchiver = `
apiVersion: varve.dev/v1alpha1
kind: Archiver
metadata: {name: main}
spec:
  engines: {autoscaling: {minReplicas: 2, maxReplicas: 6}}
  storage: {cassandra: {keyspace: plant, external: {contactPoints: [cassandra]}}}
`

var _ = Describe("Autoscaling", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		startArchivers(namespace)
	})

	It("has an autoscaler while spec.engines.autoscaling is set", func(ctx SpecContext) {
		apply(ctx, object(namespace, autoscaledArchiver, "", ""), "git")
		a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main"}}
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		Eventually(func() error { return k8s.Get(ctx, key(namespace, "main-engine"), h) }).Should(Succeed())
		a = get(ctx, a)
		Expect(metav1.IsControlledBy(h, a)).To(BeTrue())
		Expect(h.Spec.MinReplicas).To(HaveValue(BeEquivalentTo(2)))
		Expect(h.Spec.MaxReplicas).To(BeEquivalentTo(6))
		Expect(h.Spec.Metrics).To(HaveLen(1))
		Expect(h.Spec.Metrics[0].ContainerResource.Target.AverageUtilization).To(HaveValue(BeEquivalentTo(70)))
		Eventually(func() int32 { return replicasOf(ctx, namespace) }).Should(BeEquivalentTo(2), "there must be at least minReplicas engines")

		edit(ctx, a, func() { a.Spec.Engines.Autoscaling.MaxReplicas = 9 })
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), h)).To(Succeed())
			g.Expect(h.Spec.MaxReplicas).To(BeEquivalentTo(9))
		}).Should(Succeed())

		edit(ctx, a, func() { a.Spec.Engines.Autoscaling = nil })
		Eventually(func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, key(namespace, "main-engine"), h))
		}).Should(BeTrue())
		Expect(k8s.Get(ctx, key(namespace, "main-engine"), &appsv1.Deployment{})).To(Succeed())
	})

	It("keeps the number of engines that a scaler has set when a manifest is applied", func(ctx SpecContext) {
		apply(ctx, object(namespace, autoscaledArchiver, "", ""), "git")
		a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main"}}
		Eventually(func() string { return get(ctx, a).Status.Selector }).ShouldNot(BeEmpty())

		scales := scaleClient()
		archivers := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "archivers"}
		is, err := scales.Scales(namespace).Get(ctx, archivers, "main", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(is.Status.Selector).To(Equal(get(ctx, a).Status.Selector), "the autoscaler finds pods by this selector")
		is.Spec.Replicas = 5
		_, err = scales.Scales(namespace).Update(ctx, archivers, is, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() int32 { return replicasOf(ctx, namespace) }).Should(BeEquivalentTo(5))

		// Apply the same manifest with one more changed field, so that the operator has a
		// change to reconcile.
		apply(ctx, object(namespace, autoscaledArchiver, "spec.logLevel", `"debug"`), "git")
		Eventually(func() []string {
			d := &appsv1.Deployment{}
			Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			return d.Spec.Template.Spec.Containers[0].Args
		}).Should(ContainElement("--log-level=debug"))
		Expect(get(ctx, a).Spec.Engines.Replicas).To(HaveValue(BeEquivalentTo(5)))
		Expect(replicasOf(ctx, namespace)).To(BeEquivalentTo(5))
	})

	It("keeps at least minReplicas engines when the manifest no longer sets replicas", func(ctx SpecContext) {
		manifest := object(namespace, autoscaledArchiver, "spec.engines.replicas", `4`)
		apply(ctx, manifest, "git")
		Eventually(func() int32 { return replicasOf(ctx, namespace) }).Should(BeEquivalentTo(4))
		unstructured.RemoveNestedField(manifest.Object, "spec", "engines", "replicas")
		apply(ctx, manifest, "git")
		a := get(ctx, &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main"}})
		Expect(a.Spec.Engines.Replicas).To(HaveValue(BeEquivalentTo(1)), "the API server must set its default")
		Eventually(func() int32 { return replicasOf(ctx, namespace) }).Should(BeEquivalentTo(2), "there must be minReplicas engines, not 1")
	})

	It("reports that CPU metrics are missing", func(ctx SpecContext) {
		apply(ctx, object(namespace, autoscaledArchiver, "", ""), "git")
		a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main"}}
		awaitCondition(ctx, a, v1alpha1.ConditionAutoscaling, metav1.ConditionUnknown, v1alpha1.ReasonWaitingForMetrics)
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		Expect(k8s.Get(ctx, key(namespace, "main-engine"), h)).To(Succeed())
		old := h.DeepCopy()
		h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{
			Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetContainerResourceMetric",
			Message:            "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)",
			LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		}}
		Expect(k8s.Status().Patch(ctx, h, client.MergeFrom(old))).To(Succeed())
		awaitCondition(ctx, a, v1alpha1.ConditionAutoscaling, metav1.ConditionFalse, v1alpha1.ReasonMetricsMissing)
		awaitCondition(ctx, a, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonMetricsMissing)
	})
})

// apply applies an object like `kubectl apply --server-side`.
func apply(ctx context.Context, u *unstructured.Unstructured, manager string) {
	GinkgoHelper()
	Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), client.FieldOwner(manager))).To(Succeed())
}

// replicasOf returns the number of engines that the engine Deployment requests, or -1 if
// the Deployment does not exist yet.
func replicasOf(ctx context.Context, namespace string) int32 {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	err := k8s.Get(ctx, key(namespace, "main-engine"), d)
	if apierrors.IsNotFound(err) {
		return -1
	}
	Expect(err).NotTo(HaveOccurred())
	return *d.Spec.Replicas
}

// scaleClient returns the client that `kubectl scale` and the HorizontalPodAutoscaler
// controller use.
func scaleClient() scale.ScalesGetter {
	GinkgoHelper()
	d, err := discovery.NewDiscoveryClientForConfig(restConfig)
	Expect(err).NotTo(HaveOccurred())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	scales, err := scale.NewForConfig(restConfig, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(d))
	Expect(err).NotTo(HaveOccurred())
	return scales
}

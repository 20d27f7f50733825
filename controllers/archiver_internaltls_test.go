package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

var _ = Describe("Certificates for /internal", func() {
	var (
		namespace string
		a         *v1alpha1.Archiver
	)
	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		a = create(ctx, newArchiver(namespace, "main"))
	})
	// mode returns what the pods of both Deployments require, as "ENGINE RETRIEVAL".
	mode := func(ctx context.Context) string {
		GinkgoHelper()
		var out [2]string
		for i, name := range []string{"main-engine", "main-retrieval"} {
			d := &appsv1.Deployment{}
			Expect(k8s.Get(ctx, key(namespace, name), d)).To(Succeed())
			out[i] = d.Spec.Template.Annotations[v1alpha1.AnnotationInternalTLS]
		}
		return out[0] + " " + out[1]
	}
	// finish acts as the controller of Deployments: all pods are of the current template.
	finish := func(ctx context.Context) {
		GinkgoHelper()
		for _, name := range []string{"main-engine", "main-retrieval"} {
			d := &appsv1.Deployment{}
			Expect(k8s.Get(ctx, key(namespace, name), d)).To(Succeed())
			n := *d.Spec.Replicas
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
			Expect(k8s.Status().Update(ctx, d)).To(Succeed())
		}
	}
	// completeJobs acts as the controller of Jobs: the schema Job has succeeded.
	completeJobs := func(ctx context.Context) {
		GinkgoHelper()
		var jobs batchv1.JobList
		list(ctx, namespace, &jobs)
		now := metav1.Now()
		for i := range jobs.Items {
			jobs.Items[i].Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
			}}
			Expect(k8s.Status().Update(ctx, &jobs.Items[i])).To(Succeed())
		}
	}
	// next lets the operator replace the pods of the next Deployment: the retrieval pods first, then the engines.
	next := func(ctx context.Context) {
		GinkgoHelper()
		finish(ctx)
		reconcileOnce(ctx, namespace, "main")
	}
	certificates := func(ctx context.Context) []unstructured.Unstructured {
		GinkgoHelper()
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(render.CertificateAPIVersion)
		list.SetKind("CertificateList")
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		return list.Items
	}
	condition := func(ctx context.Context) string {
		GinkgoHelper()
		if c := meta.FindStatusCondition(get(ctx, a).Status.Conditions, v1alpha1.ConditionInternalTLS); c != nil {
			return c.Reason
		}
		return ""
	}
	set := func(mode v1alpha1.InternalTLSMode) *v1alpha1.InternalTLSSpec {
		return &v1alpha1.InternalTLSSpec{Mode: mode, IssuerRef: v1alpha1.InternalTLSIssuer{Name: "lab", Kind: "ClusterIssuer"}}
	}
	change := func(ctx context.Context, to *v1alpha1.InternalTLSSpec) error {
		now := get(ctx, a)
		now.Spec.InternalTLS = to
		return k8s.Update(ctx, now)
	}

	It("are required only when all pods have one", func(ctx SpecContext) {
		reconcileOnce(ctx, namespace, "main")
		completeJobs(ctx)
		finish(ctx)
		Expect(mode(ctx)).To(Equal(" "))
		Expect(change(ctx, set("Required"))).To(MatchError(ContainSubstring("set mode to Optional first")))

		By("asking for them without cert-manager")
		Expect(change(ctx, set(""))).To(Succeed())
		Expect(get(ctx, a).Spec.InternalTLS.Mode).To(Equal(v1alpha1.InternalTLSOptional))
		reconcileOnce(ctx, namespace, "main")
		Expect(mode(ctx)).To(Equal(" Optional"))
		next(ctx)
		Expect(mode(ctx)).To(Equal("Optional Optional"))
		Expect(condition(ctx)).To(Equal(v1alpha1.ReasonNoCertManager))

		By("installing cert-manager")
		define("Certificate")
		reconcileOnce(ctx, namespace, "main")
		reconcileOnce(ctx, namespace, "main")
		Expect(certificates(ctx)).To(ConsistOf(
			HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("uris", ConsistOf("spiffe://varve/"+namespace+"/main/engine")))),
			HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("uris", ConsistOf("spiffe://varve/"+namespace+"/main/retrieval")))),
		))
		Expect(condition(ctx)).To(Equal(v1alpha1.ReasonNoCertificate))
		for _, c := range certificates(ctx) {
			Expect(unstructured.SetNestedSlice(c.Object, []any{map[string]any{
				"type": "Ready", "status": "True", "reason": "Ready", "message": "issued", "lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
			}}, "status", "conditions")).To(Succeed())
			Expect(k8s.Status().Update(ctx, &c)).To(Succeed())
		}
		reconcileOnce(ctx, namespace, "main")
		Expect(condition(ctx)).To(Equal(v1alpha1.ReasonInternalTLSOptional))

		By("requiring them while old pods still run")
		Expect(change(ctx, set("Required"))).To(Succeed())
		reconcileOnce(ctx, namespace, "main")
		Expect(mode(ctx)).To(Equal("Optional Optional"))
		Expect(condition(ctx)).To(Equal(v1alpha1.ReasonRollingOut))
		next(ctx)
		Expect(mode(ctx)).To(Equal("Optional Required"))
		next(ctx)
		Expect(mode(ctx)).To(Equal("Required Required"))
		Expect(condition(ctx)).To(Equal(v1alpha1.ReasonInternalTLSRequired))

		By("removing them")
		Expect(change(ctx, nil)).To(MatchError(ContainSubstring("set internalTLS.mode to Optional first")))
		Expect(change(ctx, set("Optional"))).To(Succeed())
		next(ctx)
		next(ctx)
		Expect(mode(ctx)).To(Equal("Optional Optional"))
		Expect(change(ctx, nil)).To(Succeed())
		next(ctx)
		next(ctx)
		Expect(mode(ctx)).To(Equal(" "))
		Expect(certificates(ctx)).To(BeEmpty())
		Expect(condition(ctx)).To(BeEmpty())
	})
})

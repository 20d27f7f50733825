package controllers_test

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers"
	"varve.dev/varve/controllers/archiver"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/render"
)

var _ = Describe("The archiver reconciler", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		startArchivers(namespace)
	})

	It("creates the objects of an Archiver and does not write them again", func(ctx SpecContext) {
		a := create(ctx, newArchiver(namespace, "main"))
		want := []string{
			"Deployment main-engine", "Deployment main-retrieval",
			"Job main-schema-",
			"NetworkPolicy main-engine", "NetworkPolicy main-retrieval",
			"PodDisruptionBudget main-engine", "PodDisruptionBudget main-retrieval",
			"Role main-engine", "Role main-retrieval",
			"RoleBinding main-engine", "RoleBinding main-retrieval",
			"Service main-engine", "Service main-retrieval", "Service main-retrieval-metrics",
			"ServiceAccount main-engine", "ServiceAccount main-retrieval",
		}
		Eventually(func() []string { return names(childrenOf(ctx, namespace)) }).Should(Equal(want))
		awaitCondition(ctx, a, v1alpha1.ConditionStorageReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForSchema)

		before := versions(childrenOf(ctx, namespace))
		reconcileOnce(ctx, namespace, a.Name)
		Expect(versions(childrenOf(ctx, namespace))).To(Equal(before), "a second reconciliation wrote an object")
	})

	It("applies edits and deletes objects that are no longer needed", func(ctx SpecContext) {
		a := create(ctx, newArchiver(namespace, "main"))
		var jobs batchv1.JobList
		Eventually(func() int { list(ctx, namespace, &jobs); return len(jobs.Items) }).Should(Equal(1))
		first := jobs.Items[0].Name

		edit(ctx, a, func() {
			a.Spec.Image = "varve:new"
			a.Spec.Engines.Replicas = new(int32(5))
			a.Spec.EPICS.CAAddrList = []string{"10.1.2.3"}
		})
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			g.Expect(*d.Spec.Replicas).To(BeEquivalentTo(5))
			c := d.Spec.Template.Spec.Containers[0]
			g.Expect(c.Image).To(Equal("varve:new"))
			g.Expect(c.Env).To(ContainElement(corev1.EnvVar{Name: "EPICS_CA_ADDR_LIST", Value: "10.1.2.3"}))
			list(ctx, namespace, &jobs)
			g.Expect(slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return j.DeletionTimestamp != nil })).To(HaveLen(1))
			g.Expect(jobs.Items[0].Name).NotTo(Equal(first))
		}).Should(Succeed())

		edit(ctx, a, func() { a.Spec.EPICS.CAAddrList = nil })
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			g.Expect(d.Spec.Template.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "EPICS_CA_ADDR_LIST"}))
		}).Should(Succeed())
	})

	It("reverts manual changes and keeps fields that others added", func(ctx SpecContext) {
		create(ctx, newArchiver(namespace, "main"))
		service := &corev1.Service{}
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "main-retrieval"), service)).To(Succeed())
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), &appsv1.Deployment{})).To(Succeed())
		}).Should(Succeed())

		edit(ctx, service, func() { service.Spec.Ports[0].Port = 8080 })
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main-engine"}}
		edit(ctx, account, func() {
			account.Annotations = map[string]string{"example.org/role": "archive"}
			account.AutomountServiceAccountToken = new(true)
		})
		Expect(k8s.Delete(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main-engine"}})).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "main-retrieval"), service)).To(Succeed())
			g.Expect(service.Spec.Ports).To(HaveExactElements(
				HaveField("Port", BeEquivalentTo(80)), HaveField("Port", BeEquivalentTo(17665))))
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), account)).To(Succeed())
			g.Expect(account.Annotations).To(HaveKey("example.org/role"))
			g.Expect(account.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), &appsv1.Deployment{})).To(Succeed())
		}).Should(Succeed())

		// The operator finds the Service by this label.
		edit(ctx, service, func() { service.Labels = nil })
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "main-retrieval"), service)).To(Succeed())
			g.Expect(service.Labels).To(HaveKeyWithValue(v1alpha1.LabelArchiver, "main"))
		}).Should(Succeed())
	})

	It("follows kubectl scale", func(ctx SpecContext) {
		a := create(ctx, newArchiver(namespace, "main"))
		Eventually(func() string { return get(ctx, a).Status.Selector }).Should(ContainSubstring("component=engine"))
		Expect(scaleTo(ctx, a, 7)).To(Succeed())
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			g.Expect(*d.Spec.Replicas).To(BeEquivalentTo(7))
			g.Expect(get(ctx, a).Status.Engines).To(Equal("0/7"))
		}).Should(Succeed())
	})

	It("reports why pods cannot be created", func(ctx SpecContext) {
		a := create(ctx, newArchiver(namespace, "main"))
		d := &appsv1.Deployment{}
		Eventually(func() error { return k8s.Get(ctx, key(namespace, "main-engine"), d) }).Should(Succeed())
		old := d.DeepCopy()
		d.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
			Message: `pods "main-engine-5c-" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`,
		}}
		Expect(k8s.Status().Patch(ctx, d, client.MergeFrom(old))).To(Succeed())
		awaitCondition(ctx, a, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonPodSecurity)
		c := meta.FindStatusCondition(get(ctx, a).Status.Conditions, v1alpha1.ConditionDegraded)
		Expect(c.Message).To(ContainSubstring("pod-security.kubernetes.io/enforce=privileged"))
		Expect(c.Message).NotTo(ContainSubstring("main-engine-5c-"))
	})

	It("reports an object that the API server rejects, and creates the others", func(ctx SpecContext) {
		a := newArchiver(namespace, "main")
		a.Spec.Engines.PodLabels = map[string]string{"not a label": "x"}
		create(ctx, a)
		awaitCondition(ctx, a, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonRefused)
		c := meta.FindStatusCondition(get(ctx, a).Status.Conditions, v1alpha1.ConditionDegraded)
		Expect(c.Message).To(And(ContainSubstring("Deployment main-engine"), ContainSubstring("not a label")))
		Expect(k8s.Get(ctx, key(namespace, "main-retrieval"), &appsv1.Deployment{})).To(Succeed())
	})

	It("reports a missing Secret", func(ctx SpecContext) {
		a := create(ctx, newArchiver(namespace, "main"))
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main-engine-x", Labels: render.Labels("main", v1alpha1.ComponentEngine)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "varve:test"}}},
		}
		Expect(k8s.Create(ctx, pod)).To(Succeed())
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "main-engine-x.1"},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod.Name, UID: pod.UID},
			Reason:         "FailedMount", Message: `MountVolume.SetUp failed for volume "credentials" : secret "login" not found`,
		}
		Expect(k8s.Create(ctx, event)).To(Succeed())
		pod.Status = corev1.PodStatus{
			Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute)),
			}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "engine", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
			}},
		}
		Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
		awaitCondition(ctx, a, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonFailedMount)
		c := meta.FindStatusCondition(get(ctx, a).Status.Conditions, v1alpha1.ConditionDegraded)
		Expect(c.Message).To(Equal(`engine pod: MountVolume.SetUp failed for volume "credentials" : secret "login" not found`))
		Eventually(func() []corev1.Event {
			var events corev1.EventList
			list(ctx, namespace, &events)
			return events.Items
		}).Should(ContainElement(And(HaveField("InvolvedObject.Name", "main"), HaveField("Type", corev1.EventTypeWarning),
			HaveField("Reason", v1alpha1.ReasonFailedMount))))
	})

	It("has ServiceMonitors while their CRD exists", func(ctx SpecContext) {
		crds := []*apiextensionsv1.CustomResourceDefinition{serviceMonitorCRD()}
		_, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: crds, MaxTime: patience})
		Expect(err).NotTo(HaveOccurred())
		uninstall := func() error { return envtest.UninstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: crds}) }
		DeferCleanup(uninstall)
		monitor := &unstructured.Unstructured{}
		monitor.SetAPIVersion("monitoring.coreos.com/v1")
		monitor.SetKind("ServiceMonitor")

		a := create(ctx, newArchiver(namespace, "main"))
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), monitor)).To(Succeed())
			g.Expect(k8s.Get(ctx, key(namespace, "main-retrieval"), monitor)).To(Succeed())
		}).Should(Succeed())
		Expect(metav1.IsControlledBy(monitor, a)).To(BeTrue())

		Expect(uninstall()).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, key(namespace, "main-engine"), monitor) }).ShouldNot(Succeed())
		Expect(scaleTo(ctx, a, 2)).To(Succeed())
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(k8s.Get(ctx, key(namespace, "main-engine"), d)).To(Succeed())
			g.Expect(d.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		}).Should(Succeed())
	})

	It("runs an embedded archive in one pod and keeps its volume", func(ctx SpecContext) {
		a := newArchiver(namespace, "try")
		a.Spec.Storage = v1alpha1.StorageSpec{Embedded: &v1alpha1.EmbeddedSpec{}}
		create(ctx, a)
		Eventually(func() []string { return names(childrenOf(ctx, namespace)) }).Should(Equal([]string{
			"Deployment try-engine", "NetworkPolicy try-engine", "PersistentVolumeClaim try-data",
			"PodDisruptionBudget try-engine", "Role try-engine", "RoleBinding try-engine",
			"Service try-engine", "Service try-retrieval", "ServiceAccount try-engine",
		}))
		Expect(scaleTo(ctx, a, 2)).To(MatchError(ContainSubstring("storage.embedded allows one engine")))

		claim := &corev1.PersistentVolumeClaim{}
		Expect(k8s.Get(ctx, key(namespace, "try-data"), claim)).To(Succeed())
		Expect(claim.OwnerReferences).To(BeEmpty())
		edit(ctx, a, func() { a.Spec.Storage.Embedded.DeletionPolicy = v1alpha1.DeleteData })
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "try-data"), claim)).To(Succeed())
			g.Expect(metav1.IsControlledBy(claim, a)).To(BeTrue())
		}).Should(Succeed())
		edit(ctx, a, func() { a.Spec.Storage.Embedded.DeletionPolicy = v1alpha1.RetainData })
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "try-data"), claim)).To(Succeed())
			g.Expect(claim.OwnerReferences).To(BeEmpty())
		}).Should(Succeed())
	})
})

// startArchivers runs an Archiver reconciler for one namespace until the spec ends.
func startArchivers(namespace string) {
	GinkgoHelper()
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme, Cache: controllers.CacheOptions([]string{namespace}), Logger: logr.Discard(),
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	r := archivers(mgr, namespace)
	Expect(r.SetupWithManager(mgr)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	DeferCleanup(func() { cancel(); <-done })
}

func archivers(mgr ctrl.Manager, namespace string) *archiver.Reconciler {
	return &archiver.Reconciler{
		Client: mgr.GetClient(), API: mgr.GetAPIReader(),
		Fleet: fleet.New(fleet.Config{
			Pods: mgr.GetClient(), API: mgr.GetAPIReader(), Namespaces: []string{namespace},
			Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
		}),
		Outcomes: &outcome.Latest{},
		Recorder: mgr.GetEventRecorder("varve-operator"),
		Image:    "varve:test", Registerer: prometheus.NewRegistry(), Namespace: "varve-system",
	}
}

// reconcileOnce reconciles an Archiver once with a new reconciler. Like a restarted operator,
// the reconciler has no memory of earlier passes.
func reconcileOnce(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme, Cache: controllers.CacheOptions([]string{namespace}), Logger: logr.Discard(),
		Metrics: server.Options{BindAddress: "0"},
	})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _ = mgr.Start(ctx) }()
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	_, err = archivers(mgr, namespace).Reconcile(ctx, ctrl.Request{NamespacedName: key(namespace, name)})
	Expect(err).NotTo(HaveOccurred())
}

func newArchiver(namespace, name string) *v1alpha1.Archiver {
	return &v1alpha1.Archiver{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ArchiverSpec{Storage: v1alpha1.StorageSpec{Cassandra: &v1alpha1.CassandraSpec{
			External: &v1alpha1.ExternalCassandra{ContactPoints: []string{"cassandra"}},
		}}},
	}
}

func create(ctx context.Context, a *v1alpha1.Archiver) *v1alpha1.Archiver {
	GinkgoHelper()
	Expect(k8s.Create(ctx, a)).To(Succeed())
	return a
}

// edit changes an object. It retries if the operator writes the object at the same time.
func edit(ctx context.Context, o client.Object, change func()) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		change()
		g.Expect(k8s.Update(ctx, o)).To(Succeed())
	}).Should(Succeed())
}

func get(ctx context.Context, a *v1alpha1.Archiver) *v1alpha1.Archiver {
	GinkgoHelper()
	out := &v1alpha1.Archiver{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(a), out)).To(Succeed())
	if out.Status == nil {
		out.Status = &v1alpha1.ArchiverStatus{}
	}
	return out
}

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// scaleTo sets the number of replicas like `kubectl scale`.
func scaleTo(ctx context.Context, a *v1alpha1.Archiver, replicas int) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+strconv.Itoa(replicas)+`}}`))
	return k8s.SubResource("scale").Patch(ctx, get(ctx, a), patch)
}

func awaitCondition(ctx context.Context, a *v1alpha1.Archiver, kind string, status metav1.ConditionStatus, reason string) {
	GinkgoHelper()
	Eventually(func() *metav1.Condition {
		return meta.FindStatusCondition(get(ctx, a).Status.Conditions, kind)
	}).Should(HaveValue(And(HaveField("Status", status), HaveField("Reason", reason))))
}

func list(ctx context.Context, namespace string, into client.ObjectList) {
	GinkgoHelper()
	Expect(k8s.List(ctx, into, client.InNamespace(namespace))).To(Succeed())
}

// childrenOf returns all objects of a namespace whose kind the operator may create for an
// Archiver.
func childrenOf(ctx context.Context, namespace string) map[string]client.Object {
	GinkgoHelper()
	all := map[string]client.Object{}
	for kind, l := range map[string]client.ObjectList{
		"Deployment": &appsv1.DeploymentList{}, "HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscalerList{}, "Job": &batchv1.JobList{}, "NetworkPolicy": &netv1.NetworkPolicyList{},
		"PersistentVolumeClaim": &corev1.PersistentVolumeClaimList{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		"Role": &rbacv1.RoleList{}, "RoleBinding": &rbacv1.RoleBindingList{},
		"Service": &corev1.ServiceList{}, "ServiceAccount": &corev1.ServiceAccountList{},
	} {
		list(ctx, namespace, l)
		Expect(meta.EachListItem(l, func(o runtime.Object) error {
			all[kind+" "+o.(client.Object).GetName()] = o.(client.Object)
			return nil
		})).To(Succeed())
	}
	return all
}

// names returns the names of objects, sorted. It cuts the hash off the name of a Job.
func names(objects map[string]client.Object) []string {
	var all []string
	for name, o := range objects {
		if _, job := o.(*batchv1.Job); job {
			name = name[:len(name)-8]
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func versions(objects map[string]client.Object) map[string]string {
	all := map[string]string{}
	for name, o := range objects {
		all[name] = o.GetResourceVersion()
	}
	return all
}

// serviceMonitorCRD returns the Prometheus Operator's CRD of ServiceMonitors,
// without its schema.
func serviceMonitorCRD() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "servicemonitors.monitoring.coreos.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "monitoring.coreos.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "servicemonitors", Singular: "servicemonitor", Kind: "ServiceMonitor", ListKind: "ServiceMonitorList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

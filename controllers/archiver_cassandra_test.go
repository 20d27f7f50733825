package controllers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

const managedArchiver = `
apiVersion: varve.dev/v1alpha1
kind: Archiver
metadata: {name: main}
spec:
  storage: {cassandra: {managed: {size: 1}}}
`

var _ = Describe("Managed Cassandra", Ordered, func() {
	It("waits for an operator, and then creates, grows and shrinks a datacenter", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		startArchivers(namespace)
		apply(ctx, object(namespace, managedArchiver, "", ""), "git")
		a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main"}}
		reason := func() string {
			if a = get(ctx, a); a.Status == nil {
				return ""
			}
			c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionCassandraReady)
			if c == nil {
				return ""
			}
			return c.Reason
		}
		Eventually(reason).Should(Equal(v1alpha1.ReasonCassandraOperatorMissing))
		Expect(meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionStorageReady).Reason).To(Equal(v1alpha1.ReasonCassandraOperatorMissing))

		By("creating Secrets that the operator cannot read")
		passwords := map[string]string{}
		for _, name := range []string{"main-cassandra-superuser", "main-cassandra-role"} {
			var s corev1.Secret
			Expect(k8s.Get(ctx, key(namespace, name), &s)).To(Succeed())
			Expect(len(s.Data["password"])).To(BeNumerically(">=", 20))
			Expect(s.Data).To(HaveKey("username"))
			Expect(s.OwnerReferences).To(BeEmpty(), "the passwords must outlive the Archiver, because its data does")
			passwords[string(s.Data["password"])] = name
		}
		Expect(passwords).To(HaveLen(2))

		By("installing the CRD of cass-operator")
		define("CassandraDatacenter")
		dc := cassandra("CassandraDatacenter", namespace, "main")
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(dc), dc) }).WithTimeout(lateDiscovery).Should(Succeed())
		Expect(metav1.IsControlledBy(dc, a)).To(BeTrue())
		Expect(dc.GetAnnotations()).To(HaveKeyWithValue("cassandra.datastax.com/delete-pvc", "false"))
		policy := &netv1.NetworkPolicy{}
		Eventually(func() error { return k8s.Get(ctx, key(namespace, "main-cassandra"), policy) }).Should(Succeed())
		Expect(policy.Spec.PodSelector.MatchLabels).To(Equal(map[string]string{"cassandra.datastax.com/cluster": "main-db"}))
		Eventually(reason).Should(Equal(v1alpha1.ReasonCassandraStarting))
		setConditions(ctx, dc, "Initialized", "Ready")
		Expect(nodes(dc)).To(BeEquivalentTo(1))
		job := replicationJob(ctx, namespace, 1)
		finish(ctx, job)
		Eventually(func() int32 { return get(ctx, a).Status.Cassandra.ReplicationFactor }).Should(BeEquivalentTo(1))

		By("growing: nodes first, then replicas")
		edit(ctx, a, func() { a.Spec.Storage.Cassandra.Managed.Size = 3 })
		Eventually(func() int64 { return nodes(reread(ctx, dc)) }).Should(BeEquivalentTo(3))
		setConditions(ctx, dc, "Initialized", "Ready", "ScalingUp")
		Eventually(reason).Should(Equal(v1alpha1.ReasonCassandraScaling))
		replicationJob(ctx, namespace, 1)
		setConditions(ctx, dc, "Initialized", "Ready")
		finish(ctx, replicationJob(ctx, namespace, 3))
		Eventually(func() int32 { return get(ctx, a).Status.Cassandra.ReplicationFactor }).Should(BeEquivalentTo(3))

		By("shrinking: replicas first, then nodes")
		edit(ctx, a, func() { a.Spec.Storage.Cassandra.Managed.Size = 2 })
		job = replicationJob(ctx, namespace, 2)
		Eventually(func() string { return reason() + " " + get(ctx, a).Status.Cassandra.Nodes }).Should(HavePrefix(v1alpha1.ReasonNodesDown)) // envtest has no nodes
		Expect(nodes(reread(ctx, dc))).To(BeEquivalentTo(3))
		finish(ctx, job)
		Eventually(func() int64 { return nodes(reread(ctx, dc)) }).Should(BeEquivalentTo(2))

		By("installing the CRD of k8ssandra-operator, which does not replace the CassandraDatacenter")
		define("K8ssandraCluster")
		setConditions(ctx, dc, "Initialized", "Ready")
		Eventually(func() string { return get(ctx, a).Status.Cassandra.Kind }).Should(Equal("CassandraDatacenter"))

		By("creating another Archiver, which gets a K8ssandraCluster")
		other := object(namespace, managedArchiver, "", "")
		other.SetName("other")
		apply(ctx, other, "git")
		cluster := cassandra("K8ssandraCluster", namespace, "other-db")
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(cluster), cluster) }).WithTimeout(lateDiscovery).Should(Succeed())
		Expect(apierrors.IsNotFound(k8s.Get(ctx, key(namespace, "other"), cassandra("CassandraDatacenter", namespace, "other")))).To(BeTrue(),
			"k8ssandra-operator creates the CassandraDatacenter")
	})

	It("does not let one operator take over a datacenter of the other", func(ctx SpecContext) {
		define("CassandraDatacenter")
		define("K8ssandraCluster")
		namespace := newNamespace(ctx)
		startArchivers(namespace)
		a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "main"}}
		condition := func() string {
			if a = get(ctx, a); a.Status == nil {
				return ""
			}
			c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionCassandraReady)
			if c == nil {
				return ""
			}
			return c.Reason + ": " + c.Message
		}
		dc, cluster := cassandra("CassandraDatacenter", namespace, "main"), cassandra("K8ssandraCluster", namespace, "main-db")
		absent := func(o *unstructured.Unstructured) bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(o), o))
		}

		By("keeping away from somebody's CassandraDatacenter of the same name")
		theirs := object(namespace, managedArchiver, "", "")
		theirs.SetAPIVersion(dc.GetAPIVersion())
		theirs.SetKind(dc.GetKind())
		theirs.Object["spec"] = decoded(`{clusterName: theirs, serverType: cassandra, serverVersion: 5.0.9, size: 1, managementApiAuth: {insecure: {}}, storageConfig: {}}`)
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		apply(ctx, object(namespace, managedArchiver, "", ""), "git")
		Eventually(condition).Should(ContainSubstring("CassandraDatacenter main exists and does not belong to this Archiver"))
		Expect(absent(cluster)).To(BeTrue())
		Expect(reread(ctx, dc).GetOwnerReferences()).To(BeEmpty())

		By("going on when it is gone")
		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		Eventually(func() bool { return absent(cluster) }).WithTimeout(lateDiscovery).Should(BeFalse())
		Eventually(condition).Should(HavePrefix(v1alpha1.ReasonCassandraStarting))

		By("refusing the other operator")
		edit(ctx, a, func() { a.Spec.Storage.Cassandra.Managed.Operator = v1alpha1.OperatorCassOperator })
		Eventually(condition).Should(HavePrefix("CassandraRefused: k8ssandra-operator runs this datacenter, as K8ssandraCluster main-db"))
		Expect(absent(dc)).To(BeTrue())
		Expect(meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionDegraded).Status).To(Equal(metav1.ConditionTrue))

		By("following the spec of engines while a webhook of the operator is away")
		hook := silentWebhook(ctx, namespace)
		edit(ctx, a, func() {
			a.Spec.Engines.Replicas = new(int32(2))
			a.Spec.Storage.Cassandra.Managed.Operator = "" // as the message says
			a.Spec.Storage.Cassandra.Managed.CommitLog = v1alpha1.CommitLogPeriodic
		})
		Eventually(condition).Should(HavePrefix("CassandraRefused: K8ssandraCluster main-db: the webhook k8ssandra.example.org does not answer"))
		engines := &appsv1.Deployment{}
		Eventually(func() int32 {
			Expect(k8s.Get(ctx, key(namespace, "main-engine"), engines)).To(Succeed())
			return *engines.Spec.Replicas
		}).Should(BeEquivalentTo(2))
		Expect(k8s.Delete(ctx, hook)).To(Succeed())
		Eventually(condition).Should(HavePrefix(v1alpha1.ReasonCassandraStarting))
		Expect(fmt.Sprint(reread(ctx, cluster).Object["spec"])).To(ContainSubstring("commitlog_sync:periodic"))
	})

	It("renders objects that the CRDs of both operators accept", func(ctx SpecContext) {
		define("CassandraDatacenter")
		define("K8ssandraCluster")
		namespace := newNamespace(ctx)
		strict := client.WithFieldValidation(k8s, metav1.FieldValidationStrict)
		for _, kind := range []string{render.KindCassandraDatacenter, render.KindK8ssandraCluster} {
			for i, managed := range managedSpecs {
				u := object(namespace, managedArchiver, "", "")
				Expect(unstructured.SetNestedMap(u.Object, decoded(managed), "spec", "storage", "cassandra", "managed")).To(Succeed())
				u.SetName(fmt.Sprintf("%s-%d", strings.ToLower(kind[:4]), i))
				apply(ctx, u, "git") // the API server adds the defaults
				a := get(ctx, &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: u.GetName()}})
				for _, o := range render.Archiver(render.Input{Archiver: a, Image: "varve:1", Datacenter: render.Datacenter{Kind: kind}}) {
					if *o.GetKind() != kind {
						continue
					}
					text, err := json.Marshal(o)
					Expect(err).NotTo(HaveOccurred())
					rendered := &unstructured.Unstructured{}
					Expect(rendered.UnmarshalJSON(text)).To(Succeed())
					Expect(strict.Apply(ctx, client.ApplyConfigurationFromUnstructured(rendered), client.FieldOwner("test"), client.DryRunAll)).To(Succeed(), managed)
				}
			}
		}
	})

	DescribeTable("rejects invalid input", func(ctx SpecContext, managed, field string) {
		u := object(newNamespace(ctx), managedArchiver, "", "")
		Expect(unstructured.SetNestedMap(u.Object, decoded(managed), "spec", "storage", "cassandra", "managed")).To(Succeed())
		err := k8s.Create(ctx, u)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err.Error()).To(ContainSubstring(field))
	},
		Entry("more replicas than nodes", `{size: 2, replicationFactor: 3}`, "spec.storage.cassandra.managed.replicationFactor"),
		Entry("fewer nodes than racks", `{size: 1, racks: [{name: r1}, {name: r2}]}`, "spec.storage.cassandra.managed.size"),
		Entry("an old version", `{version: 4.1.7}`, "version must be 5.0 or newer"),
		Entry("no version", `{version: five}`, "spec.storage.cassandra.managed.version"),
		Entry("no nodes", `{size: 0}`, "spec.storage.cassandra.managed.size"),
		Entry("a heap as large as the memory", `{heapSize: 4Gi, resources: {limits: {memory: 4Gi}}}`, "spec.storage.cassandra.managed.heapSize"),
		Entry("backups without k8ssandra-operator", `{operator: CassOperator, medusa: {}}`, "spec.storage.cassandra.managed.operator"),
		Entry("TLS without a Secret", `{tls: {}}`, "secretRef"),
		Entry("a rack with a long name", `{racks: [{name: a-very-long-name}]}`, "racks[0].name"),
	)

	It("rejects smaller volumes, fewer racks, another storage class, and a change to an external cluster", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		u := object(namespace, managedArchiver, "", "")
		Expect(unstructured.SetNestedMap(u.Object, decoded(`{size: 2, racks: [{name: r1}, {name: r2}], storage: 10Gi, storageClassName: fast}`), "spec", "storage", "cassandra", "managed")).To(Succeed())
		Expect(k8s.Create(ctx, u)).To(Succeed())
		for change, field := range map[string]string{
			`{size: 2, racks: [{name: r1}, {name: r2}], storage: 5Gi, storageClassName: fast}`:  "managed.storage",
			`{size: 2, racks: [{name: r1}], storage: 10Gi, storageClassName: fast}`:             "managed.racks",
			`{size: 2, racks: [{name: r1}, {name: r2}], storage: 10Gi, storageClassName: slow}`: "managed.storageClassName",
			`{size: 2, racks: [{name: r1}, {name: r2}], storage: 10Gi}`:                         "managed.storageClassName",
		} {
			other := u.DeepCopy()
			Expect(unstructured.SetNestedMap(other.Object, decoded(change), "spec", "storage", "cassandra", "managed")).To(Succeed())
			err := k8s.Update(ctx, other)
			Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", change, err)
			Expect(err.Error()).To(ContainSubstring(field))
		}
		external := u.DeepCopy()
		Expect(unstructured.SetNestedMap(external.Object, decoded(`{external: {contactPoints: [cassandra]}}`), "spec", "storage", "cassandra")).To(Succeed())
		Expect(k8s.Update(ctx, external)).To(MatchError(ContainSubstring("create another Archiver")))
	})
})

// managedSpecs are examples of managed datacenters in users' manifests.
var managedSpecs = []string{
	`{}`,
	`{size: 1, commitLog: Periodic, shareWorkers: true, deletionPolicy: Delete, heapSize: 512Mi, resources: {requests: {memory: 1Gi}}}`,
	`{size: 6, racks: [{name: r1, zone: a}, {name: r2, zone: b}, {name: r3, zone: c, nodeLabels: {disk: nvme}}], storage: 2Ti, storageClassName: fast}`,
	`{size: 2, replicationFactor: 2, image: "registry.example.org/cassandra:5.0.9", superuserSecretRef: {name: admin}}`,
	`{tls: {secretRef: {name: tls}}, cassandraYAML: {concurrent_writes: 64, data_disk_usage_max_disk_size: 1TiB}}`,
	`{tolerations: [{key: cassandra, operator: Exists, effect: NoSchedule}], nodeSelector: {cassandra: "yes"}}`,
	`{reaper: {autoScheduling: {enabled: true}}, medusa: {storageProperties: {storageProvider: s3, bucketName: b, storageSecretRef: {name: s3}}}}`,
}

// lateDiscovery is the time limit for the operator to discover a kind whose CRD was just
// installed.
const lateDiscovery = patience

// decoded parses a YAML map.
func decoded(text string) map[string]any {
	GinkgoHelper()
	m := map[string]any{}
	Expect(yaml.Unmarshal([]byte(text), &m)).To(Succeed())
	return m
}

// define installs the CRD of a kind from another project, unless it is already installed.
func define(kind string) {
	GinkgoHelper()
	out, err := exec.Command("../hack/crd.sh", kind).Output()
	Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(strings.TrimSpace(string(out)))
	Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(yaml.Unmarshal(text, crd)).To(Succeed())
	if kind == "CassandraDatacenter" {
		// The installed CRD has no schema for spec.config either: kustomize removes it,
		// because its fields depend on the Cassandra version.
		delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "config")
	}
	_, err = envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}, MaxTime: patience})
	Expect(err).NotTo(HaveOccurred())
}

func cassandra(kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(map[string]string{"CassandraDatacenter": "cassandra.datastax.com/v1beta1", "K8ssandraCluster": "k8ssandra.io/v1alpha1"}[kind])
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func reread(ctx SpecContext, u *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(u), u)).To(Succeed())
	return u
}

func nodes(dc *unstructured.Unstructured) int64 {
	GinkgoHelper()
	n, found, err := unstructured.NestedInt64(dc.Object, "spec", "size")
	Expect(found).To(BeTrue(), "%v", err)
	return n
}

// silentWebhook makes the API server ask a webhook that does not answer about K8ssandraClusters.
func silentWebhook(ctx SpecContext, namespace string) client.Object {
	GinkgoHelper()
	url, none := "https://127.0.0.1:1/", admissionv1.SideEffectClassNone
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "k8ssandra.example.org", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &url},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.OperationAll},
				Rule:       admissionv1.Rule{APIGroups: []string{"k8ssandra.io"}, APIVersions: []string{"*"}, Resources: []string{"k8ssandraclusters"}},
			}},
		}},
	}
	Expect(k8s.Create(ctx, hook)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, hook))).To(Succeed()) })
	return hook
}

// setConditions writes the status of a datacenter as cass-operator would. All given conditions
// are true.
func setConditions(ctx SpecContext, dc *unstructured.Unstructured, conditions ...string) {
	GinkgoHelper()
	var all []any
	for _, c := range conditions {
		all = append(all, map[string]any{"type": c, "status": "True", "reason": "", "message": ""})
	}
	Eventually(func(g Gomega) { // the operator may change the spec at the same time
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(dc), dc)).To(Succeed())
		status := map[string]any{"conditions": all, "observedGeneration": dc.GetGeneration(), "nodeStatuses": map[string]any{}, "nodeReplacements": []any{}}
		g.Expect(unstructured.SetNestedMap(dc.Object, status, "status")).To(Succeed())
		g.Expect(k8s.Status().Update(ctx, dc)).To(Succeed())
	}).Should(Succeed())
}

// replicationJob waits for the schema Job that sets a replication factor, and returns it.
func replicationJob(ctx SpecContext, namespace string, replicas int) (job *batchv1.Job) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var jobs batchv1.JobList
		g.Expect(k8s.List(ctx, &jobs, client.InNamespace(namespace))).To(Succeed())
		var args []string
		for i := range jobs.Items {
			if jobs.Items[i].DeletionTimestamp == nil {
				job, args = &jobs.Items[i], jobs.Items[i].Spec.Template.Spec.Containers[0].Args
			}
		}
		g.Expect(args).To(ContainElement(fmt.Sprintf("--replication-factor=%d", replicas)))
	}).Should(Succeed())
	return job
}

// finish marks a Job as complete.
func finish(ctx SpecContext, job *batchv1.Job) {
	GinkgoHelper()
	now := metav1.Now()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
		job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
		}}
		g.Expect(k8s.Status().Update(ctx, job)).To(Succeed())
	}).Should(Succeed())
}

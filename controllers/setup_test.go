package controllers_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers"
)

var _ = Describe("The operator", func() {
	It("leads again after a restart of its container, while another operator waits", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		now, duration := metav1.NewMicroTime(time.Now()), int32(3600)
		Expect(k8s.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "varve-operator"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("operator-a"), LeaseDurationSeconds: &duration, AcquireTime: &now, RenewTime: &now},
		})).To(Succeed())
		elected := map[string]<-chan struct{}{}
		for _, pod := range []string{"operator-a", "operator-b"} {
			mgr, err := controllers.NewManager(restConfig, controllers.Options{
				LeaderElect: true, Pod: pod, PodNamespace: namespace, Namespaces: []string{namespace}, Metrics: "0", Probes: "0", Log: logr.Discard(),
			})
			Expect(err).NotTo(HaveOccurred())
			elected[pod] = mgr.Elected()
			running, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer GinkgoRecover()
				defer close(done)
				Expect(mgr.Start(running)).To(Succeed())
			}()
			DeferCleanup(func() { cancel(); <-done })
		}
		Eventually(elected["operator-a"]).Should(BeClosed())
		Expect(elected["operator-b"]).NotTo(BeClosed())
	})

	It("works with the rights of its ClusterRole", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		grantOperator(ctx, namespace)
		cfg := rest.CopyConfig(restConfig)
		cfg.Impersonate.UserName = "system:serviceaccount:" + namespace + ":varve-operator"
		o := controllers.Options{Image: "varve:test", Namespaces: []string{namespace}, Metrics: "0", Probes: "0", Log: GinkgoLogr}
		mgr, err := controllers.NewManager(cfg, o)
		Expect(err).NotTo(HaveOccurred())
		Expect(controllers.Setup(mgr, o)).To(Succeed())
		running, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(done)
			Expect(mgr.Start(running)).To(Succeed())
		}()
		DeferCleanup(func() { cancel(); <-done })

		a := newArchiver(namespace, "main")
		a.Spec.Shards = 4
		create(ctx, a)
		group := &v1alpha1.ArchiveGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vacuum"},
			Spec: v1alpha1.ArchiveGroupSpec{
				ArchiverRef: v1alpha1.ArchiverReference{Name: "main"},
				Channels:    []v1alpha1.Channel{{Name: "SR01-VA:PRES-01"}, {Name: "SR01-VA:PRES-02"}},
				ChannelsFrom: []v1alpha1.ChannelSource{
					{ConfigMap: &v1alpha1.ConfigMapSource{Name: "missing"}},
				},
				DeletionPolicy: v1alpha1.DeleteData,
			},
		}
		Expect(k8s.Create(ctx, group)).To(Succeed())

		Eventually(func(g Gomega) {
			g.Expect(childrenOf(ctx, namespace)).To(HaveLen(16))
			var shards v1alpha1.ArchiveShardList
			g.Expect(k8s.List(ctx, &shards)).To(Succeed())
			var channels int32
			for _, s := range shards.Items {
				if s.Namespace == namespace {
					channels += s.Spec.Channels
				}
			}
			g.Expect(channels).To(BeEquivalentTo(2))
			g.Expect(get(ctx, a).Status.Channels).To(HaveValue(HaveField("Total", BeEquivalentTo(2))))
			g.Expect(k8s.Get(ctx, key(namespace, "vacuum"), group)).To(Succeed())
			g.Expect(group.Finalizers).To(ContainElement(v1alpha1.DataFinalizer))
			g.Expect(group.Status).To(HaveValue(HaveField("ObservedGeneration", group.Generation)))
			g.Expect(group.Status.Conditions).NotTo(BeEmpty())
			var events eventsv1.EventList
			list(ctx, namespace, &events)
			g.Expect(events.Items).To(ContainElement(HaveField("Regarding.Kind", v1alpha1.KindArchiveGroup)))
			g.Expect(seriesOf(namespace)).To(ContainElements("connected", "never_connected", "Stalled"), "alerts need these series")
		}).Should(Succeed())

		By("making backups")
		b := newBackup(namespace, "before", v1alpha1.DeleteData)
		Expect(k8s.Create(ctx, b)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "before"), b)).To(Succeed())
			g.Expect(b.Finalizers).To(ContainElement(v1alpha1.BackupFinalizer))
			g.Expect(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)).To(HaveValue(HaveField("Reason", v1alpha1.ReasonWaitingForSchema)))
		}).Should(Succeed())
		long := metav1.NewTime(time.Now().Add(-3 * 366 * 24 * time.Hour)) // ago: a backup is due
		s := &v1alpha1.ArchiveBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "yearly"}, Spec: v1alpha1.ArchiveBackupScheduleSpec{
			Schedule: "0 0 1 1 *", Template: v1alpha1.BackupTemplate{ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Destination: onVolume},
		}}
		Expect(k8s.Create(ctx, s)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "yearly"), s)).To(Succeed())
			g.Expect(s.Status.Since).NotTo(BeNil())
			s.Status.Since = &long
			g.Expect(k8s.Status().Update(ctx, s)).To(Succeed())
		}).Should(Succeed())
		edit(ctx, s, func() { s.Spec.Keep = new(int32(1)) })
		var backups v1alpha1.ArchiveBackupList
		Eventually(func() int { list(ctx, namespace, &backups); return len(backups.Items) }).Should(Equal(2))
		r := &v1alpha1.ArchiveRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "after"}, Spec: v1alpha1.ArchiveRestoreSpec{
			ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Source: onVolume, BackupName: "before",
		}}
		Expect(k8s.Create(ctx, r)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, key(namespace, "after"), r)).To(Succeed())
			g.Expect(meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionComplete)).To(HaveValue(HaveField("Reason", v1alpha1.ReasonWaitingForNoEngines)))
		}).Should(Succeed())
		Expect(k8s.Delete(ctx, b)).To(Succeed())
		Expect(k8s.Delete(ctx, s)).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, key(namespace, "before"), b) }).Should(MatchError(ContainSubstring("not found")))

		// No engine holds samples of the group, so there is no data to delete first. A
		// deleted Archiver does not block the deletion of its groups.
		Expect(k8s.Delete(ctx, a)).To(Succeed())
		Expect(k8s.Delete(ctx, group)).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, key(namespace, "vacuum"), group) }).Should(MatchError(ContainSubstring("not found")))
		Eventually(seriesOf).WithArguments(namespace).Should(BeEmpty(), "a deleted object has no metrics")
	})

	It("has no right to read Secrets", func() {
		for _, rule := range operatorRole().Rules {
			Expect(rule.Resources).NotTo(ContainElements("secrets", "*"))
			Expect(rule.APIGroups).NotTo(ContainElement("*"))
			Expect(rule.Verbs).NotTo(ContainElement("*"))
		}
	})
})

// seriesOf returns the values of all labels of the operator's series about objects of a namespace.
func seriesOf(namespace string) (values []string) {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		for _, s := range f.GetMetric() {
			var own []string
			about := false
			for _, l := range s.GetLabel() {
				about = about || strings.HasPrefix(l.GetValue(), namespace+"/")
				own = append(own, l.GetValue())
			}
			if about {
				values = append(values, own...)
			}
		}
	}
	return values
}

// operatorRole returns the ClusterRole that `make manifests` writes.
func operatorRole() *rbacv1.ClusterRole {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "config", "rbac", "role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
	return role
}

// grantOperator grants the operator's rights to a service account in a namespace.
func grantOperator(ctx context.Context, namespace string) {
	GinkgoHelper()
	role := operatorRole()
	role.Name = namespace
	Expect(k8s.Create(ctx, role)).To(Succeed())
	Expect(k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "varve-operator"}},
	})).To(Succeed())
}

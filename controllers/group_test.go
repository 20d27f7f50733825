package controllers_test

import (
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/group"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/groups/compile"
)

var _ = Describe("The group reconciler", func() {
	It("writes the status of a group only when it changes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		recorder := events.NewFakeRecorder(100)
		outcomes := &outcome.Latest{}
		r := &group.Reconciler{
			Client: k8s,
			Fleet: fleet.New(fleet.Config{
				Pods: k8s, API: k8s, Namespaces: []string{namespace}, Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
			}),
			Outcomes: outcomes,
			Recorder: recorder,
		}
		group := &v1alpha1.ArchiveGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vacuum"},
			Spec: v1alpha1.ArchiveGroupSpec{
				ArchiverRef: v1alpha1.ArchiverReference{Name: "main"},
				Channels:    []v1alpha1.Channel{{Name: "SR01-VA:PRES-01"}},
			},
		}
		reconcile := func() *v1alpha1.ArchiveGroup {
			GinkgoHelper()
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key(namespace, "vacuum")})
			Expect(err).NotTo(HaveOccurred())
			Expect(k8s.Get(ctx, key(namespace, "vacuum"), group)).To(Succeed())
			return group
		}
		Expect(k8s.Create(ctx, group)).To(Succeed())
		Expect(meta.FindStatusCondition(reconcile().Status.Conditions, v1alpha1.ConditionReady)).
			To(HaveValue(HaveField("Reason", v1alpha1.ReasonArchiverNotFound)))

		create(ctx, newArchiver(namespace, "main"))
		outcomes.Put(key(namespace, "main"), &outcome.Outcome{
			Groups:      map[string]*compile.Group{namespace + "/vacuum": {Channels: 1}},
			Generations: map[string]int64{namespace + "/vacuum": group.Generation},
			Unplaced:    1,
			Outdated:    map[string]int{namespace + "/vacuum": 1},
		})
		Expect(reconcile().Status.Channels).To(HaveValue(HaveField("Total", BeEquivalentTo(1))))
		Expect(meta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionReady)).To(HaveValue(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonNoEngine))))

		before, recorded := group.ResourceVersion, len(recorder.Events)
		Expect(reconcile().ResourceVersion).To(Equal(before), "an equal status was written")
		Expect(recorder.Events).To(HaveLen(recorded), "an event was recorded without a transition")
	})
})

package controllers_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/archiver"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/render"
)

var _ = Describe("An Archiver whose engines report", func() {
	var namespace string
	var outcomes *outcome.Latest
	var reconcile func(context.Context)
	engines := map[string]string{"10.1.0.1": "main-engine-busy", "10.1.0.2": "main-engine-idle"} // by IP
	rates := map[string]float64{"main-engine-busy": 50_000, "main-engine-idle": 4_000}

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		create(ctx, newArchiver(namespace, "main"))
		for ip, name := range engines {
			startPod(ctx, namespace, name, ip)
		}
		outcomes = &outcome.Latest{}
		f := fleet.New(fleet.Config{
			Pods: k8s, API: k8s, Namespaces: []string{namespace}, Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
			Fetch: func(_ context.Context, pod *corev1.Pod) (*report.Report, error) {
				ip := pod.Status.PodIP
				return &report.Report{
					Engine:   engines[ip],
					Shards:   []report.Shard{{Phase: string(v1alpha1.Capturing), SamplesPerSecond: rates[engines[ip]]}},
					Circuits: []report.Circuit{{Host: "10.0.0.1:5064", Count: 3}},
				}, nil
			},
		})
		run, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Start(run) })
		DeferCleanup(func() { cancel(); running.Wait() })
		Eventually(f.Synced).Should(BeTrue())
		r := &archiver.Reconciler{
			Client: k8s, API: k8s, Fleet: f, Outcomes: outcomes, Image: "varve:test", Recorder: events.NewFakeRecorder(100),
		}
		reconcile = func(ctx context.Context) {
			GinkgoHelper()
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key(namespace, "main")})
			Expect(err).NotTo(HaveOccurred())
		}
	})

	It("writes the deletion cost of each engine pod once", func(ctx SpecContext) {
		costs := func() map[string]string {
			var pods corev1.PodList
			list(ctx, namespace, &pods)
			out := map[string]string{}
			for _, p := range pods.Items {
				out[p.Name] = p.Annotations[corev1.PodDeletionCost] + " " + p.Annotations["example.org/mine"]
			}
			return out
		}
		reconcile(ctx)
		Expect(costs()).To(Equal(map[string]string{"main-engine-busy": "50000 yes", "main-engine-idle": "4000 yes"}))
		before := versionsOf(ctx, namespace)
		reconcile(ctx)
		Expect(versionsOf(ctx, namespace)).To(Equal(before), "a pod was written again")
	})

	It("shows the progress of moves and the IOC with the most circuits", func(ctx SpecContext) {
		since := time.Now().Add(-time.Minute)
		outcomes.Put(key(namespace, "main"), &outcome.Outcome{
			Moving: 9, Moves: outcome.MovesProgress{Since: since, Begun: 13, Undone: 1, Moving: 9},
		})
		reconcile(ctx)
		status := get(ctx, newArchiver(namespace, "main")).Status
		Expect(status.Moves).To(HaveValue(And(HaveField("Progress", "3/13"), HaveField("Undone", BeEquivalentTo(1)))))
		Expect(status.Moves.Since.Unix()).To(Equal(since.Unix()))
		Expect(status.WorstCircuits).To(ConsistOf(v1alpha1.CircuitCount{Host: "10.0.0.1:5064", Circuits: 6}))
		Expect(columns(ctx, namespace)).To(HaveKeyWithValue("Rebalancing", "3/13"))

		outcomes.Put(key(namespace, "main"), &outcome.Outcome{})
		reconcile(ctx)
		Expect(get(ctx, newArchiver(namespace, "main")).Status.Moves).To(BeNil())
		Expect(columns(ctx, namespace)).To(HaveKeyWithValue("Rebalancing", BeNil()))
	})
})

// versionsOf returns the resource versions of pods.
func versionsOf(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	var pods corev1.PodList
	list(ctx, namespace, &pods)
	out := map[string]string{}
	for _, p := range pods.Items {
		out[p.Name] = p.ResourceVersion
	}
	return out
}

// startPod creates a running engine pod.
func startPod(ctx context.Context, namespace, name, ip string) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: render.Labels("main", v1alpha1.ComponentEngine),
			Annotations: map[string]string{"example.org/mine": "yes"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "varve:test"}}},
	}
	Expect(k8s.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
}

// columns returns the columns of `kubectl get archivers` for the Archiver of a namespace.
func columns(ctx context.Context, namespace string) map[string]any {
	GinkgoHelper()
	web, err := rest.HTTPClientFor(restConfig)
	Expect(err).NotTo(HaveOccurred())
	server, _, err := rest.DefaultServerUrlFor(restConfig)
	Expect(err).NotTo(HaveOccurred())
	url := server.JoinPath("apis", "varve.dev", "v1alpha1", "namespaces", namespace, "archivers")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url.String(), http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	resp, err := web.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	var t metav1.Table
	Expect(json.NewDecoder(resp.Body).Decode(&t)).To(Succeed())
	Expect(t.Rows).To(HaveLen(1))
	cells := map[string]any{}
	for i, c := range t.ColumnDefinitions {
		cells[c.Name] = t.Rows[0].Cells[i]
	}
	return cells
}

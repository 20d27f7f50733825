package agent

import (
	"context"
	crand "crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

func TestAnEngineCapturesAShardAndFollowsItsEdits(t *testing.T) {
	w := newWorld(t)
	one, two := w.list("A", "B"), w.list("C")
	w.newShard(one, two)
	w.start()
	w.expectCapturing("A B C")
	w.Expect(w.engine.seals(7)).To(BeTrue())
	w.Eventually(func() string { return w.get().Status.Sealer }).Should(Equal("a"))
	w.Expect(w.entry().Lists).To(ConsistOf(one, two))

	// An edit must not interrupt the PVs that remain.
	three := w.list("A", "D")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Lists = refs([]string{three, two}) })
	w.Eventually(w.engine.captured).Should(Equal("A C D"))
	w.Eventually(func() []string { return w.entry().Lists }).Should(ConsistOf(two, three))
	w.Expect(w.engine.everLost()).To(Equal(map[string]int{"B": 1}))

	// A spec without lists is an order to capture nothing.
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Lists = nil })
	w.Eventually(w.engine.captured).Should(BeEmpty())
	w.Expect(w.engine.Held()).To(ConsistOf(7))
	w.Expect(w.phase()).To(Equal(v1alpha1.Capturing))
}

func TestStatusIsWrittenOnTransitionsOnly(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	writes := func() float64 { return value(w.agent.metrics.writes) }
	w.expectCapturing("A")
	w.Eventually(w.relisted()).Should(BeTrue())
	before := writes()
	w.Expect(before).To(BeNumerically("<=", 2), "Joining, Capturing")
	// Neither a new watch, as after an outage, nor the passing of time causes further writes.
	for range 3 {
		w.cable.cut()
		w.Eventually(func() float64 { return value(w.agent.metrics.leaseFailures) }).Should(BeNumerically(">", 0))
		w.cable.mend()
		w.Eventually(w.relisted()).Should(BeTrue())
	}
	w.Consistently(writes, "1s").Should(Equal(before))
}

// value returns the value of a counter.
func value(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic("BUG: " + err.Error())
	}
	return m.GetCounter().GetValue()
}

// relisted changes the shard. It returns a function that reports whether the agent has seen
// the change.
func (w *world) relisted() func() bool {
	w.edit(func(s *v1alpha1.ArchiveShard) { metav1.SetMetaDataLabel(&s.ObjectMeta, "seen", crand.Text()) })
	version := w.get().ResourceVersion
	return func() bool {
		all, _ := w.agent.objects.All()
		return all[shardName] != nil && all[shardName].ResourceVersion == version
	}
}

func TestCaptureContinuesWhenTheLabelIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.expectCapturing("A")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Labels = nil })
	w.Eventually(w.orphans).Should(Equal(1))
	w.Eventually(func() string { return w.entry().Message }).Should(ContainSubstring("label"))
	// The engine still follows the orders in the spec.
	two := w.list("B")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Lists = refs([]string{two}) })
	w.expectCapturing("B")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Labels = map[string]string{v1alpha1.EngineLabel("a"): ""} })
	w.Eventually(w.orphans).Should(BeZero())
	w.Eventually(func() string { return w.entry().Message }).Should(BeEmpty())
	w.Expect(w.engine.everLost()).To(Equal(map[string]int{"A": 1}))
}

func TestCaptureContinuesWhenAListIsRemoved(t *testing.T) {
	w := newWorld(t)
	one := w.list("A", "B")
	w.newShard(one)
	w.start()
	w.expectCapturing("A B")

	// A list that the engine has read is no longer needed. A list that it has never read does
	// not stop capture.
	w.deleteList(one)
	two, three := w.list("C"), w.list("A", "D")
	w.deleteList(two)
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Lists = refs([]string{two, three}) })
	w.Eventually(w.engine.captured).Should(Equal("A B D"))
	w.Eventually(func() string { return w.entry().Message }).Should(ContainSubstring("does not exist"))
	w.Eventually(func() []string { return w.entry().Lists }).Should(ConsistOf(one, three))
	w.Expect(w.engine.everLost()).To(BeEmpty())

	// The list is created again.
	w.list("C")
	w.Eventually(w.engine.captured).Should(Equal("A C D"))
	w.Eventually(w.entry).Should(And(HaveField("Message", ""), HaveField("Lists", ConsistOf(two, three))))
}

func TestCaptureContinuesWhenTheArchiveShardIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.expectCapturing("A")
	w.Expect(w.client.Delete(t.Context(), w.get())).To(Succeed())
	w.Eventually(w.orphans).Should(Equal(1))
	w.Expect(w.agent.Report().Shards).To(HaveLen(1))
	w.Expect(w.engine.captured()).To(Equal("A"))
	// The operator creates it again.
	w.newShard(w.list("A"))
	w.Eventually(w.orphans).Should(BeZero())
	w.Eventually(w.phase).Should(Equal(v1alpha1.Capturing))
	w.Expect(w.engine.everLost()).To(BeEmpty())
}

func TestCaptureContinuesWhenTheCRDIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.expectCapturing("A")
	scheme := runtime.NewScheme()
	w.Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(apiServer, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "archiveshards.varve.dev"}}
	w.Expect(c.Delete(t.Context(), crd)).To(Succeed())
	w.Eventually(func() error { return client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)) }).Should(Succeed())
	w.Eventually(w.orphans).Should(Equal(1))
	w.Expect(w.engine.captured()).To(Equal("A"))

	w.Eventually(func() error {
		_, err := envtest.InstallCRDs(apiServer, envtest.CRDInstallOptions{Paths: crdPaths, MaxTime: 2 * time.Minute})
		return err
	}).Should(Succeed())
	w.newShard(w.list("A", "B"))
	w.expectCapturing("A B")
	w.Expect(w.orphans()).To(BeZero())
	w.Expect(w.engine.everLost()).To(BeEmpty())
}

func TestCaptureContinuesWhenTheAPIServerIsUnreachable(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.expectCapturing("A")
	w.cable.cut()
	two := w.list("A", "B")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Lists = refs([]string{two}) })
	w.Consistently(w.engine.captured, "1s").Should(Equal("A"))
	w.Expect(w.agent.Ready()).To(Succeed())
	w.Expect(w.orphans()).To(BeZero())
	w.cable.mend()
	w.Eventually(w.engine.captured).Should(Equal("A B"))
	w.Eventually(func() []string { return w.entry().Lists }).Should(ConsistOf(two))
	w.Expect(w.engine.everLost()).To(BeEmpty())
}

func TestARestartCapturesAtOnceWithoutTheAPIServer(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A", "B"))
	w.start()
	w.Expect(w.agent.Ready()).NotTo(Succeed(), "the agent must not be ready before it knows its assignment")
	w.expectCapturing("A B")
	w.cable.cut()
	w.start()
	w.Expect(w.engine.captured()).To(Equal("A B"), "the engine must capture as soon as the process runs")
	w.Expect(w.engine.seals(7)).To(BeTrue())
	w.Expect(w.agent.Ready()).To(Succeed())
	w.cable.mend()
	two := w.list("B", "C")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Lists = refs([]string{two}) })
	w.Eventually(w.engine.captured).Should(Equal("B C"))
	w.Expect(w.engine.everLost()).To(Equal(map[string]int{"A": 1}))
}

func TestAShardMovesToAnotherEngine(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.expectCapturing("A")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Engines = orders("b", captures, "a", drains).Engines })
	w.Eventually(w.phase).Should(Equal(v1alpha1.Draining))
	w.setPhase("b", v1alpha1.Joining)
	w.Consistently(w.engine.captured, "500ms").Should(Equal("A"))

	w.engine.set(func(f *fakeEngine) { f.slow = true })
	w.setPhase("b", v1alpha1.Capturing)
	w.Eventually(w.engine.captured).Should(BeEmpty())
	w.Expect(w.phase()).To(Equal(v1alpha1.Draining), "the engine must drain while it flushes samples")
	w.engine.set(func(f *fakeEngine) { f.closing = nil })
	w.Eventually(w.phase).Should(Equal(v1alpha1.Drained))

	// Neither a restart nor a successor that joins again brings the shard back.
	w.setPhase("b", v1alpha1.Joining)
	w.start()
	w.Eventually(w.agent.objects.Synced).Should(BeTrue())
	w.Consistently(w.engine.captured, "500ms").Should(BeEmpty())

	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Engines, s.Labels = orders("b", captures).Engines, nil })
	w.Eventually(w.phase).Should(BeEmpty(), "an engine must not have an entry in the status of a shard that does not name it")
}

func TestAJoiningEngineJournalsAndWaitsForItsChannels(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Engines = orders("b", captures, "a", captures).Engines })
	w.setPhase("b", v1alpha1.Capturing)
	w.start()
	w.engine.set(func(f *fakeEngine) { f.unreachable = true })
	w.Eventually(w.engine.captured).Should(Equal("A"))
	w.Expect(w.engine.seals(7)).To(BeFalse())
	w.Eventually(w.phase).Should(Equal(v1alpha1.Joining))
	w.Consistently(w.phase, "1s").Should(Equal(v1alpha1.Joining))
	w.Expect(w.agent.Report().Groups).To(BeEmpty(), "the other engine counts the channels")
	w.engine.set(func(f *fakeEngine) { f.unreachable = false })
	w.Eventually(w.phase).Should(Equal(v1alpha1.Capturing))
	w.Expect(w.entry().Connected).To(HaveValue(BeEquivalentTo(1)))
}

// TestTheStatusShowsSinceWhenSamplesAreUnstored checks that the status shows which engines
// hold unstored samples of a shard, and since when. Readers need both.
func TestTheStatusShowsSinceWhenSamplesAreUnstored(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.expectCapturing("A")
	w.engine.set(func(f *fakeEngine) { f.waiting = map[int]time.Duration{7: 0, 8: time.Hour} })
	w.Eventually(func() *metav1.Time { return w.entry().WaitingSince }).ShouldNot(BeNil())
	w.Expect(w.entry().WaitingSince.Time).To(BeTemporally("~", time.Now(), 10*time.Minute))
	w.engine.set(func(f *fakeEngine) { f.waiting[7] = time.Hour })
	w.Eventually(func() time.Time { return w.entry().WaitingSince.Time }).Should(BeTemporally("<", time.Now().Add(-time.Hour)))
	w.engine.set(func(f *fakeEngine) { f.waiting = nil })
	w.Eventually(w.entry).Should(And(HaveField("WaitingSince", BeNil()), HaveField("Phase", v1alpha1.Capturing)))
}

// TestTheActualSealerIsInTheStatus checks that an engine may become the sealer in the store
// although the spec names another one. It then reports that it seals, and carries out
// deletions.
func TestTheActualSealerIsInTheStatus(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.expectCapturing("A")
	w.Eventually(func() string { return w.get().Status.Sealer }).Should(Equal("a"))
	w.edit(func(s *v1alpha1.ArchiveShard) {
		s.Spec.Engines = append([]v1alpha1.ShardEngine{{Name: "b", Order: v1alpha1.OrderCapture}}, s.Spec.Engines...)
	})
	w.Eventually(func() bool { return w.engine.seals(7) }).Should(BeFalse())
	w.updateStatus(statusUpdate{entry: v1alpha1.ShardEngineStatus{Name: "b", Phase: v1alpha1.Capturing}, seals: true})
	gone := w.list("X")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Deletions = refs([]string{gone}) })
	w.engine.set(func(f *fakeEngine) { f.passed = map[int]bool{7: true} })
	w.Eventually(func() string { return w.get().Status.Sealer }).Should(Equal("a"))
	w.Eventually(w.entry).Should(HaveField("Deleted", ConsistOf(gone)))
}

func TestDataIsDeletedByTheSealer(t *testing.T) {
	w := newWorld(t)
	w.newShard(w.list("A"))
	w.start()
	w.engine.set(func(f *fakeEngine) { f.broken = true })
	w.expectCapturing("A")
	gone := w.list("X", "Y")
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Deletions = refs([]string{gone}) })
	w.Eventually(func() string { return w.entry().Message }).Should(ContainSubstring("deleted"))
	w.Expect(w.entry().Deleted).To(BeEmpty())
	w.engine.set(func(f *fakeEngine) { f.broken = false })
	w.Eventually(w.entry).Should(And(HaveField("Deleted", ConsistOf(gone)), HaveField("Message", "")))
	w.Expect(w.engine.deleted).To(Equal([]string{"X", "Y"}))
	w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Deletions = nil })
	w.Eventually(w.entry).Should(HaveField("Deleted", BeEmpty()))
}

func TestTheLeaseIsRenewed(t *testing.T) {
	w := newWorld(t)
	w.start()
	var lease coordinationv1.Lease
	get := func() time.Time {
		if w.client.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "a"}, &lease) != nil {
			return time.Time{}
		}
		return lease.Spec.RenewTime.Time
	}
	w.Eventually(get).ShouldNot(BeZero())
	first := get()
	w.Expect(*lease.Spec.HolderIdentity).To(Equal(w.engine.Writer().String()))
	w.Expect(*lease.Spec.LeaseDurationSeconds).To(BeEquivalentTo(10))
	w.Expect(lease.Labels).To(HaveKeyWithValue(v1alpha1.LabelArchiver, "main"))
	w.Expect(lease.OwnerReferences).To(HaveLen(1))
	w.Eventually(get).Should(BeTemporally(">", first))
	// The engine creates a deleted Lease again.
	w.Expect(w.client.Delete(t.Context(), &lease)).To(Succeed())
	w.Eventually(get).Should(BeTemporally(">", first))
}

func TestADrain(t *testing.T) {
	t.Run("ends when other engines have the shards", func(t *testing.T) {
		w := newWorld(t)
		w.newShard(w.list("A"))
		w.start()
		w.expectCapturing("A")
		why := w.drain()
		w.Eventually(func() bool { return w.agent.Report().Draining }).Should(BeTrue())
		w.Expect(w.agent.Ready()).NotTo(Succeed())
		w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Engines = orders("b", captures, "a", drains).Engines })
		w.Consistently(why, "300ms").ShouldNot(Receive())
		w.setPhase("b", v1alpha1.Capturing)
		w.Eventually(why).Should(Receive(Equal(drainEmpty)))
		w.Expect(w.phase()).To(Equal(v1alpha1.Drained))
	})
	t.Run("ends when the shards are being deleted", func(t *testing.T) {
		w := newWorld(t)
		w.newShard(w.list("A"))
		w.start()
		w.expectCapturing("A")
		why := w.drain()
		w.Expect(w.client.Delete(t.Context(), w.get())).To(Succeed())
		w.Eventually(why, "5s").Should(Receive(Equal(drainGone)))
		w.Expect(w.engine.captured()).To(Equal("A"))
	})
	t.Run("ends when no engine takes over the shards", func(t *testing.T) {
		w := newWorld(t)
		w.newShard(w.list("A"))
		w.start()
		w.expectCapturing("A")
		w.agent.Drain(cancelled(t))
		begun := time.Now()
		// result asks for the report as an operator does until a time from now, and returns the result then.
		result := func(after time.Duration) string {
			w.agent.asked.since, w.agent.asked.last = begun, time.Now().Add(after)
			return w.agent.drainResult(time.Now().Add(after))
		}
		w.Expect(result(progressTimeout - time.Second)).To(BeEmpty())
		w.Expect(result(progressTimeout)).To(Equal(drainIgnored))
		w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Engines = orders("a", captures, "b", captures).Engines })
		w.Eventually(func() string { return result(progressTimeout) }).Should(BeEmpty(), "the drain must continue after a change of the spec")
		w.Expect(result(3*progressTimeout)).To(Equal(drainIgnored), "the drain must end if nothing happens after the change")
		w.edit(func(s *v1alpha1.ArchiveShard) { s.Spec.Engines = orders("a", captures, "b", drains).Engines })
		w.Eventually(func() string { return result(2 * progressTimeout) }).Should(BeEmpty(), "the drain must wait until b has drained")
		w.Expect(result(2*othersTimeout)).To(Equal(drainIgnored), "the drain must end if b does not finish")
	})
	t.Run("waits for an operator that is away", func(t *testing.T) {
		w := newWorld(t)
		w.newShard(w.list("A"))
		w.start()
		w.expectCapturing("A")
		w.agent.Drain(cancelled(t))
		w.Expect(w.agent.drainResult(time.Now().Add(100*progressTimeout))).To(BeEmpty(), "nobody has asked for a report")
		ask := func(query string, at time.Time) {
			w.agent.asked.note(httptest.NewRequestWithContext(t.Context(), http.MethodGet, report.Path+query, http.NoBody), at)
		}
		back := time.Now().Add(time.Hour)
		for at := back; at.Before(back.Add(2 * progressTimeout)); at = at.Add(5 * time.Second) {
			ask("", at) // a retrieval pod
		}
		w.Expect(w.agent.drainResult(back.Add(2*progressTimeout))).To(BeEmpty(), "only retrieval pods have asked")
		for at := back; at.Before(back.Add(2 * progressTimeout)); at = at.Add(5 * time.Second) {
			ask("?"+report.ByOperator, at)
			want := ""
			if at.Sub(back) >= progressTimeout {
				want = drainIgnored
			}
			w.Expect(w.agent.drainResult(at)).To(Equal(want), "the operator has been back for %v", at.Sub(back))
		}
		w.Expect(w.agent.drainResult(back.Add(3*progressTimeout))).To(BeEmpty(), "the operator is away again")
	})
	t.Run("ends at once without shards", func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.Eventually(w.drain(), "2s").Should(Receive(Equal(drainEmpty)))
	})
}

// drain starts a drain. The channel receives why it ended.
func (w *world) drain() chan string {
	why := make(chan string, 1)
	go func() { why <- w.agent.Drain(w.t.Context()) }()
	return why
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

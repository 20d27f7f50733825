package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

// The specs go on from each other: an archive that is edited while it captures.
var _ = Describe("Edits of groups", Ordered, func() {
	var (
		l     *lab
		pvs   = archive.Names("EDIT:", 300)
		begin time.Time // all PVs of the group have samples
	)
	const inGroup = 200 // PVs that are archived from the start

	BeforeAll(func(ctx SpecContext) {
		ioc := epics.StartIOCOn(GinkgoTB(), hostIP, archive.Counting(pvs))
		l = newLab(ctx, "edited-archive", spec{"engines": spec{"replicas": 2}}, ioc)
		apply(l.namespace, configMap("pvs", pvs[:inGroup]...)+group("edited", from("pvs")))
		l.awaitReadable(ctx, pvs[:inGroup], time.Now())
		begin = time.Now()
	}, NodeTimeout(2*patience))

	AfterEach(func(ctx SpecContext) {
		if !CurrentSpecReport().Failed() {
			l.checkComplete(pvs[50:inGroup-50], begin) // which no spec edits
		}
	}, NodeTimeout(patience))

	It("takes up and leaves PVs, and touches no others", func(ctx SpecContext) {
		before := l.connects()
		apply(l.namespace, configMap("pvs", append(slices.Clone(pvs[10:inGroup]), pvs[inGroup:inGroup+10]...)...))
		l.awaitReadable(ctx, pvs[inGroup:inGroup+10], time.Now())
		Eventually(ctx, func() int32 { return l.counts("edited")().Connected }).Should(BeEquivalentTo(inGroup))
		after := l.connects()
		for _, pv := range pvs[:10] {
			Expect(after).NotTo(HaveKey(pv), "a PV that was removed")
		}
		for _, pv := range pvs[10:inGroup] {
			Expect(after[pv]).To(Equal(before[pv]), "subscriptions of %s", pv)
		}
		events, err := l.Events(pvs[0], begin)
		Expect(err).NotTo(HaveOccurred())
		Expect(events).NotTo(BeEmpty(), "the samples of a PV that was removed")
	}, SpecTimeout(patience))

	It("changes deadband and retention without a gap", func(ctx SpecContext) {
		apply(l.namespace, group("wide", "sampling: {deadband: {absolute: 1000}}", inline(pvs[250])))
		l.awaitReadable(ctx, pvs[250:251], begin)
		apply(l.namespace, group("wide", "sampling: {deadband: {absolute: 0}}", "retention: {raw: 30d}", inline(pvs[250])))
		since := time.Now()
		Eventually(ctx, func() (int, error) {
			events, err := l.Events(pvs[250], since)
			return len(events), err
		}).Should(BeNumerically(">", 20), "samples inside of the former deadband")
		Eventually(ctx, l.condition("wide", "RetentionApplied")).Should(HavePrefix("False KeptForever"))
	}, SpecTimeout(patience))

	It("pauses and resumes", func(ctx SpecContext) {
		apply(l.namespace, group("edited", from("pvs"), "paused: false")+group("pausable", "paused: true", inline(pvs[251])))
		Eventually(ctx, func() int32 { return l.counts("pausable")().Paused }).Should(BeEquivalentTo(1))
		apply(l.namespace, group("pausable", "paused: false", inline(pvs[251])))
		l.awaitReadable(ctx, pvs[251:252], time.Now())
	}, SpecTimeout(patience))

	It("ends by itself", func(ctx SpecContext) {
		at := time.Now().Add(10 * time.Second).UTC().Format(time.RFC3339)
		apply(l.namespace, group("ending", "expiresAt: "+at, inline(pvs[252])))
		l.awaitReadable(ctx, pvs[252:253], begin)
		Eventually(ctx, l.condition("ending", "Expired")).Should(HavePrefix("True"))
		Eventually(ctx, func() bool { _, still := l.connects()[pvs[252]]; return still }).Should(BeFalse(), "the PV is captured")
		events, err := l.Events(pvs[252], begin)
		Expect(err).NotTo(HaveOccurred())
		Expect(events).NotTo(BeEmpty(), "what was archived stays")
	}, SpecTimeout(patience))

	It("keeps or deletes data with a group, as it says", func(ctx SpecContext) {
		apply(l.namespace, group("kept", inline(pvs[253]))+
			group("deleted", "deletionPolicy: Delete", inline(pvs[254], pvs[60]))) // [60] is in group edited, too
		l.awaitReadable(ctx, pvs[253:255], begin)
		kubectl("delete", "archivegroup", "kept", "deleted", "-n", l.namespace, "--timeout=2m")
		events, err := l.Events(pvs[253], begin)
		Expect(err).NotTo(HaveOccurred())
		Expect(events).NotTo(BeEmpty(), "deletionPolicy Retain")
		Eventually(ctx, func() (int, error) {
			code, _, err := l.Get("/api/v1/samples", url.Values{"pv": {pvs[254]}, "from": {begin.UTC().Format(time.RFC3339Nano)}})
			return code, err
		}).Should(Equal(http.StatusNotFound), "deletionPolicy Delete")
		l.checkComplete(pvs[60:61], begin)
	}, SpecTimeout(patience))

	It("says who else has a PV", func(ctx SpecContext) {
		apply(l.namespace, group("rival", "sampling: {mode: Scan, period: 1s}", inline(pvs[61], pvs[255])))
		Eventually(ctx, l.condition("rival", "Conflicted")).Should(And(HavePrefix("True"), ContainSubstring("edited"), ContainSubstring(pvs[61])))
		Eventually(ctx, l.condition("edited", "Conflicted")).Should(And(HavePrefix("True"), ContainSubstring("rival")))
		l.awaitReadable(ctx, pvs[255:256], begin)
		kubectl("delete", "archivegroup", "rival", "-n", l.namespace)
		Eventually(ctx, l.condition("edited", "Conflicted")).Should(HavePrefix("False"))
	}, SpecTimeout(patience))

	It("archives the rest of a group with mistakes", func(ctx SpecContext) {
		kubectl("create", "configmap", "unlabelled", "-n", l.namespace, "--from-literal=pvs="+pvs[270])
		apply(l.namespace, group("mistaken", from("no-such", "unlabelled"), inline(pvs[256])))
		Eventually(ctx, l.condition("mistaken", "Degraded")).Should(And(HavePrefix("True"),
			ContainSubstring("no-such"), ContainSubstring("varve.dev/channels")))
		l.awaitReadable(ctx, pvs[256:257], begin)
		By("mending them one by one")
		kubectl("label", "configmap", "unlabelled", "-n", l.namespace, "varve.dev/channels=true")
		l.awaitReadable(ctx, pvs[270:271], begin)
		apply(l.namespace, configMap("no-such", pvs[271])+group("mistaken", from("no-such", "unlabelled"), inline(pvs[256])))
		l.awaitReadable(ctx, pvs[271:272], begin)
		Eventually(ctx, l.condition("mistaken", "Degraded")).Should(HavePrefix("False"))
	}, SpecTimeout(patience))

	It("follows a ChannelFinder, and outlives it", func(ctx SpecContext) {
		finder := startFinder(pvs[257], pvs[258])
		apply(l.namespace, group("found", fmt.Sprintf("channelsFrom: [{channelFinder: {url: %q, query: \"~tag=archive\"}}]", finder.url), inline(pvs[259])))
		l.awaitReadable(ctx, pvs[257:260], begin)
		finder.stop()
		kubectl("rollout", "restart", "deployment", "-n", operatorNamespace) // forgets the names it had
		kubectl("rollout", "status", "deployment", "-n", operatorNamespace, "--timeout=2m")
		Eventually(ctx, l.condition("found", "Degraded")).Should(And(HavePrefix("True"), ContainSubstring(finder.url)))
		l.awaitReadable(ctx, pvs[257:260], time.Now())
	}, SpecTimeout(2*patience))

	It("refuses nonsense with the name of the field", func(ctx SpecContext) {
		for _, wrong := range []struct{ manifest, message string }{
			{group("x", "sampling: {mode: Scan}", inline("A")), "mode Scan needs a period"},
			{group("x", "sampling: {deadband: {absolute: -1}}", inline("A")), "spec.sampling.deadband.absolute"},
			{group("x", "retention: {raw: 5 days}", inline("A")), "spec.retention.raw"},
			{group("x", "redundancy: 3", inline("A")), "spec.redundancy"},
			{group("x", `shardBy: {prefix: {regex: "("}}`, inline("A")), "spec.shardBy.prefix.regex"},
			{group("x", "chanels: []"), "chanels"},
		} {
			_, err := feed(wrong.manifest, "kubectl", "apply", "-n", l.namespace, "-f", "-")
			Expect(err).To(MatchError(ContainSubstring(wrong.message)))
		}
		_, err := run("kubectl", "scale", "archiver", "main", "-n", l.namespace, "--replicas=-1")
		Expect(err).To(HaveOccurred())
	}, SpecTimeout(time.Minute))
})

// connects returns how often each PV that is captured connected.
func (l *lab) connects() map[string]uint64 {
	GinkgoHelper()
	var answer struct {
		Channels []struct {
			PV       string
			Connects uint64
		}
	}
	Expect(l.Decode("/api/v1/channels", map[string][]string{"limit": {"10000"}}, &answer)).To(Succeed())
	by := map[string]uint64{}
	for _, c := range answer.Channels {
		by[c.PV] = c.Connects
	}
	return by
}

// finder answers as a ChannelFinder does that knows some channels.
type finder struct {
	url  string
	stop func()
}

func startFinder(pvs ...string) *finder {
	GinkgoHelper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(hostIP, "0"))
	Expect(err).NotTo(HaveOccurred())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ChannelFinder/resources/channels", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		from, _ := strconv.Atoi(r.URL.Query().Get("~from"))
		fmt.Fprint(w, "[")
		if from == 0 && r.URL.Query().Get("~tag") == "archive" {
			for i, pv := range pvs {
				if i > 0 {
					fmt.Fprint(w, ",")
				}
				fmt.Fprintf(w, `{"name":%q,"owner":"lab","properties":[],"tags":[{"name":"archive","owner":"lab"}]}`, pv)
			}
		}
		fmt.Fprint(w, "]")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	stop := func() { _ = server.Close() }
	DeferCleanup(stop)
	return &finder{url: "http://" + listener.Addr().String() + "/ChannelFinder", stop: stop}
}

var _ = Describe("IOCs outside of the pod network", func() {
	It("are reached by address list and by name server", func(ctx SpecContext) {
		byAddress, byServer := archive.Names("UDP:", 20), archive.Names("TCP:", 20)
		first := epics.StartIOCOn(GinkgoTB(), hostIP, archive.Counting(byAddress))
		second := epics.StartIOCOn(GinkgoTB(), hostIP, archive.Counting(byServer))
		l := newLab(ctx, "two-iocs", spec{
			"storage": spec{"embedded": spec{"size": "1Gi"}},
			"epics":   spec{"caAddrList": []string{first.CAAddr()}, "caNameServers": []string{second.CAAddr()}, "autoAddrList": false},
		})
		apply(l.namespace, group("both", inline(append(byAddress, byServer...)...)))
		l.awaitReadable(ctx, append(byAddress, byServer...), time.Now())
	}, SpecTimeout(2*patience))

	It("are out of reach of hostNetwork in a restricted namespace, which the status says", func(ctx SpecContext) {
		makeNamespace("host-network")
		a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: "host-network", Name: "main"}}
		a.Spec.Storage.Embedded = &v1alpha1.EmbeddedSpec{}
		a.Spec.Engines.HostNetwork = true
		Expect(kube.Create(ctx, a)).To(Succeed())
		Eventually(ctx, func() string {
			_ = kube.Get(context.Background(), client.ObjectKeyFromObject(a), a)
			if a.Status == nil {
				return ""
			}
			for _, c := range a.Status.Conditions {
				if c.Type == v1alpha1.ConditionReady {
					return c.Reason + " " + c.Message
				}
			}
			return ""
		}).Should(ContainSubstring("pod-security.kubernetes.io/enforce"))
	}, SpecTimeout(patience))
})

// gone reports whether an object is not there.
func gone(ctx context.Context, obj client.Object) bool {
	return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(obj), obj))
}

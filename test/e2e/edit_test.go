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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/epics"
)

// These specs edit the groups of one archive while it captures. Each spec starts from the
// state that the previous spec left.
var _ = Describe("Edits of groups", Ordered, func() {
	var (
		l     *lab.Lab
		pvs   = archive.Names("EDIT:", 300)
		begin time.Time // when all PVs of the group had samples
	)
	const inGroup = 200 // number of PVs that are archived from the start

	BeforeAll(func(ctx SpecContext) {
		ioc := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(pvs))
		l = lab.New(ctx, "edited-archive", lab.Spec{"engines": lab.Spec{"replicas": 2}}, ioc)
		lab.Apply(l.Namespace, lab.ConfigMap("pvs", pvs[:inGroup]...)+lab.Group("edited", lab.From("pvs")))
		l.AwaitReadable(ctx, pvs[:inGroup], time.Now())
		begin = time.Now()
	}, NodeTimeout(2*lab.Patience))

	AfterEach(func(ctx SpecContext) {
		if !CurrentSpecReport().Failed() {
			l.CheckComplete(pvs[50:inGroup-50], begin) // no spec edits these PVs
		}
	}, NodeTimeout(lab.Patience))

	It("start and stop the capture of PVs without affecting other PVs", func(ctx SpecContext) {
		before := connects(l)
		lab.Apply(l.Namespace, lab.ConfigMap("pvs", append(slices.Clone(pvs[10:inGroup]), pvs[inGroup:inGroup+10]...)...))
		l.AwaitReadable(ctx, pvs[inGroup:inGroup+10], time.Now())
		Eventually(ctx, func() int32 { return l.Counts("edited")().Connected }).Should(BeEquivalentTo(inGroup))
		after := connects(l)
		for _, pv := range pvs[:10] {
			Expect(after).NotTo(HaveKey(pv), "a removed PV")
		}
		for _, pv := range pvs[10:inGroup] {
			Expect(after[pv]).To(Equal(before[pv]), "subscriptions of %s", pv)
		}
		events, err := l.Events(pvs[0], begin)
		Expect(err).NotTo(HaveOccurred())
		Expect(events).NotTo(BeEmpty(), "the samples of a removed PV")
	}, SpecTimeout(lab.Patience))

	It("change deadband and retention without a gap", func(ctx SpecContext) {
		lab.Apply(l.Namespace, lab.Group("wide", "sampling: {deadband: {absolute: 1000}}", lab.Inline(pvs[250])))
		l.AwaitReadable(ctx, pvs[250:251], begin)
		lab.Apply(l.Namespace, lab.Group("wide", "sampling: {deadband: {absolute: 0}}", "retention: {raw: 30d}", lab.Inline(pvs[250])))
		since := time.Now()
		Eventually(ctx, func() (int, error) {
			events, err := l.Events(pvs[250], since)
			return len(events), err
		}).Should(BeNumerically(">", 20), "samples within the former deadband")
		Eventually(ctx, l.Condition("wide", "RetentionApplied")).Should(HavePrefix("True Applied: raw samples are kept for 30d"))
	}, SpecTimeout(lab.Patience))

	It("pause and resume a group", func(ctx SpecContext) {
		lab.Apply(l.Namespace, lab.Group("edited", lab.From("pvs"), "paused: false")+lab.Group("pausable", "paused: true", lab.Inline(pvs[251])))
		Eventually(ctx, func() int32 { return l.Counts("pausable")().Paused }).Should(BeEquivalentTo(1))
		lab.Apply(l.Namespace, lab.Group("pausable", "paused: false", lab.Inline(pvs[251])))
		l.AwaitReadable(ctx, pvs[251:252], time.Now())
	}, SpecTimeout(lab.Patience))

	It("stop a group at the time in expiresAt", func(ctx SpecContext) {
		at := time.Now().Add(10 * time.Second).UTC().Format(time.RFC3339)
		lab.Apply(l.Namespace, lab.Group("ending", "expiresAt: "+at, lab.Inline(pvs[252])))
		l.AwaitReadable(ctx, pvs[252:253], begin)
		Eventually(ctx, l.Condition("ending", "Expired")).Should(HavePrefix("True"))
		Eventually(ctx, func() bool { _, still := connects(l)[pvs[252]]; return still }).Should(BeFalse(), "the PV is captured")
		events, err := l.Events(pvs[252], begin)
		Expect(err).NotTo(HaveOccurred())
		Expect(events).NotTo(BeEmpty(), "the archived samples stay")
	}, SpecTimeout(lab.Patience))

	It("keep or delete the data of a deleted group, as its deletionPolicy says", func(ctx SpecContext) {
		lab.Apply(l.Namespace, lab.Group("kept", lab.Inline(pvs[253]))+
			lab.Group("deleted", "deletionPolicy: Delete", lab.Inline(pvs[254], pvs[60]))) // pvs[60] is also in group edited
		l.AwaitReadable(ctx, pvs[253:255], begin)
		lab.Kubectl("delete", "archivegroup", "kept", "deleted", "-n", l.Namespace, "--timeout=2m")
		events, err := l.Events(pvs[253], begin)
		Expect(err).NotTo(HaveOccurred())
		Expect(events).NotTo(BeEmpty(), "deletionPolicy Retain")
		Eventually(ctx, func() (int, error) {
			code, _, err := l.Get("/api/v1/samples", url.Values{"pv": {pvs[254]}, "from": {begin.UTC().Format(time.RFC3339Nano)}})
			return code, err
		}).Should(Equal(http.StatusNotFound), "deletionPolicy Delete")
		l.CheckComplete(pvs[60:61], begin)
	}, SpecTimeout(lab.Patience))

	It("report the other group that has the same PV", func(ctx SpecContext) {
		lab.Apply(l.Namespace, lab.Group("rival", "sampling: {mode: Scan, period: 1s}", lab.Inline(pvs[61], pvs[255])))
		Eventually(ctx, l.Condition("rival", "Conflicted")).Should(And(HavePrefix("True"), ContainSubstring("edited"), ContainSubstring(pvs[61])))
		Eventually(ctx, l.Condition("edited", "Conflicted")).Should(And(HavePrefix("True"), ContainSubstring("rival")))
		l.AwaitReadable(ctx, pvs[255:256], begin)
		lab.Kubectl("delete", "archivegroup", "rival", "-n", l.Namespace)
		Eventually(ctx, l.Condition("edited", "Conflicted")).Should(HavePrefix("False"))
	}, SpecTimeout(lab.Patience))

	It("archive the valid part of a group with mistakes", func(ctx SpecContext) {
		lab.Kubectl("create", "configmap", "unlabelled", "-n", l.Namespace, "--from-literal=pvs="+pvs[270])
		lab.Apply(l.Namespace, lab.Group("mistaken", lab.From("no-such", "unlabelled"), lab.Inline(pvs[256])))
		Eventually(ctx, l.Condition("mistaken", "Degraded")).Should(And(HavePrefix("True"),
			ContainSubstring("no-such"), ContainSubstring("varve.dev/channels")))
		l.AwaitReadable(ctx, pvs[256:257], begin)
		By("correcting the mistakes one by one")
		lab.Kubectl("label", "configmap", "unlabelled", "-n", l.Namespace, "varve.dev/channels=true")
		l.AwaitReadable(ctx, pvs[270:271], begin)
		lab.Apply(l.Namespace, lab.ConfigMap("no-such", pvs[271])+lab.Group("mistaken", lab.From("no-such", "unlabelled"), lab.Inline(pvs[256])))
		l.AwaitReadable(ctx, pvs[271:272], begin)
		Eventually(ctx, l.Condition("mistaken", "Degraded")).Should(HavePrefix("False"))
	}, SpecTimeout(lab.Patience))

	It("follow a ChannelFinder, and keep its PVs when it is unavailable", func(ctx SpecContext) {
		finder := startFinder(pvs[257], pvs[258])
		lab.Apply(l.Namespace, lab.Group("found", fmt.Sprintf("channelsFrom: [{channelFinder: {url: %q, query: \"~tag=archive\"}}]", finder.url), lab.Inline(pvs[259])))
		l.AwaitReadable(ctx, pvs[257:260], begin)
		finder.stop()
		lab.Kubectl("rollout", "restart", "deployment", "-n", lab.OperatorNamespace) // the operator loses its cached names
		lab.Kubectl("rollout", "status", "deployment", "-n", lab.OperatorNamespace, "--timeout=2m")
		Eventually(ctx, l.Condition("found", "Degraded")).Should(And(HavePrefix("True"), ContainSubstring(finder.url)))
		l.AwaitReadable(ctx, pvs[257:260], time.Now())
	}, SpecTimeout(2*lab.Patience))

	It("are refused with the name of an invalid field", func(ctx SpecContext) {
		for _, wrong := range []struct{ manifest, message string }{
			{lab.Group("x", "sampling: {mode: Scan}", lab.Inline("A")), "period is required for mode Scan"},
			{lab.Group("x", "sampling: {deadband: {absolute: -1}}", lab.Inline("A")), "spec.sampling.deadband.absolute"},
			{lab.Group("x", "retention: {raw: 5 days}", lab.Inline("A")), "spec.retention.raw"},
			{lab.Group("x", "redundancy: 3", lab.Inline("A")), "spec.redundancy"},
			{lab.Group("x", `shardBy: {prefix: {regex: "("}}`, lab.Inline("A")), "spec.shardBy.prefix.regex"},
			{lab.Group("x", "chanels: []"), "chanels"},
		} {
			_, err := lab.Feed(wrong.manifest, "kubectl", "apply", "-n", l.Namespace, "-f", "-")
			Expect(err).To(MatchError(ContainSubstring(wrong.message)))
		}
		_, err := lab.Run("kubectl", "scale", "archiver", "main", "-n", l.Namespace, "--replicas=-1")
		Expect(err).To(HaveOccurred())
	}, SpecTimeout(time.Minute))
})

// connects returns the number of connections of each captured PV.
func connects(l *lab.Lab) map[string]uint64 {
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

// finder is a fake ChannelFinder that serves a few channels.
type finder struct {
	url  string
	stop func()
}

func startFinder(pvs ...string) *finder {
	GinkgoHelper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(lab.HostIP, "0"))
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
		first := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(byAddress))
		second := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(byServer))
		l := lab.New(ctx, "two-iocs", lab.Spec{
			"storage": lab.Spec{"embedded": lab.Spec{"size": "1Gi"}},
			"epics":   lab.Spec{"caAddrList": []string{first.CAAddr()}, "caNameServers": []string{second.CAAddr()}, "autoAddrList": false},
		})
		lab.Apply(l.Namespace, lab.Group("both", lab.Inline(append(byAddress, byServer...)...)))
		l.AwaitReadable(ctx, append(byAddress, byServer...), time.Now())
	}, SpecTimeout(2*lab.Patience))

	It("cannot be reached with hostNetwork in a restricted namespace, which the status reports", func(ctx SpecContext) {
		lab.MakeNamespace("host-network")
		a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: "host-network", Name: "main"}}
		a.Spec.Storage.Embedded = &v1alpha1.EmbeddedSpec{}
		a.Spec.Engines.HostNetwork = true
		Expect(lab.Kube.Create(ctx, a)).To(Succeed())
		Eventually(ctx, func() string {
			_ = lab.Kube.Get(context.Background(), client.ObjectKeyFromObject(a), a)
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
	}, SpecTimeout(lab.Patience))
})

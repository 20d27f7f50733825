package e2e

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/e2e/lab"
)

// These specs test the control plane only. No IOC serves the PVs.
var _ = Describe("200,000 PVs", Label("large"), func() {
	const lists, perList, groups = 200, 1000, 20

	It("are compiled into shards at once, and an edit causes few writes", func(ctx SpecContext) {
		l := lab.New(ctx, "large", lab.Spec{"engines": lab.Spec{"replicas": 2}, "epics": lab.Spec{"caAddrList": []string{lab.HostIP + ":9"}, "autoAddrList": false}})
		writes := apiWrites()
		applied := time.Now()
		for g := range groups {
			var b strings.Builder
			var names []string
			for i := g * lists / groups; i < (g+1)*lists/groups; i++ {
				name := fmt.Sprintf("pvs-%03d", i)
				names = append(names, name)
				b.WriteString(lab.ConfigMap(name, listOf(i, perList)...))
			}
			lab.Apply(l.Namespace, b.String()+lab.Group(fmt.Sprintf("group-%02d", g), lab.From(names...)))
		}
		lab.Figure("kubectl apply of 220 objects took", "%.1f s", time.Since(applied).Seconds())
		awaitChannels(l, ctx, lists*perList)
		lab.Figure("first apply → all PVs in channel lists", "%.1f s", time.Since(applied).Seconds())
		Eventually(ctx, func() (int, error) {
			sum, err := l.Summary()
			return sum.Channels, err
		}).WithTimeout(lab.Patience).Should(Equal(lists*perList), "channels that engines search")
		lab.Figure("first apply → all PVs searched by engines", "%.1f s", time.Since(applied).Seconds())
		lab.Figure("API writes", "%v", apiWrites().since(writes))
		showSizes(l, ctx)

		By("editing ten PVs")
		writes, applied = apiWrites(), time.Now()
		edited := listOf(0, perList)
		for i := range 10 {
			edited[i*100] = fmt.Sprintf("EDITED:%03d", i)
		}
		lab.Apply(l.Namespace, lab.ConfigMap("pvs-000", edited...))
		Eventually(ctx, func() bool { _, found := connects(l)["EDITED:000"]; return found }).WithPolling(time.Second).Should(BeTrue())
		lab.Figure("edit of 10 PVs → engines have it", "%.1f s", time.Since(applied).Seconds())
		Eventually(ctx, time.After(5*time.Second)).Should(Receive())
		lab.Figure("API writes of an edit of 10 PVs", "%v", apiWrites().since(writes))

		By("measuring an idle minute")
		writes = apiWrites()
		Eventually(ctx, time.After(either(30*time.Second, time.Minute))).WithTimeout(2 * time.Minute).Should(Receive())
		lab.Figure("API writes while idle", "%v in %v", apiWrites().since(writes), either(30*time.Second, time.Minute))
		lab.Show("top", "pod", "-n", lab.OperatorNamespace)
		lab.Show("top", "pod", "-n", l.Namespace)
	}, SpecTimeout(15*time.Minute))

	It("may be listed in groups of a thousand", func(ctx SpecContext) {
		const namespace = "largest"
		lab.MakeNamespace(namespace)
		channels := func(settings string, digits int) string {
			var b strings.Builder
			b.WriteString("channels:")
			for i := range 1000 {
				fmt.Fprintf(&b, "\n  - {name: \"%0*d\"%s}", digits, i, settings)
			}
			return b.String()
		}
		By("applying a group that fits into kubectl's annotation")
		lab.Apply(namespace, lab.Group("client-side", channels("", 200)))
		By("applying a larger group with server-side apply")
		_, err := lab.Feed(lab.Group("server-side", channels(", sampling: {mode: Monitor, events: [Log, Alarm, Value], deadband: {absolute: 0.001, relative: 0.001}, "+
			"maxRate: 100, clock: Source, clockLimit: {ahead: 5m, behind: 1d, onExceeded: Refuse}}", 256)),
			"kubectl", "apply", "--server-side", "-n", namespace, "-f", "-")
		Expect(err).NotTo(HaveOccurred(), "the validation rules of the CRD are within their cost budget")
	}, SpecTimeout(lab.Patience))
})

func listOf(list, n int) []string {
	pvs := make([]string, n)
	for i := range pvs {
		pvs[i] = fmt.Sprintf("SR%02d-VA:PRES-%03d:%04d", list%24, list, i)
	}
	return pvs
}

// awaitChannels waits until the shards list n channels.
func awaitChannels(l *lab.Lab, ctx SpecContext, n int) {
	GinkgoHelper()
	Eventually(ctx, func() (sum int, err error) {
		var shards v1alpha1.ArchiveShardList
		err = lab.Kube.List(ctx, &shards, client.InNamespace(l.Namespace))
		for _, s := range shards.Items {
			sum += int(s.Spec.Channels)
		}
		return sum, err
	}).WithTimeout(lab.Patience).Should(Equal(n), "channels in shards")
}

// showSizes reports the number and the sizes of the channel lists that the operator wrote.
func showSizes(l *lab.Lab, ctx SpecContext) {
	GinkgoHelper()
	var maps corev1.ConfigMapList
	Expect(lab.Kube.List(ctx, &maps, client.InNamespace(l.Namespace), client.MatchingLabels{v1alpha1.LabelChannels: v1alpha1.ChannelList})).To(Succeed())
	total, largest := 0, 0
	for _, m := range maps.Items {
		n := len(m.BinaryData[v1alpha1.ChannelListKey])
		total += n
		largest = max(largest, n)
	}
	lab.Figure("channel lists", "%d, %d KiB in all, the largest %d KiB", len(maps.Items), total>>10, largest>>10)
}

// writeCounts holds the number of successful writes to the API server by resource.
type writeCounts map[string]float64

// apiWrites reads the write counts from the API server's metrics.
func apiWrites() writeCounts {
	GinkgoHelper()
	counts := writeCounts{}
	lines := bufio.NewScanner(strings.NewReader(lab.Kubectl("get", "--raw", "/metrics")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		labels, value, ok := strings.Cut(lines.Text(), "} ")
		name, labels, _ := strings.Cut(labels, "{")
		if !ok || name != "apiserver_request_total" || !isWrite(labels) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		Expect(err).NotTo(HaveOccurred())
		counts[label(labels, "resource")+label(labels, "subresource")] += n
	}
	return counts
}

func isWrite(labels string) bool {
	switch label(labels, "verb") {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return strings.HasPrefix(label(labels, "code"), "2")
	}
	return false
}

// label returns the value of the label with the given name.
func label(labels, name string) string {
	_, rest, _ := strings.Cut(labels, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// since returns the writes after an earlier count, for the resources that Varve writes.
func (c writeCounts) since(before writeCounts) writeCounts {
	grown := writeCounts{}
	for _, r := range []string{"archivers", "archiversstatus", "archivegroups", "archivegroupsstatus", "archiveshards", "archiveshardsstatus", "configmaps", "leases"} {
		if n := c[r] - before[r]; n > 0 {
			grown[r] = n
		}
	}
	return grown
}

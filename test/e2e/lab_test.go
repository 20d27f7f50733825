package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

// lab is a namespace with an Archiver named main, as a lab has it.
type lab struct {
	namespace string
	iocs      []*epics.IOC
	values    string // file of the chart's values
	*archive.Client
}

// spec is what a lab asks for, as values of charts/varve.
type spec map[string]any

// newLab installs an Archiver in a namespace of its own and waits until it is
// ready. Engines search the IOCs by their addresses.
func newLab(ctx context.Context, namespace string, archiver spec, iocs ...*epics.IOC) *lab {
	GinkgoHelper()
	makeNamespace(namespace)
	l := &lab{namespace: namespace, iocs: iocs}
	if archiver["epics"] == nil {
		var ca, pva []string
		for _, ioc := range iocs {
			ca, pva = append(ca, ioc.CAAddr()), append(pva, ioc.PVAAddr())
		}
		archiver["epics"] = spec{"caAddrList": ca, "pvaNameServers": pva, "autoAddrList": false}
	}
	if archiver["storage"] == nil {
		archiver["storage"] = spec{"cassandra": spec{"external": spec{"contactPoints": []string{database.Addr()}}}}
	}
	archiver["retrieval"] = spec{"service": spec{"type": "NodePort"}}
	text, err := yaml.Marshal(spec{"archiver": spec{"spec": archiver}, "test": spec{"image": image}})
	Expect(err).NotTo(HaveOccurred())
	l.values = filepath.Join(GinkgoT().TempDir(), "values.yaml")
	Expect(os.WriteFile(l.values, text, 0o600)).To(Succeed())
	l.install(ctx)
	return l
}

// install installs the chart and waits until the Archiver is ready.
func (l *lab) install(ctx context.Context) {
	GinkgoHelper()
	helm("upgrade", "--install", "main", "../../charts/varve", "-n", l.namespace, "-f", l.values)
	l.awaitReady(ctx)
	l.findService(ctx)
}

func (l *lab) awaitReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		a := l.archiver(g)
		g.Expect(a.Status).NotTo(BeNil())
		ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(string(ready.Status)).To(Equal("True"), "%s: %s", ready.Reason, ready.Message)
		g.Expect(ready.ObservedGeneration).To(Equal(a.Generation))
	}).WithTimeout(patience).Should(Succeed(), "the Archiver is ready")
}

func (l *lab) archiver(g Gomega) *v1alpha1.Archiver {
	var a v1alpha1.Archiver
	g.Expect(kube.Get(context.Background(), client.ObjectKey{Namespace: l.namespace, Name: "main"}, &a)).To(Succeed())
	return &a
}

// findService makes the client of the archive's Service, by its port on a node.
func (l *lab) findService(ctx context.Context) {
	GinkgoHelper()
	var svc corev1.Service
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: "main-retrieval"}, &svc)).To(Succeed())
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 {
			l.Client = archive.NewClient(fmt.Sprintf("http://%s:%d", nodeAddress(ctx), p.NodePort), time.Minute)
			return
		}
	}
	Fail("the Service has no port on nodes")
}

// group returns a group's manifest; settings are lines of its spec.
func group(name string, settings ...string) string {
	return fmt.Sprintf("---\napiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata: {name: %s}\nspec:\n  archiverRef: {name: main}\n  %s\n",
		name, strings.Join(settings, "\n  "))
}

// inline is a group's list of PVs.
func inline(pvs ...string) string {
	var b strings.Builder
	b.WriteString("channels:")
	for _, pv := range pvs {
		fmt.Fprintf(&b, "\n  - {name: %q}", pv)
	}
	return b.String()
}

// from is a group's reference to ConfigMaps.
func from(configMaps ...string) string {
	var b strings.Builder
	b.WriteString("channelsFrom:")
	for _, name := range configMaps {
		fmt.Fprintf(&b, "\n  - configMap: {name: %s}", name)
	}
	return b.String()
}

// configMap returns the manifest of a ConfigMap that lists PVs.
func configMap(name string, pvs ...string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {varve.dev/channels: \"true\"}}\ndata:\n  pvs: |\n    %s\n",
		name, strings.Join(pvs, "\n    "))
}

// condition returns a function for Eventually that gives a group's condition as
// STATUS REASON MESSAGE, of the latest generation only.
func (l *lab) condition(group, kind string) func() string {
	return func() string {
		var g v1alpha1.ArchiveGroup
		if err := kube.Get(context.Background(), client.ObjectKey{Namespace: l.namespace, Name: group}, &g); err != nil {
			return err.Error()
		}
		if g.Status == nil {
			return "no status"
		}
		c := meta.FindStatusCondition(g.Status.Conditions, kind)
		if c == nil || c.ObservedGeneration != g.Generation {
			return "none yet"
		}
		return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
	}
}

// counts returns a function for Eventually that gives a group's channel counts.
func (l *lab) counts(group string) func() v1alpha1.ChannelCounts {
	return func() v1alpha1.ChannelCounts {
		var g v1alpha1.ArchiveGroup
		if kube.Get(context.Background(), client.ObjectKey{Namespace: l.namespace, Name: group}, &g) != nil ||
			g.Status == nil || g.Status.Channels == nil {
			return v1alpha1.ChannelCounts{}
		}
		return *g.Status.Channels
	}
}

// awaitReadable waits until samples of every PV since a time can be read.
func (l *lab) awaitReadable(ctx context.Context, pvs []string, since time.Time) {
	GinkgoHelper()
	left := pvs
	Eventually(ctx, func() ([]string, error) {
		all, err := l.AllEvents(left, since)
		if err == nil {
			left = slices.DeleteFunc(slices.Clone(left), func(pv string) bool { return len(all[pv]) > 0 })
		}
		return left, err
	}).WithTimeout(patience).Should(BeEmpty(), "PVs without samples since %v", since)
}

// lastBegun returns when the last of the PVs had its first sample since a time.
func (l *lab) lastBegun(pvs []string, since time.Time) (last time.Time) {
	GinkgoHelper()
	all, err := l.AllEvents(pvs, since)
	Expect(err).NotTo(HaveOccurred())
	for _, events := range all {
		if first := time.Unix(0, events[0].Time); first.After(last) {
			last = first
		}
	}
	return last
}

// checkComplete fails the spec if a step of a counting PV is missing or doubled
// since a time, and returns the number of samples. The time is to be after the
// first sample.
func (l *lab) checkComplete(pvs []string, since time.Time) (samples int) {
	GinkgoHelper()
	asked := time.Now()
	all, err := l.AllEvents(pvs, since)
	Expect(err).NotTo(HaveOccurred())
	wrong := map[string]string{}
	for _, pv := range slices.Sorted(maps.Keys(all)) {
		events := all[pv]
		samples += len(events)
		holes, err := archive.Holes(events)
		switch {
		case err != nil:
			wrong[pv] = err.Error()
		case len(holes) > 0:
			wrong[pv] = fmt.Sprint(holes)
		case len(events) == 0:
			wrong[pv] = "no samples"
		case asked.Sub(time.Unix(0, events[len(events)-1].Time)) > 10*time.Second:
			wrong[pv] = "the last sample is old: " + events[len(events)-1].String()
		}
	}
	if len(wrong) > 0 {
		some := slices.Sorted(maps.Keys(wrong))[:min(5, len(wrong))]
		for _, pv := range some {
			GinkgoWriter.Println(pv, wrong[pv])
		}
	}
	Expect(wrong).To(BeEmpty(), "%d of %d PVs are not whole", len(wrong), len(pvs))
	return samples
}

// pods returns the names of the pods of a component that are not ending.
func (l *lab) pods(ctx context.Context, component string) (names []string) {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelComponent: component})).To(Succeed())
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

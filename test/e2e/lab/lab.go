package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

	"varve.dev/varve/test/checkout"
)

// Patience is the longest time that a step may take on a busy machine.
const Patience = 4 * time.Minute

// Lab is a namespace with an Archiver named main, as in a laboratory.
type Lab struct {
	// Namespace is the namespace of the Archiver.
	Namespace string

	values   string // path of the file with the chart's values
	nodePort int32  // node port of the Service
	*archive.Client
}

// Spec is a map of settings in the values of charts/varve.
type Spec map[string]any

// Everybody lets everybody read, as a Service that others reach must say.
var Everybody = Spec{"authenticators": []Spec{{"anonymous": Spec{}}}}

// New creates a namespace, installs an Archiver in it, and waits until the Archiver is ready.
// Engines reach the IOCs by their addresses.
func New(ctx context.Context, namespace string, archiver Spec, iocs ...*epics.IOC) *Lab {
	GinkgoHelper()
	MakeNamespace(namespace)
	return NewIn(ctx, namespace, archiver, iocs...)
}

// NewIn does the same as New in a namespace of MakeNamespace, which may contain what the Archiver needs.
func NewIn(ctx context.Context, namespace string, archiver Spec, iocs ...*epics.IOC) *Lab {
	GinkgoHelper()
	l := &Lab{Namespace: namespace}
	if archiver["epics"] == nil {
		var ca, pva []string
		for _, ioc := range iocs {
			ca, pva = append(ca, ioc.CAAddr()), append(pva, ioc.PVAAddr())
		}
		archiver["epics"] = Spec{"caAddrList": ca, "pvaNameServers": pva, "autoAddrList": false}
	}
	if archiver["storage"] == nil {
		archiver["storage"] = Spec{"cassandra": Spec{"external": Spec{"contactPoints": ContactPoints}}}
	}
	if archiver["retrieval"] == nil {
		archiver["retrieval"] = Spec{"service": Spec{"type": "NodePort"}, "access": Everybody}
	}
	text, err := yaml.Marshal(Spec{"archiver": Spec{"spec": archiver}, "test": Spec{"image": Image}})
	Expect(err).NotTo(HaveOccurred())
	l.values = filepath.Join(GinkgoT().TempDir(), "values.yaml")
	Expect(os.WriteFile(l.values, text, 0o600)).To(Succeed())
	l.Install(ctx)
	return l
}

// Install installs the chart and waits until the Archiver is ready.
func (l *Lab) Install(ctx context.Context) {
	GinkgoHelper()
	Helm("upgrade", "--install", "main", checkout.Path("charts/varve"), "-n", l.Namespace, "-f", l.values)
	l.AwaitReady(ctx)
	l.findService(ctx)
}

// AwaitReady waits until the Archiver is Ready in its current generation.
func (l *Lab) AwaitReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		a := l.archiver(g)
		g.Expect(a.Status).NotTo(BeNil())
		ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(string(ready.Status)).To(Equal("True"), "%s: %s", ready.Reason, ready.Message)
		g.Expect(ready.ObservedGeneration).To(Equal(a.Generation))
	}).WithTimeout(2*Patience).Should(Succeed(), "the Archiver is ready")
}

func (l *Lab) archiver(g Gomega) *v1alpha1.Archiver {
	var a v1alpha1.Archiver
	g.Expect(Kube.Get(context.Background(), client.ObjectKey{Namespace: l.Namespace, Name: "main"}, &a)).To(Succeed())
	return &a
}

// findService creates the client that reads the archive through the node port of its Service.
func (l *Lab) findService(ctx context.Context) {
	GinkgoHelper()
	var svc corev1.Service
	Expect(Kube.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: "main-retrieval"}, &svc)).To(Succeed())
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 {
			l.nodePort = p.NodePort
			l.Client = archive.NewClient(fmt.Sprintf("http://%s:%d", nodeAddress(ctx), p.NodePort), time.Minute)
			return
		}
	}
	Fail("the Service has no port on nodes")
}

// Condition returns a function for Eventually. The function returns a condition of a group as
// STATUS REASON MESSAGE, if the condition is about the group's latest generation.
func (l *Lab) Condition(group, kind string) func() string {
	return func() string {
		var g v1alpha1.ArchiveGroup
		if err := Kube.Get(context.Background(), client.ObjectKey{Namespace: l.Namespace, Name: group}, &g); err != nil {
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

// Counts returns a function for Eventually. The function returns a group's channel counts.
func (l *Lab) Counts(group string) func() v1alpha1.ChannelCounts {
	return func() v1alpha1.ChannelCounts {
		var g v1alpha1.ArchiveGroup
		if Kube.Get(context.Background(), client.ObjectKey{Namespace: l.Namespace, Name: group}, &g) != nil ||
			g.Status == nil || g.Status.Channels == nil {
			return v1alpha1.ChannelCounts{}
		}
		return *g.Status.Channels
	}
}

// AwaitReadable waits until every PV has a readable sample since the given time.
func (l *Lab) AwaitReadable(ctx context.Context, pvs []string, since time.Time) {
	GinkgoHelper()
	left := pvs
	Eventually(ctx, func() ([]string, error) {
		all, err := l.AllEvents(left, since)
		if err == nil {
			left = slices.DeleteFunc(slices.Clone(left), func(pv string) bool { return len(all[pv]) > 0 })
		}
		return left, err
	}).WithTimeout(Patience).Should(BeEmpty(), "PVs without samples since %v", since)
}

// LastBegun returns the latest of the PVs' first samples since the given time.
func (l *Lab) LastBegun(pvs []string, since time.Time) (last time.Time) {
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

// CheckComplete fails the spec if a step of a counting PV is missing or duplicated since the
// given time. It returns the number of samples. The given time must be after the first sample.
func (l *Lab) CheckComplete(pvs []string, since time.Time) (samples int) {
	GinkgoHelper()
	requested := time.Now()
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
		case requested.Sub(time.Unix(0, events[len(events)-1].Time)) > 10*time.Second:
			wrong[pv] = "the last sample is old: " + events[len(events)-1].String()
		}
	}
	if len(wrong) > 0 {
		some := slices.Sorted(maps.Keys(wrong))[:min(5, len(wrong))]
		for _, pv := range some {
			GinkgoWriter.Println(pv, wrong[pv])
		}
	}
	Expect(wrong).To(BeEmpty(), "%d of %d PVs are not complete", len(wrong), len(pvs))
	return samples
}

// Pods returns the names of a component's pods that are not terminating.
func (l *Lab) Pods(ctx context.Context, component string) []string {
	GinkgoHelper()
	return PodsOf(ctx, l.Namespace, v1alpha1.LabelComponent+"="+component)
}

// ReadBy directs all later requests of the lab's client to a node.
func (l *Lab) ReadBy(node *corev1.Node) { l.Client = l.ClientAt(node) }

// ClientAt returns a client that reads the archive through a node.
func (l *Lab) ClientAt(node *corev1.Node) *archive.Client {
	GinkgoHelper()
	i := slices.IndexFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP })
	Expect(i).NotTo(Equal(-1), "the address of %s", node.Name)
	return archive.NewClient(fmt.Sprintf("http://%s:%d", node.Status.Addresses[i].Address, l.nodePort), l.HTTP.Timeout)
}

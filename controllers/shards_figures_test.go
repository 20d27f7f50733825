package controllers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// 20 groups read 10 ConfigMaps each. They have 200,000 PVs with VARVE_LONG=1, and 20,000
// otherwise.
var _ = Describe("An archive of many PVs", Serial, func() {
	const groups, mapsPerGroup = 20, 10
	pvsPerMap := 100
	if os.Getenv("VARVE_LONG") != "" {
		pvsPerMap = 1000
	}
	total := groups * mapsPerGroup * pvsPerMap

	It("is written once, and an edit causes few writes", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		heap, peak := heapInUse(), watchHeap()
		for m := range groups * mapsPerGroup {
			p.configMap(ctx, fmt.Sprintf("pvs-%03d", m), pvNames(fmt.Sprintf("SR%02d-VA-%03d:PRES-", m%40, m), pvsPerMap), true)
		}
		for g := range groups {
			var names []string
			for m := range mapsPerGroup {
				names = append(names, fmt.Sprintf("pvs-%03d", g*mapsPerGroup+m))
			}
			p.group(ctx, fmt.Sprintf("g%02d", g), "", 0, fromConfigMaps(names...))
		}
		p.writes.reset()
		began := time.Now()
		a := newArchiver(p.namespace, "main")
		a.Spec.Shards = 64
		create(ctx, a)
		await := func(pvs int, archivesAll func(*v1alpha1.ArchiveShard) bool) {
			Eventually(func() int {
				n := 0
				for _, s := range p.shards(ctx) {
					if archivesAll(&s) {
						n += int(s.Spec.Channels)
					}
				}
				return n
			}, 2*time.Minute).Should(Equal(pvs))
		}
		await(total, func(*v1alpha1.ArchiveShard) bool { return true })
		figure("%d PVs, from apply of the Archiver until 64 shards are written: %v", total, time.Since(began).Round(time.Millisecond))
		p.writes.quiet()
		counts, bytes := p.writes.reset()
		figure("writes: %v, %d KiB", counts, bytes>>10)
		figure("objects: %s", p.sizes(ctx))
		highest := peak()
		figure("heap of the operator: %d MiB at rest, %d MiB at most with garbage", (int64(heapInUse())-int64(heap))>>20, (int64(highest)-int64(heap))>>20)
		Expect(counts["PATCH archiveshards"]).To(Equal(64))

		cm := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, key(p.namespace, "pvs-017"), cm)).To(Succeed())
		cm.Data["pvs"] += "\n" + strings.Join(pvNames("NEW:", 10), "\n")
		began = time.Now()
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		await(total+10, func(*v1alpha1.ArchiveShard) bool { return true })
		took := time.Since(began).Round(time.Millisecond)
		p.writes.quiet()
		counts, bytes = p.writes.reset()
		figure("an edit of 10 PVs: %v, writes: %v, %d KiB", took, counts, bytes>>10)
		Expect(counts["PATCH archiveshards"]).To(BeNumerically("<=", 10))
		Expect(counts["PATCH configmaps"]).To(BeNumerically("<=", 20))

		idle := 3 * time.Second
		if os.Getenv("VARVE_LONG") != "" {
			// A minute after the edit, the operator deletes the lists that the edit replaced.
			Eventually(func() int { counts, _ := p.writes.reset(); return counts["DELETE configmaps"] }, 2*time.Minute, time.Second).Should(BeNumerically(">", 0))
			p.writes.quiet()
			p.writes.reset()
			idle = time.Minute
		}
		Consistently(func() int { counts, _ := p.writes.reset(); return len(counts) }, idle).Should(BeZero())
		figure("writes in %v without a change: 0", idle)
	})
})

// figure adds a line to the report of the run.
func figure(format string, args ...any) {
	AddReportEntry(fmt.Sprintf(format, args...), ReportEntryVisibilityAlways)
}

// watchHeap measures the size of the heap every 10 ms. The returned function ends the
// measurement and returns the largest size.
func watchHeap() (most func() uint64) {
	end, highest := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		var out uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			out = max(out, m.HeapAlloc)
			select {
			case <-tick.C:
			case <-end:
				highest <- out
				return
			}
		}
	}()
	return func() uint64 { close(end); return <-highest }
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// sizes describes how large the channel lists and shards are.
func (p *shardsFixture) sizes(ctx SpecContext) string {
	var lists corev1.ConfigMapList
	Expect(k8s.List(ctx, &lists, client.InNamespace(p.namespace), client.MatchingLabels{v1alpha1.LabelChannels: v1alpha1.ChannelList})).To(Succeed())
	largest, sum := 0, 0
	for _, l := range lists.Items {
		n := len(l.BinaryData[v1alpha1.ChannelListKey])
		largest, sum = max(largest, n), sum+n
	}
	shard := 0
	for _, s := range p.shards(ctx) {
		data, err := json.Marshal(s)
		Expect(err).NotTo(HaveOccurred())
		shard = max(shard, len(data))
	}
	return fmt.Sprintf("%d channel lists of %d KiB in all, the largest %d bytes; the largest shard %d bytes", len(lists.Items), sum>>10, largest, shard)
}

package elasticity

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
)

// SCAN periods of the counting records. A PV on hot has 20 times the load of a PV on cold.
const (
	hot  = ".1 second"
	warm = ".2 second"
	cold = "2 second"
)

// scaleDownTime is the time within which the HorizontalPodAutoscaler must scale down from 4
// engines. The autoscaler considers the last five minutes before each step.
const scaleDownTime = 18 * time.Minute

var _ = Describe("Load", func() {
	It("that rises to 20 times and falls again changes the number of engines", Label("autoscaling"), func(ctx SpecContext) {
		if rate() < 50000 {
			Skip("this spec needs RATE=60000, because one engine uses less than 100m of CPU for 20,000 samples/s")
		}
		s := newSite(ctx, "autoscaled", 1, cold, lab.Spec{"engines": lab.Spec{
			"autoscaling": lab.Spec{"minReplicas": 1, "maxReplicas": 4, "targetCPUUtilizationPercentage": 70},
			"resources":   lab.Spec{"requests": lab.Spec{"cpu": "100m"}},
		}})
		replicas := func() int { return len(s.Pods(ctx, "engine")) }
		Eventually(ctx, replicas).WithTimeout(scaleDownTime).Should(Equal(1), "engines at low load")
		from := time.Now()
		m := s.measure()
		DeferCleanup(func() { m.stop() })
		pause(ctx, 30*time.Second)
		s.scan(s.pvs, hot)
		raised := time.Now()
		Eventually(ctx, replicas).WithTimeout(lab.Patience).Should(BeNumerically(">", 1), "engines at high load")
		lab.Figure("load × 20 → another engine", "%.0f s", time.Since(raised).Seconds())
		pause(ctx, 90*time.Second)
		most := replicas()
		s.scan(s.pvs, cold)
		lowered := time.Now()
		Eventually(ctx, replicas).WithTimeout(scaleDownTime).Should(Equal(1), "engines at low load again")
		lab.Figure("load / 20 → one engine", "%.0f s, from %d", time.Since(lowered).Seconds(), most)
		pause(ctx, 10*time.Second)
		m.publish("autoscaling", raised)
		s.checkComplete(ctx, from, time.Now().Add(-durable))
	}, SpecTimeout(2*scaleDownTime+6*lab.Patience))

	It("that is uneven becomes even and stays even", Label("uneven"), func(ctx SpecContext) {
		s := newSite(ctx, "uneven", 1, cold, nil)
		s.awaitHealthy(ctx, engines)
		from := time.Now()
		m := s.measure()
		DeferCleanup(func() { m.stop() })
		group := s.capturedByOne(ctx)
		s.scan(group, hot)
		heated := time.Now()
		load, _ := m.unevenness(ctx)
		lab.Figure("most loaded engine, at first", "%.2f × the mean: %d of %d PVs got 20 × faster", load, len(group), len(s.pvs))
		Eventually(ctx, func() float64 { load, _ = m.unevenness(ctx); return load }).WithTimeout(2*lab.Patience).Should(BeNumerically("<=", 1.15), "load of the most loaded engine as a multiple of the mean")
		Eventually(ctx, func() time.Duration { return time.Since(m.lastMove()) }).WithTimeout(lab.Patience).Should(BeNumerically(">", time.Minute), "time since the last shard move")
		moves := m.moves()
		load, cpu := m.unevenness(ctx)
		Expect(load).To(BeNumerically("<=", 1.15))
		lab.Figure("most loaded engine, at the end", "%.2f × the mean (by CPU %.2f), after %d moves in %.0f s", load, cpu, moves, m.lastMove().Sub(heated).Seconds())
		By("changing loads randomly")
		for noisy := time.Now(); time.Since(noisy) < 2*outage(5*time.Minute); pause(ctx, 5*time.Second) {
			for _, pv := range group {
				if rand.IntN(10) == 0 {
					s.scan([]string{pv}, []string{hot, warm}[rand.IntN(2)])
				}
			}
		}
		Expect(m.moves()).To(Equal(moves), "number of shard moves, without new moves during random changes")
		m.publish("uneven", heated)
		s.checkComplete(ctx, from, time.Now().Add(-durable))
	}, SpecTimeout(8*lab.Patience))
})

// scan sets the SCAN field of PVs, which is the period at which they count.
func (s *site) scan(pvs []string, period string) {
	for _, pv := range pvs {
		s.iocs[0].Shell(fmt.Sprintf("dbpf %q %q", pv+".SCAN", period))
	}
}

// capturedByOne returns all PVs of one engine. If only the load of these PVs changes, the load
// becomes as uneven as possible.
func (s *site) capturedByOne(ctx SpecContext) (pvs []string) {
	GinkgoHelper()
	var shards v1alpha1.ArchiveShardList
	Expect(lab.Kube.List(ctx, &shards, client.InNamespace(s.Namespace))).To(Succeed())
	engine, of := "", map[int]string{}
	for _, sh := range shards.Items {
		if len(sh.Spec.Engines) == 1 && sh.Spec.Index != nil {
			of[int(*sh.Spec.Index)] = sh.Spec.Engines[0].Name
			engine = max(engine, sh.Spec.Engines[0].Name)
		}
	}
	var a v1alpha1.Archiver
	Expect(lab.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: "main"}, &a)).To(Succeed())
	for _, pv := range s.pvs {
		if of[pvname.Shard(pv, int(a.Spec.Shards))] == engine {
			pvs = append(pvs, pv)
		}
	}
	return pvs
}

// checkComplete fails the spec unless every step of a time window is archived exactly once.
func (s *site) checkComplete(ctx SpecContext, from, to time.Time) {
	GinkgoHelper()
	wrong, samples := map[string]archive.Tally{}, 0
	for pv, t := range s.readAll(ctx, from, to) {
		if samples += t.Samples; t.Samples == 0 || t.Lost+t.Duplicated > 0 {
			wrong[pv] = t
		}
	}
	lab.Figure("samples read, each step once", "%d in %.0f s", samples, to.Sub(from).Seconds())
	Expect(wrong).To(BeEmpty())
}

// meter measures the engines of a site until it is stopped.
type meter struct {
	site   *site
	cancel context.CancelFunc
	ended  chan struct{} // closed when the meter's goroutine has ended

	mu     sync.Mutex
	points []point
	holder map[string]string // engine by shard
	moved  []time.Time       // times at which the meter saw that a shard had moved
}

// point is one measurement of all engines.
type point struct {
	at            time.Time
	received, cpu map[string]float64 // samples and CPU seconds since the start, by engine
}

// every is the time between two points.
const every = 2 * time.Second

func (s *site) measure() *meter {
	ctx, cancel := context.WithCancel(context.Background())
	m := &meter{site: s, cancel: cancel, ended: make(chan struct{}), holder: map[string]string{}}
	go func() {
		defer close(m.ended)
		for ctx.Err() == nil {
			p := s.point(ctx)
			m.mu.Lock()
			m.points = append(m.points, p)
			m.countMoves(ctx)
			m.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	}()
	return m
}

func (m *meter) stop() {
	m.cancel()
	<-m.ended
}

// point reads the metrics of all engines: the samples that they have received and the CPU time
// that they have used since they started.
func (s *site) point(ctx context.Context) point {
	by := point{time.Now(), map[string]float64{}, map[string]float64{}}
	pods, _ := s.enginePods(ctx) // after an error, the point is empty, and the next measurement may succeed
	for _, p := range pods {
		if p.Status.PodIP == "" {
			continue
		}
		engine := archive.NewClient("http://"+p.Status.PodIP+":17666", every)
		_, body, err := engine.Get("/metrics", nil)
		engine.HTTP.CloseIdleConnections()
		for line := range bytes.Lines(body) {
			name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
			into := map[string]map[string]float64{"varve_capture_received_total": by.received, "process_cpu_seconds_total": by.cpu}[name]
			if into != nil && err == nil {
				into[p.Name], _ = strconv.ParseFloat(value, 64)
			}
		}
	}
	return by
}

// countMoves records a move for each shard whose engine has changed since the last call. The
// caller holds m.mu.
func (m *meter) countMoves(ctx context.Context) {
	var shards v1alpha1.ArchiveShardList
	if lab.Kube.List(ctx, &shards, client.InNamespace(m.site.Namespace)) != nil {
		return
	}
	for _, sh := range shards.Items {
		if len(sh.Spec.Engines) != 1 || sh.Spec.Channels == 0 {
			continue
		}
		now, before := sh.Spec.Engines[0].Name, m.holder[sh.Name]
		if m.holder[sh.Name] = now; before != "" && before != now {
			m.moved = append(m.moved, time.Now())
		}
	}
}

func (m *meter) moves() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.moved)
}

// lastMove returns the time of the last shard move. Without a move, it returns the time of the
// first measurement.
func (m *meter) lastMove() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.moved) == 0 && len(m.points) > 0 {
		return m.points[0].at
	}
	return m.moved[len(m.moved)-1]
}

// rates returns, by engine, the increase of a counter per second between the two measurements
// a and b.
func rates(between time.Duration, a, b map[string]float64) map[string]float64 {
	by := map[string]float64{}
	for engine, n := range b {
		if before, known := a[engine]; known && n >= before {
			by[engine] = (n - before) / between.Seconds()
		}
	}
	return by
}

// unevenness measures for twenty seconds. It returns the load of the most loaded engine as a
// multiple of the mean load, once by cost and once by CPU time. The cost is computed as in the
// operator, but with the measured sample rate instead of the smoothed one.
func (m *meter) unevenness(ctx SpecContext) (load, cpu float64) {
	GinkgoHelper()
	a := m.site.point(ctx)
	pause(ctx, 20*time.Second)
	b := m.site.point(ctx)
	between := b.at.Sub(a.at)
	pods, err := m.site.enginePods(ctx)
	Expect(err).NotTo(HaveOccurred())
	costs := map[string]float64{}
	received := rates(between, a.received, b.received)
	for _, p := range pods {
		if rate, measured := received[p.Name]; measured {
			takes := reported(p)
			takes.SamplesPerSecond = rate
			costs[p.Name] = takes.Cost()
		}
	}
	return mostOfMean(costs), mostOfMean(rates(between, a.cpu, b.cpu))
}

// reported returns the load that an engine reports for all its shards, without the sample rate.
func reported(engine corev1.Pod) (sum placement.Load) {
	GinkgoHelper()
	c := archive.NewClient("http://"+engine.Status.PodIP+":17665", time.Minute)
	defer c.HTTP.CloseIdleConnections()
	_, body, err := c.Get(report.Path, nil)
	Expect(err).NotTo(HaveOccurred())
	var r report.Report
	Expect(json.Unmarshal(body, &r)).To(Succeed())
	for _, s := range r.Shards {
		sum.BytesPerSecond += s.BytesPerSecond
		sum.Channels += float64(s.Channels)
		sum.Circuits += s.Circuits
	}
	return sum
}

func mostOfMean(by map[string]float64) float64 {
	var sum, most float64
	for _, r := range by {
		sum, most = sum+r, max(most, r)
	}
	return most / sum * float64(len(by))
}

// publish writes the measurements to a CSV file next to the report. Each line has the seconds
// since zero, the total samples/s, the number of measured engines, and the samples/s of each
// engine.
func (m *meter) publish(name string, zero time.Time) {
	GinkgoHelper()
	path := os.Getenv("VARVE_REPORT")
	if path == "" {
		return
	}
	f, err := os.Create(path + "." + name + ".csv")
	Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	w := csv.NewWriter(f)
	m.mu.Lock()
	defer m.mu.Unlock()
	engines := map[string]bool{}
	for _, p := range m.points {
		for e := range p.received {
			engines[e] = true
		}
	}
	var names []string
	for e := range engines {
		names = append(names, e)
	}
	slices.Sort(names)
	Expect(w.Write(append([]string{"seconds", "samples/s", "engines"}, names...))).To(Succeed())
	for i := 1; i < len(m.points); i++ {
		by := rates(m.points[i].at.Sub(m.points[i-1].at), m.points[i-1].received, m.points[i].received)
		sum, each := 0.0, []string(nil)
		for _, e := range names {
			text := ""
			if r, is := by[e]; is {
				sum, text = sum+r, fmt.Sprintf("%.0f", r)
			}
			each = append(each, text)
		}
		line := []string{fmt.Sprintf("%.0f", m.points[i].at.Sub(zero).Seconds()), fmt.Sprintf("%.0f", sum), strconv.Itoa(len(by))}
		Expect(w.Write(append(line, each...))).To(Succeed())
	}
	w.Flush()
	Expect(w.Error()).NotTo(HaveOccurred())
}

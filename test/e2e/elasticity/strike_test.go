package elasticity

import (
	"context"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
)

// fault is an event that an archive must endure.
type fault struct {
	name string
	// planned is true if the fault must lose no sample, regardless of the redundancy.
	planned bool
	// answered is true if no read may fail during the fault.
	answered bool
	// sparesEngines is true if the fault takes away no engine and nothing that engines need.
	sparesEngines bool
	// stopsAPIServer is true if the fault stops the API server.
	stopsAPIServer bool
	// atMost is the longest allowed gap in a PV's samples with redundancy 1. It covers a flush,
	// the detection of the fault, and the connection of the PV by another engine.
	atMost time.Duration
	// lasts is the full length of the fault's outage, if it has one.
	lasts time.Duration
	// inject causes the fault and returns when the fault is over. A node that is lost stays away
	// until the occurrence is healed.
	inject func(ctx SpecContext, s *site, o *occurrence)
}

// occurrence is one occurrence of a fault.
type occurrence struct {
	engine corev1.Pod    // the engine that the fault strikes
	lasts  time.Duration // length of the outage
	choice uint64        // chooses among variants of the fault
	cures  []func()
}

// later adds a cure, which heal applies unless the caller applies it before.
func (o *occurrence) later(cure func()) (now func()) {
	once := sync.OnceFunc(cure)
	o.cures = append(o.cures, once)
	return once
}

// heal ends what is left of the fault. The last cure is applied first.
func (o *occurrence) heal() {
	for _, cure := range slices.Backward(o.cures) {
		cure()
	}
	o.cures = nil
}

// quiet is how long an archive must stay healthy before a spec accepts it as recovered. It is
// longer than the Leases of an engine and of a node.
const quiet = 20 * time.Second

// endures causes a fault in a healthy archive. It fails the spec if the archive lost more than the
// fault allows.
func (s *site) endures(ctx SpecContext, f fault) {
	GinkgoHelper()
	s.awaitHealthy(ctx, engines)
	o := &occurrence{engine: s.anEngine(ctx), lasts: outage(f.lasts)}
	strict := f.planned || s.redundancy > 1
	from := time.Now().Add(-durable)
	pause(ctx, 8*time.Second)
	until := time.Now().Add(-durable)
	before := s.readAll(ctx, from, until)
	for pv, t := range before {
		Expect(t.Samples).NotTo(BeZero(), pv)
		Expect(t.Lost+t.Duplicated).To(BeZero(), "before the fault: %s: %v", pv, t)
	}
	w := s.watch(from, until, before, strict)
	DeferCleanup(func() { w.stop() })
	struck := time.Now()
	h := s.follow()
	DeferCleanup(func() { h.stop() })
	DeferCleanup(o.heal)
	f.inject(ctx, s, o)
	over := time.Now()
	Eventually(ctx, func() time.Duration { return min(time.Since(over), time.Since(h.lastBroken())) }).WithTimeout(lab.Patience).Should(BeNumerically(">", quiet), h.reason)
	pause(ctx, durable)
	seen := w.stop()
	to := time.Now().Add(-durable)
	r, wrong := s.account(f.name, from, to, struck, s.readAll(ctx, from, to))
	r.observed, r.recovery = seen, max(r.recovery, h.lastBroken().Sub(struck))
	r.publish()
	lab.Figure("fault begun, fault over, archive healthy", "%s, %s, %s: %s", clock(struck), clock(over), clock(h.lastBroken()), h.reason())
	for _, text := range seen.failures {
		lab.Figure("failed", "%s", text)
	}
	for _, text := range append(wrong, seen.wrong[:min(20, len(seen.wrong))]...) {
		GinkgoWriter.Println(text)
	}
	s.judge(f, r, seen)
}

// judge fails the spec if the archive lost more than the fault allows.
func (s *site) judge(f fault, r row, seen observed) {
	GinkgoHelper()
	Expect(r.duplicated).To(BeZero(), "duplicated steps")
	Expect(seen.wrong).To(BeEmpty(), "wrong answers during the fault")
	if f.answered {
		Expect(seen.failures).To(BeEmpty(), "failed reads during the fault")
	}
	if f.planned || s.redundancy > 1 {
		Expect(r.lost).To(BeZero(), "lost steps")
		return
	}
	Expect(r.gap).To(BeNumerically("<=", f.atMost), "the longest time without a sample")
	Expect(r.unmarked).To(BeZero(), "lost steps that are in no mark")
}

// readAll reads all PVs. It retries until the archive answers.
func (s *site) readAll(ctx SpecContext, from, to time.Time) (all map[string]archive.Tally) {
	GinkgoHelper()
	Eventually(ctx, func() (err error) {
		all, err = s.tallies(ctx, from, to)
		return err
	}).WithTimeout(lab.Patience).Should(Succeed())
	return all
}

// pause waits for d while the archive keeps running.
func pause(ctx SpecContext, d time.Duration) {
	GinkgoHelper()
	Eventually(ctx, time.After(d)).WithTimeout(d + time.Minute).Should(Receive())
}

// history records when an archive was last broken, and why.
type history struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when the goroutine of follow has ended
	mu     sync.Mutex
	last   time.Time
	text   string
}

// follow checks an archive's shards five times per second.
func (s *site) follow() *history {
	ctx, cancel := context.WithCancel(context.Background())
	h := &history{cancel: cancel, ended: make(chan struct{}), last: time.Now()}
	go func() {
		defer close(h.ended)
		for ctx.Err() == nil {
			if text := s.broken(ctx); text != "" {
				h.mu.Lock()
				h.last, h.text = time.Now(), text
				h.mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return h
}

func (h *history) lastBroken() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// reason describes why the archive was last broken.
func (h *history) reason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text
}

func (h *history) stop() {
	h.cancel()
	<-h.ended
}

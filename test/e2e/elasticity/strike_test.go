package elasticity

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
)

// fault is what happens to an archive.
type fault struct {
	name string
	// planned faults lose nothing, whatever the redundancy.
	planned bool
	// answered: no read fails while it happens.
	answered bool
	// atMost is how long a PV may be without samples with redundancy 1: a flush, until
	// the fault is detected, and until the PV is connected by another engine.
	atMost time.Duration
	// strike strikes an engine, or more, and returns when the fault is over.
	strike func(ctx SpecContext, s *site, engine corev1.Pod)
}

// quiet is how long an archive must look whole to be taken for it: longer than an
// engine's Lease, and than a node's.
const quiet = 20 * time.Second

// endures strikes an archive, and fails unless it kept what it must.
func (s *site) endures(ctx SpecContext, f fault) {
	GinkgoHelper()
	Eventually(ctx, func() string { return s.unlike(ctx, engines) }).WithTimeout(lab.Patience).Should(BeEmpty(), "whole before the fault")
	engine := s.anEngine(ctx)
	strict := f.planned || s.redundancy > 1
	from := time.Now().Add(-durable)
	pause(ctx, 8*time.Second)
	until := time.Now().Add(-durable)
	before := s.readAll(ctx, from, until)
	for pv, t := range before {
		Expect(t.Samples).NotTo(BeZero(), pv)
		Expect(t.Lost+t.Doubled).To(BeZero(), "before the fault: %s: %v", pv, t)
	}
	w := s.watch(from, until, before, strict)
	DeferCleanup(func() { w.stop() })
	struck := time.Now()
	h := s.follow()
	DeferCleanup(func() { h.stop() })
	f.strike(ctx, s, engine)
	over := time.Now()
	Eventually(ctx, func() time.Duration { return min(time.Since(over), time.Since(h.lastBroken())) }).WithTimeout(lab.Patience).Should(BeNumerically(">", quiet), h.reason)
	pause(ctx, durable)
	seen := w.stop()
	to := time.Now().Add(-durable)
	r, wrong := s.account(f.name, from, to, struck, s.readAll(ctx, from, to))
	r.observed, r.recovery = seen, max(r.recovery, h.lastBroken().Sub(struck))
	r.publish()
	lab.Figure("struck, over, whole", "%s, %s, %s: %s", clock(struck), clock(over), clock(h.lastBroken()), h.reason())
	for _, text := range seen.failures {
		lab.Figure("failed", "%s", text)
	}
	for _, text := range append(wrong, seen.wrong[:min(20, len(seen.wrong))]...) {
		GinkgoWriter.Println(text)
	}
	s.judge(f, r, seen)
}

// judge fails the spec if an archive lost more than it may.
func (s *site) judge(f fault, r row, seen observed) {
	GinkgoHelper()
	Expect(r.doubled).To(BeZero(), "doubled")
	Expect(seen.wrong).To(BeEmpty(), "answers while it happened")
	if f.answered {
		Expect(seen.failures).To(BeEmpty(), "reads while it happened")
	}
	if f.planned || s.redundancy > 1 {
		Expect(r.lost).To(BeZero(), "lost")
		return
	}
	Expect(r.gap).To(BeNumerically("<=", f.atMost), "the longest time without a sample")
	Expect(r.unmarked).To(BeZero(), "lost and not marked")
}

// readAll reads all PVs, when the archive answers.
func (s *site) readAll(ctx SpecContext, from, to time.Time) (all map[string]archive.Tally) {
	GinkgoHelper()
	Eventually(ctx, func() (err error) {
		all, err = s.tallies(ctx, from, to)
		return err
	}).WithTimeout(lab.Patience).Should(Succeed())
	return all
}

// pause lets an archive run on.
func pause(ctx SpecContext, d time.Duration) {
	GinkgoHelper()
	Eventually(ctx, time.After(d)).WithTimeout(d + time.Minute).Should(Receive())
}

// history is when an archive was not whole, last.
type history struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when no goroutine is left
	mu     sync.Mutex
	last   time.Time
	text   string
}

// follow looks at an archive's shards five times a second.
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

// reason is why the archive was not whole, last.
func (h *history) reason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text
}

func (h *history) stop() {
	h.cancel()
	<-h.ended
}

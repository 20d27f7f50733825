package elasticity

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/soak"
)

// soakTime returns how long faults are injected. It is 0 unless `make soak` runs the test.
func soakTime() time.Duration {
	d, err := time.ParseDuration(cmp.Or(os.Getenv("VARVE_SOAK"), "0"))
	if err != nil {
		panic("VARVE_SOAK is not a duration: " + err.Error())
	}
	return d
}

// soakNumber returns a number from an environment variable.
func soakNumber(variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	Expect(err).NotTo(HaveOccurred(), variable)
	return n
}

// testBuild reports whether the engines run the test build, whose clocks can be changed.
func testBuild() bool { return os.Getenv("VARVE_TEST_BUILD") != "" }

// settled is the time that the archive gets after the last fault to recover and to be read.
const settled = 45 * time.Minute

var _ = Describe("A soak", Label("soak"), func() {
	It("loses no sample, repeats none, and never answers wrongly", func(ctx SpecContext) {
		if soakTime() == 0 {
			Skip("`make soak` runs this spec")
		}
		t := &trial{
			site: &site{redundancy: int(soakNumber("VARVE_REDUNDANCY", 2))},
			seed: soakNumber("VARVE_SEED", uint64(rand.Uint32())),
			end:  make(chan struct{}), destroyed: map[string][]archive.Span{},
		}
		t.finish = sync.OnceFunc(func() { close(t.end) })
		repeat := fmt.Sprintf("make soak SEED=%d DURATION=%v RATE=%d REDUNDANCY=%d", t.seed, soakTime(), rate(), t.redundancy)
		if testBuild() {
			repeat += " TEST_BUILD=1"
		}
		lab.Figure("to repeat the order of the faults", "%s", repeat)
		t.log("the order of the faults is that of: %s", repeat)
		t.start(ctx)
		t.run(ctx)
		t.judge(ctx, repeat)
	}, SpecTimeout(soakTime()+settled))
})

// trial is one soak test. Its goroutines end before run returns.
type trial struct {
	*site
	seed  uint64
	begun time.Time     // when the ledger began
	over  time.Time     // when it ended
	end   chan struct{} // closed when no more faults begin
	// finish closes end.
	finish func()
	parts  []*part

	ledger soak.Ledger
	// reader reads through a node that no fault strikes.
	reader atomic.Pointer[archive.Client]
	// apiServer is locked while the API server is away, and read-locked while an event needs it.
	apiServer sync.RWMutex

	mu        sync.Mutex
	events    []string                  // descriptions of all events
	destroyed map[string][]archive.Span // times of the samples that the test destroyed, by PV
	seen      observed                  // results of the reads during the test
}

// part is a group of PVs that the test treats alike.
type part struct {
	group string
	pvs   []string
	ioc   *epics.IOC
	// redundancy is the number of engines that capture each PV.
	redundancy int
	// incomplete is true if the archive may lose marked samples. clockSteps is true if the clock
	// of the IOC is changed.
	incomplete, clockSteps bool
}

// The parts. Each has the name of its group.
const (
	counting = "counting" // most of the load
	sharded  = "sharded"  // its shardBy changes
	toggled  = "toggled"  // its redundancy changes
	single   = "single"   // its redundancy is always 1
	clocked  = "clocked"  // on an IOC whose clock changes
	damaged  = "damaged"  // its stored blocks are corrupted
	edited   = "edited"   // its PVs and its sampling change; its samples are not counted
)

// start starts IOCs and an archive, and waits until all PVs are captured.
func (t *trial) start(ctx SpecContext) {
	GinkgoHelper()
	n := rate() / perPV
	t.parts = []*part{
		{group: counting, pvs: archive.Names("SEQ:", n-2*(n/10)-n/5)},
		{group: sharded, pvs: archive.Names("SHD:", n/10)},
		{group: toggled, pvs: archive.Names("TOG:", n/10), incomplete: true},
		{group: single, pvs: archive.Names("SGL:", n/5), redundancy: 1},
		{group: damaged, pvs: archive.Names("DMG:", 5)},
		{group: clocked, pvs: archive.Names("CLK:", 10), clockSteps: true},
	}
	inGroups := archive.Names("EDT:", 20)
	for _, p := range t.parts {
		p.redundancy = cmp.Or(p.redundancy, t.redundancy)
		p.incomplete = p.incomplete || p.redundancy < 2
		if !p.clockSteps {
			inGroups = append(inGroups, p.pvs...)
		}
		t.pvs = append(t.pvs, p.pvs...)
	}
	t.iocs = []*epics.IOC{
		epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(inGroups)),
		epics.StartIOCWithClock(GinkgoTB(), lab.HostIP, archive.Counting(t.part(clocked).pvs)),
	}
	manifests := ""
	for _, p := range t.parts {
		p.ioc = t.iocs[0]
		if p.clockSteps {
			p.ioc = t.iocs[1]
		}
		manifests += listed(p.group, p.pvs, p.setting())
	}
	t.install(ctx, "soak", lab.Spec{"storage": lab.Spec{"cassandra": lab.Spec{
		"keyspace": soakKeyspace, "external": lab.Spec{"contactPoints": lab.ContactPoints},
	}}})
	lab.Apply(t.Namespace, manifests+listed(edited, archive.Names("EDT:", 10)))
	t.AwaitReadable(ctx, t.pvs, time.Now())
	t.awaitHealthy(ctx, engines)
	t.restless = true
	t.reader.Store(t.Client)
}

// setting returns the line of a manifest that sets the redundancy.
func (p *part) setting() string { return fmt.Sprintf("redundancy: %d", p.redundancy) }

func (t *trial) part(group string) *part {
	return t.parts[slices.IndexFunc(t.parts, func(p *part) bool { return p.group == group })]
}

// run injects faults while it records what the IOCs send and reads what the archive answers.
func (t *trial) run(ctx SpecContext) {
	GinkgoHelper()
	watched, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var watching, injecting sync.WaitGroup
	record := func(ioc *epics.IOC, pvs []string) {
		sampler := ioc.StartSampler(GinkgoTB(), pvs)
		watching.Go(t.orFinish(func() { t.record(watched, sampler) }))
	}
	var steady []string
	for _, p := range t.parts {
		if !p.clockSteps {
			steady = append(steady, p.pvs...)
		}
	}
	t.begun = time.Now()
	record(t.iocs[0], steady)
	record(t.iocs[1], t.part(clocked).pvs)
	for i := range readers {
		watching.Go(t.orFinish(func() { t.read(watched, rand.New(rand.NewPCG(t.seed, 100+uint64(i)))) }))
	}
	exclusive, others := soak.Plan(t.seed, t.faults())
	pause(ctx, 2*ledgerPeriod)
	timer := time.AfterFunc(soakTime(), t.finish)
	defer timer.Stop()
	for _, sequence := range []*soak.Sequence{exclusive, others} {
		injecting.Go(t.orFinish(func() { t.inject(ctx, sequence) }))
	}
	injecting.Wait()
	t.awaitSteady(ctx)
	pause(ctx, ledgerPeriod)
	stopWatching()
	watching.Wait()
	t.over = time.Now()
}

// orFinish returns a function that ends the test if f fails the spec.
func (t *trial) orFinish(f func()) func() {
	return func() {
		defer GinkgoRecover()
		done := false
		defer func() {
			if !done {
				t.finish()
			}
		}()
		f()
		done = true
	}
}

// inject injects the events of a sequence one after the other, until the end of the test.
func (t *trial) inject(ctx SpecContext, sequence *soak.Sequence) {
	byName := map[string]fault{}
	for _, f := range slices.Concat(faults, soakFaults(t)) {
		byName[f.name] = f
	}
	for {
		e, ok := sequence.Next()
		if !ok {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-t.end:
			return
		case <-time.After(e.Pause):
		}
		if f := byName[e.Fault]; f.sparesEngines {
			t.injectBeside(ctx, f, e)
		} else {
			t.injectAlone(ctx, f, e)
		}
	}
}

// injectBeside injects a fault that takes no engine away, whatever else happens.
func (t *trial) injectBeside(ctx SpecContext, f fault, e soak.Event) {
	t.apiServer.RLock()
	defer t.apiServer.RUnlock()
	o := &occurrence{lasts: e.Lasts, choice: e.Choice}
	defer o.heal()
	t.log("%v", e)
	f.inject(ctx, t.site, o)
}

// injectAlone injects a fault that takes an engine away, and waits until the archive has
// recovered. If a node is lost, it returns after the recovery, or after up to half a minute.
func (t *trial) injectAlone(ctx SpecContext, f fault, e soak.Event) {
	if f.stopsAPIServer {
		t.apiServer.Lock()
		defer t.apiServer.Unlock()
	}
	victims := t.victims(ctx)
	if len(victims) == 0 {
		t.log("%s is left out, because all engines are on the operator's node", e.Fault)
		return
	}
	o := &occurrence{engine: victims[e.Choice%uint64(len(victims))], lasts: e.Lasts, choice: e.Choice}
	defer o.heal()
	t.readApartFrom(ctx, o.engine)
	t.log("%v: strikes %s on %s", e, o.engine.Name, o.engine.Spec.NodeName)
	begun := time.Now()
	f.inject(ctx, t.site, o)
	if e.Choice%2 == 0 {
		t.awaitSteady(ctx)
	} else {
		pause(ctx, time.Duration(e.Choice%30)*time.Second)
	}
	o.heal()
	t.awaitSteady(ctx)
	t.log("%s is over after %.0f s", e.Fault, time.Since(begun).Seconds())
}

// awaitSteady waits until enough engines have captured every shard for a while without interruption.
// Shards may move meanwhile, because groups are edited all the time.
func (t *trial) awaitSteady(ctx SpecContext) {
	GinkgoHelper()
	reason, since := "", time.Now()
	Eventually(ctx, func() string {
		if now := t.short(ctx, engines); now != "" {
			reason, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Sprintf("healthy for only %v; before: %s", time.Since(since), reason)
		}
		return ""
	}).WithTimeout(3*lab.Patience).Should(BeEmpty(), "the archive has recovered")
}

// readApartFrom directs reads to a node other than an engine's.
func (t *trial) readApartFrom(ctx SpecContext, engine corev1.Pod) {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(lab.Kube.List(ctx, &nodes)).To(Succeed())
	for i := range nodes.Items {
		if node := &nodes.Items[i]; node.Name != engine.Spec.NodeName {
			t.reader.Store(t.ClientAt(node))
		}
	}
}

// log records an event with its time.
func (t *trial) log(format string, args ...any) {
	text := fmt.Sprintf("%s  ", clock(time.Now())) + fmt.Sprintf(format, args...)
	GinkgoWriter.Println("soak:", text)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, text)
}

// history returns the descriptions of all events.
func (t *trial) history() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.events, "\n")
}

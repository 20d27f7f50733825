package handover

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// world is the complete state of one run.
type world struct {
	cfg   Config
	rng   *rand.Rand
	now   time.Duration
	queue queue
	seq   uint64
	steps int

	shards, replicas int
	weights          []float64
	memory           int        // maximum number of samples that wait in a shardJournal
	exact            bool       // all clocks are right
	errors           *rand.Rand // of clocks that are far off; it does not change the rest of the run
	noise            float64    // rate of network faults; 0: the network has no faults
	lag              float64    // probability that a watch or a view is not updated in a step
	writers          writer

	iocs      []*ioc
	storage   storage
	api       apiServer
	pods      []*pod
	engines   []*engine // all engines of the run, including dead ones
	operators []*operator
	oracle    oracle
	began     []time.Duration // when the oracle begins to check for losses, by shard

	counts     Counts
	violations []string
	where      int // the shard of the first violation
	trace      []step
}

// step is a line of the trace of one shard, or of all shards (-1).
type step struct {
	shard int
	at    time.Duration
	text  string
}

// count counts an event.
func (w *world) count(e Event) { w.counts[e]++ }

// tracef adds a line to the trace of a shard, or of all shards (-1).
func (w *world) tracef(shard int, format string, args ...any) {
	if w.cfg.Trace {
		w.trace = append(w.trace, step{shard, w.now, fmt.Sprintf(format, args...)})
	}
}

// violated records the violation of a rule.
func (w *world) violated(shard int, format string, args ...any) {
	if len(w.violations) == 0 {
		w.where = shard
	}
	w.violations = append(w.violations, fmt.Sprintf("shard %d at %v: %s", shard, w.now, fmt.Sprintf(format, args...)))
}

func (w *world) nextWriter() writer {
	w.writers++
	return w.writers
}

// zero is the time of an exact clock at the start of a run.
func (w *world) zero() time.Duration { return 1000 * time.Second }

// skew returns a random offset of a clock.
func (w *world) skew() time.Duration {
	if w.exact {
		return w.zero()
	}
	return w.zero() + w.between(-40*time.Second, 40*time.Second)
}

// newWorld returns a world whose configuration is derived from the seed.
func newWorld(cfg Config, seed uint64) *world {
	w := &world{cfg: cfg, rng: rand.New(rand.NewPCG(seed, uint64(cfg.Profile))), errors: rand.New(rand.NewPCG(seed, 1))}
	w.shards, w.replicas = 1+w.rng.IntN(3), 1+w.rng.IntN(2)
	if cfg.Profile == Redundant {
		w.replicas = 2
	}
	w.exact, w.memory = w.chance(0.5), 1<<20
	if cfg.Profile == Anything && w.chance(0.2) {
		w.memory = 20
	}
	w.noise, w.lag = []float64{0, 0.5, 2, 8}[w.rng.IntN(4)], 0.4*w.rng.Float64()
	w.storage.tables, w.api.objects = make([]table, w.shards), make([]object, w.shards)
	w.oracle = oracle{w: w, fates: make([][]fate, w.shards), unrecorded: make([][]mark, w.shards)}
	w.began = make([]time.Duration, w.shards)
	for i := range w.shards {
		w.weights = append(w.weights, 1)
		w.iocs = append(w.iocs, &ioc{w: w, shard: i, every: w.between(500*time.Millisecond, 2*time.Second)})
	}
	spools := cfg.Profile == Anything && w.chance(0.5)
	for range w.replicas + 1 + w.rng.IntN(3) {
		w.newPod(spools)
	}
	w.operators = []*operator{w.newOperator()}
	return w
}

func (w *world) newPod(spools bool) {
	p := &pod{w: w, index: len(w.pods), name: fmt.Sprintf("e%d", len(w.pods)), saved: make([]*saved, w.shards)}
	if spools {
		p.spool = &spool{pod: p}
	}
	w.pods = append(w.pods, p)
	w.after(w.between(0, 2*time.Second), p.launch)
}

// Times of a run.
const (
	convergeFor = 60 * time.Second  // before the first fault
	chaosFor    = 200 * time.Second // while faults happen
	healFor     = 150 * time.Second // to converge, while IOCs still send
	quietFor    = 90 * time.Second  // to seal all samples, after IOCs have stopped
)

// Run executes the run of a seed. The same configuration and seed give the same run.
func Run(cfg Config, seed uint64) Result {
	w := newWorld(cfg, seed)
	noise, lag := w.noise, w.lag
	w.noise = 0
	for _, i := range w.iocs {
		w.after(w.between(0, i.every), i.run)
	}
	w.until(convergeFor)
	for shard := range w.began {
		w.began[shard] = w.now
	}
	w.noise = noise
	c := &chaos{w: w, end: convergeFor + chaosFor}
	c.start()
	w.until(c.end)
	c.heal()
	w.noise, w.lag = 0, min(lag, 0.1)
	w.until(c.end + healFor)
	for _, i := range w.iocs {
		i.quiet = true
	}
	w.until(c.end + healFor + quietFor)
	if len(w.violations) == 0 {
		w.oracle.final()
	}
	return w.result(seed)
}

func (w *world) result(seed uint64) Result {
	r := Result{Seed: seed, Steps: w.steps, Counts: w.counts}
	if len(w.violations) == 0 {
		w.where = -1
	} else {
		r.Violation = w.violations[0]
	}
	for _, s := range w.trace {
		if s.shard < 0 || w.where < 0 || s.shard == w.where {
			r.Trace = append(r.Trace, fmt.Sprintf("%12.3fs %s", s.at.Seconds(), s.text))
		}
	}
	return r
}

// rate returns a random rate of a clock.
func (w *world) rate() float64 {
	if w.exact {
		return 1
	}
	return 0.9 + 0.2*w.rng.Float64()
}

package handover

import (
	"time"

	"varve.dev/varve/agent/handover"
)

// chaos injects faults, load changes and reads.
type chaos struct {
	w   *world
	end time.Duration
	// calm is when the last outage or partition ends.
	calm time.Duration
	// blindUntil is when the last engine without a shard reaches IOCs again.
	blindUntil time.Duration
	pods       int // desired number of pods
}

// start starts the replacement of pods, the faults and the reads.
func (c *chaos) start() {
	c.pods = len(c.w.pods)
	c.replace()
	c.next()
	c.reads()
}

func (c *chaos) next() {
	c.w.after(c.w.between(time.Second, 14*time.Second), func() {
		if c.w.now < c.end {
			c.something()
			c.next()
		}
	})
}

// reads starts a read of some shard every few seconds.
func (c *chaos) reads() {
	c.w.read(c.w.rng.IntN(c.w.shards))
	c.w.after(c.w.between(time.Second, 9*time.Second), c.reads)
}

// replace creates a new pod for each pod that ends, as a Deployment does.
func (c *chaos) replace() {
	w := c.w
	there := 0
	for _, p := range w.pods {
		if !p.deleted && !p.deleting {
			there++
		}
	}
	if there < c.pods {
		w.newPod(w.pods[0].spool != nil)
	}
	w.after(w.between(time.Second, 3*time.Second), c.replace)
}

// something injects one random fault or change.
func (c *chaos) something() {
	w := c.w
	p := w.pods[w.rng.IntN(len(w.pods))]
	switch w.rng.IntN(14) {
	case 0, 1:
		for i := range w.weights {
			w.weights[i] = 1 + 10*w.rng.Float64()
		}
		w.tracef(-1, "the load changes: %.1f", w.weights)
	case 2:
		c.terminate(p)
	case 3, 4:
		c.crash(p)
	case 5:
		c.loseNode(p)
	case 6:
		c.stall(p)
	case 7:
		c.cut(p)
	case 8:
		c.storeAway()
	case 9:
		c.apiAway()
	case 10:
		c.operatorCrash()
	case 11:
		c.twoOperators()
	case 12, 13:
		c.blind()
	}
}

// may reports whether the profile now allows an engine to crash or to lose its IOCs.
func (c *chaos) may(p *pod) bool {
	if p.engine == nil || p.deleting || p.gone {
		return false
	}
	return c.w.cfg.Profile == Anything || c.w.cfg.Profile == Redundant && c.w.isRedundant()
}

// isRedundant reports whether two engines capture each shard, and all updates from before
// the second one connected are acknowledged.
func (w *world) isRedundant() bool {
	for _, p := range w.pods {
		if p.deleting && !p.deleted {
			return false
		}
	}
	for shard := range w.shards {
		n, since := 0, time.Duration(0)
		for _, e := range w.engines {
			if l := e.held[shard]; l != nil && e.isWell() && l.sub.connected && l.claimed {
				n++
				since = max(since, time.Duration(float64(l.sub.since-e.offset)/e.rate))
			}
		}
		if n < 2 || w.oracle.waits(shard, since+time.Second) {
			return false
		}
	}
	return true
}

// isWell reports whether a process is alive, is not stalled, and reaches IOCs and the store.
func (e *engine) isWell() bool {
	return e.alive && e.w.now >= e.stalled && !e.isCut(cutIOC) && !e.isCut(cutStore)
}

// waits reports whether an update sent before a time is not acknowledged yet.
func (o *oracle) waits(shard int, before time.Duration) bool {
	for n, f := range o.fates[shard] {
		if !f.acked && o.w.iocs[shard].sent[n] < before {
			return true
		}
	}
	return false
}

// terminate requests that a pod terminate in order.
func (c *chaos) terminate(p *pod) {
	w := c.w
	if p.engine == nil || p.deleting || w.cfg.Profile == Redundant && !c.may(p) ||
		w.cfg.Profile == Planned && (w.now < c.calm || w.isMoving() || w.seeing(p) < w.replicas) {
		return
	}
	w.count(Terminations)
	w.tracef(-1, "%v is requested to terminate", p.engine)
	p.deleting = true
	p.engine.drain()
	w.after(300*time.Second, p.remove)
}

// seeing counts the engines besides one that reach IOCs, and have done so for as long as an operator
// may avoid them. If there are too few, an engine that must end cannot hand its shards over without
// a loss.
func (w *world) seeing(except *pod) (n int) {
	for _, p := range w.pods {
		if p != except && p.engine != nil && !p.deleting && !p.gone && (p.cut[cutIOC] == 0 || w.now > p.cut[cutIOC]+2*limits.Avoid) {
			n++
		}
	}
	return n
}

// isMoving reports whether a shard move is under way. If a pod terminates during the move, its
// successor may be chosen only after the move has ended, but the pod waits for at most 30 s.
func (w *world) isMoving() bool {
	for _, o := range w.api.objects {
		if len(o.spec.Engines) != w.replicas {
			return true
		}
	}
	return false
}

// crash kills a process. Its container restarts some seconds later.
func (c *chaos) crash(p *pod) {
	if !c.may(p) {
		return
	}
	c.w.count(Crashes)
	c.w.tracef(-1, "%v crashes", p.engine)
	p.engine.die()
	c.w.after(c.w.between(time.Second, 20*time.Second), p.launch)
}

// loseNode removes a node with its disk. The pod object is deleted later.
func (c *chaos) loseNode(p *pod) {
	if !c.may(p) {
		return
	}
	c.w.count(NodesLost)
	c.w.tracef(-1, "the node of %v is lost", p.engine)
	p.engine.die()
	if p.spool != nil {
		p.spool.lose()
	}
	p.gone = true
	c.w.after(c.w.between(10*time.Second, 60*time.Second), p.remove)
}

// stall suspends a process for a while.
func (c *chaos) stall(p *pod) {
	if p.engine == nil {
		return
	}
	most := 50 * time.Second
	if c.w.cfg.Profile == Planned {
		most = 7 * time.Second // too short to be declared dead
	}
	c.w.count(Stalls)
	p.engine.stalled = c.w.now + c.w.between(time.Second, most)
	c.w.tracef(-1, "%v stalls until %v", p.engine, p.engine.stalled)
	if c.w.chance(0.5) { // it crashes soon after the stall
		soon := []time.Duration{200 * time.Millisecond, 6 * time.Second}[c.w.rng.IntN(2)]
		c.w.after(p.engine.stalled-c.w.now+c.w.between(0, soon), func() {
			if c.w.now < c.end {
				c.crash(p)
			}
		})
	}
}

// cut cuts an engine off from IOCs, the store or the API server.
func (c *chaos) cut(p *pod) {
	w := c.w
	from := w.rng.IntN(cuts)
	if from == cutIOC && !c.may(p) || w.cfg.Profile == Planned && (c.isEnding() || from == cutAPI && w.now < c.blindUntil) {
		return
	}
	w.count(CutOffs)
	p.cut[from] = w.now + w.between(time.Second, 60*time.Second)
	c.calm = max(c.calm, p.cut[from])
	w.tracef(-1, "%s is cut off from %s until %v", p.name, [...]string{"IOCs", "the store", "the API server"}[from], p.cut[from])
}

// blind cuts an engine that holds no shard off from IOCs, as on a new node in the wrong network.
// Shards may then move to the engine, but no update may be lost. Engines are not cut off from the
// API server meanwhile: they would count as dead, and drain when they find a blind successor.
func (c *chaos) blind() {
	w := c.w
	if w.cfg.Profile == Planned && w.now < c.calm {
		return
	}
	for _, at := range w.rng.Perm(len(w.pods)) {
		p := w.pods[at]
		if p.engine == nil || p.deleting || p.gone || c.isEnding() || !p.isIdle() {
			continue
		}
		w.count(Blinded)
		p.cut[cutIOC] = max(p.cut[cutIOC], w.now+w.between(20*time.Second, 150*time.Second))
		c.blindUntil = max(c.blindUntil, p.cut[cutIOC]+10*time.Second)
		w.tracef(-1, "%s, which has no shard, is cut off from IOCs until %v", p.name, p.cut[cutIOC])
		return
	}
}

// isIdle reports whether an engine has no shard, and no order.
func (p *pod) isIdle() bool {
	for shard, o := range p.w.api.objects {
		if p.engine.open(shard) || o.spec == nil {
			return false
		}
		if _, named := handover.Order(o.spec, p.name); named {
			return false
		}
	}
	return true
}

// isEnding reports whether a pod is terminating. A terminating pod does not wait for the end
// of an outage.
func (c *chaos) isEnding() bool {
	for _, p := range c.w.pods {
		if p.deleting && !p.deleted {
			return true
		}
	}
	return false
}

// outage returns the end of a new outage, or false if the profile allows none now.
func (c *chaos) outage(most time.Duration) (until time.Duration, now bool) {
	if c.w.cfg.Profile == Planned && c.isEnding() {
		return 0, false
	}
	until = c.w.now + c.w.between(time.Second, most)
	c.calm = max(c.calm, until)
	return until, true
}

func (c *chaos) storeAway() {
	if until, now := c.outage(60 * time.Second); now {
		c.w.count(StoreAway)
		c.w.storage.awayUntil = until
		c.w.tracef(-1, "the store is unavailable until %v", until)
	}
}

func (c *chaos) apiAway() {
	until, now := c.outage(60 * time.Second)
	if !now {
		return
	}
	c.w.count(APIAway)
	if c.w.chance(0.3) {
		c.w.api.emptyUntil = until
		c.w.tracef(-1, "the API server has no objects until %v", until)
		return
	}
	c.w.api.awayUntil = until
	c.w.tracef(-1, "the API server is unavailable until %v", until)
}

func (c *chaos) operatorCrash() {
	until, now := c.outage(40 * time.Second)
	if !now {
		return
	}
	c.w.count(OperatorCrashes)
	c.w.tracef(-1, "no operator runs until %v", until)
	c.stopOperators()
	c.w.after(until-c.w.now, c.startOperator)
}

func (c *chaos) stopOperators() {
	for _, o := range c.w.operators {
		o.alive = false
	}
	c.w.operators = nil
}

// startOperator starts an operator if there is none.
func (c *chaos) startOperator() {
	if len(c.w.operators) == 0 {
		c.w.operators = append(c.w.operators, c.w.newOperator())
	}
}

// twoOperators starts a second operator. The first one ends some seconds later.
func (c *chaos) twoOperators() {
	if len(c.w.operators) != 1 {
		return
	}
	c.w.count(TwoOperators)
	c.w.tracef(-1, "a second operator starts")
	first := c.w.operators[0]
	c.w.operators = []*operator{c.w.newOperator()}
	c.w.after(c.w.between(5*time.Second, 40*time.Second), func() { first.alive = false })
}

// heal ends all outages, partitions and stalls.
func (c *chaos) heal() {
	w := c.w
	w.tracef(-1, "all faults heal")
	w.storage.awayUntil, w.api.awayUntil, w.api.emptyUntil = 0, 0, 0
	for _, p := range w.pods {
		p.cut = [cuts]time.Duration{}
		if p.engine != nil {
			p.engine.stalled = 0
		}
	}
	c.startOperator()
}

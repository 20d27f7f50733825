package handover

import (
	"slices"
	"time"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// limits are the operator's limits for shard moves, with shorter times.
var limits = placement.Limits{
	AtOnce: 8, Join: 40 * time.Second, Rest: 15 * time.Second, Leave: 15 * time.Second, Avoid: time.Minute, Blind: 5 * time.Second,
}

// leaseExpires is how long after the last renewal of its Lease an engine counts as dead.
const leaseExpires = 10 * time.Second

// apiServer holds the ArchiveShard objects.
type apiServer struct {
	objects    []object
	awayUntil  time.Duration
	emptyUntil time.Duration // until then it answers as if it had no objects
}

// operator decides about placement. Its views of the objects may be out of date.
type operator struct {
	w       *world
	alive   bool
	offset  time.Duration
	memory  placement.Memory
	views   []object
	wrote   []int // the version of each object that it wrote last
	busy    int   // number of writes under way
	reports []podReport
	leases  []seenLease
	listed  time.Duration // when Leases were last listed
	begun   time.Duration
}

// podReport is the latest report of an engine.
type podReport struct {
	at       time.Duration // -1: never
	holds    []placement.Holder
	shards   []int
	ranks    []int
	sights   map[int]placement.Sight // of the shards that the engine captures
	draining bool
}

// seenLease is a Lease as an operator last saw it, and since when.
type seenLease struct {
	lease int
	since time.Duration
}

func (w *world) newOperator() *operator {
	o := &operator{
		w: w, alive: true, offset: w.skew(), views: slices.Clone(w.api.objects), wrote: make([]int, w.shards), begun: w.now,
	}
	w.after(time.Second, o.step)
	w.after(time.Second, o.poll)
	return o
}

func (o *operator) clock() time.Duration { return o.offset + o.w.now }

func (o *operator) reaches() bool { return o.alive && o.w.now >= o.w.api.awayUntil }

// grow adds a report and a Lease for each new pod.
func (o *operator) grow() {
	for len(o.reports) < len(o.w.pods) {
		o.reports = append(o.reports, podReport{at: -1})
		o.leases = append(o.leases, seenLease{since: o.clock()})
	}
}

// poll requests the report of each engine.
func (o *operator) poll() {
	if !o.alive {
		return
	}
	o.grow()
	for i, p := range o.w.pods {
		if p.engine != nil && !p.gone {
			e := p.engine
			e.after(o.w.delay(), func() {
				r := podReport{at: o.w.now, draining: e.draining, sights: map[int]placement.Sight{}}
				e.phases(func(shard int, phase v1alpha1.ShardPhase, orphaned, sealing bool) {
					if l := e.held[shard]; l != nil && phase == v1alpha1.Capturing {
						r.sights[shard] = l.sight()
					}
					if phase != v1alpha1.Drained {
						rank := 2
						if sealing {
							rank = 0
						} else if phase == v1alpha1.Capturing {
							rank = 1
						}
						r.shards, r.ranks = append(r.shards, shard), append(r.ranks, rank)
						r.holds = append(r.holds, placement.Holder{Name: p.name, Orphaned: orphaned})
					}
				})
				o.w.after(o.w.delay(), func() {
					if r.at > o.reports[i].at { // the operator requests a report after the answer to the last request
						o.reports[i] = r
					}
				})
			})
		}
	}
	o.w.after(o.w.between(4*time.Second, 6*time.Second), o.poll)
}

// step updates the views and makes a placement decision.
func (o *operator) step() {
	if !o.alive {
		return
	}
	o.w.after(o.w.between(500*time.Millisecond, 2*time.Second), o.step)
	if !o.reaches() {
		return
	}
	behind := false
	for i := range o.views {
		if !o.w.chance(o.w.lag) {
			o.views[i] = o.w.api.objects[i]
		}
		behind = behind || o.views[i].version < o.wrote[i]
	}
	o.listLeases()
	if behind || o.busy > 0 || o.w.now-o.begun < 3*time.Second || o.w.now < o.w.api.emptyUntil {
		return
	}
	in := o.input()
	o.memory.Recall(&in)
	r := placement.Plan(in)
	o.memory.Record(&in, r)
	o.applyPlan(r)
	for i, engines := range r.Engines {
		if o.views[i].spec == nil || !slices.Equal(engines, o.views[i].spec.Engines) {
			o.write(i, engines)
		}
	}
}

// listLeases lists the Leases. If the last list is more than 6 s old, it restarts the time of
// all Leases, so that no engine counts as dead.
func (o *operator) listLeases() {
	o.grow()
	now := o.clock()
	apart := now-o.listed > 6*time.Second
	o.listed = now
	for i, p := range o.w.pods {
		if l := &o.leases[i]; l.lease != p.lease || apart {
			*l = seenLease{p.lease, now}
		}
	}
}

// input returns the input of a placement decision.
func (o *operator) input() placement.Input {
	in := placement.Input{Rebalance: true, Now: epoch.Add(o.clock()), Limits: limits, Holding: map[int][]placement.Holder{}}
	synced := true
	for i, p := range o.w.pods {
		if p.deleted {
			continue
		}
		e, known := o.engine(i, p)
		synced = synced && (known || e.Dead || p.gone)
		in.Engines = append(in.Engines, e)
		if known {
			o.reports[i].into(in.Holding)
		}
	}
	for i := range in.Engines { // an engine without a report may hold shards that seem unassigned
		in.Engines[i].Usable = in.Engines[i].Usable && synced
	}
	for i := range o.views {
		in.Shards = append(in.Shards, o.shard(i))
	}
	return in
}

// engine returns the operator's view of a pod. known is true if the pod's report is recent.
func (o *operator) engine(i int, p *pod) (e placement.Engine, known bool) {
	r, l := &o.reports[i], &o.leases[i]
	known = r.at >= 0 && o.w.now-r.at < 30*time.Second
	e = placement.Engine{
		Name: p.name, Node: p.name,
		Leaving: p.deleting || known && r.draining,
		Dead:    l.lease > 0 && o.clock()-l.since >= leaseExpires,
	}
	e.Usable = known && !e.Dead && !e.Leaving && !p.gone
	return e, known
}

// into adds the engine to the holders of its shards. An engine that seals comes first.
func (r *podReport) into(holding map[int][]placement.Holder) {
	for j, shard := range r.shards {
		at := 0
		if r.ranks[j] > 0 {
			at = len(holding[shard])
		}
		holding[shard] = slices.Insert(holding[shard], at, r.holds[j])
	}
}

// shard returns the operator's view of a shard.
func (o *operator) shard(index int) placement.Shard {
	s := placement.Shard{Index: index, Weight: o.w.weights[index], Replicas: o.w.replicas}
	v := o.views[index]
	if v.spec == nil {
		return s
	}
	for _, e := range v.spec.Engines {
		slot := placement.Slot{Name: e.Name, Order: e.Order}
		if entry := handover.Entry(v.status, e.Name); entry != nil {
			slot.Phase = entry.Phase
			slot.Sight = o.sight(index, entry)
		}
		if o.w.cfg.Fault == EarlyClose && e.Order == v1alpha1.OrderCapture {
			slot.Phase = v1alpha1.Capturing
		}
		s.Engines = append(s.Engines, slot)
	}
	return s
}

// sight returns what the operator knows about how much of a shard an engine sees.
func (o *operator) sight(shard int, answer *v1alpha1.ShardEngineStatus) placement.Sight {
	if o.w.cfg.Fault == BlindSuccessor {
		return placement.Sight{}
	}
	for i, p := range o.w.pods {
		if e, known := o.engine(i, p); p.name == answer.Name && known && !e.Dead {
			if s, captures := o.reports[i].sights[shard]; captures {
				return s
			}
		}
	}
	if answer.Connected == nil {
		return placement.Sight{}
	}
	return placement.Sight{Known: true, Stale: true, Channels: channels, Connected: int(*answer.Connected)}
}

func (o *operator) applyPlan(r placement.Result) {
	for _, m := range r.Moves {
		o.w.count(Moves)
		switch m.Reason {
		case placement.Dead:
			o.w.count(TakeOvers)
		case placement.Blind:
			o.w.count(OffBlind)
		}
		o.w.tracef(m.Shard, "operator: %s, from %q to %q", m.Reason, m.From, m.To)
	}
	for _, u := range r.Undone {
		o.w.count(Undone)
		if u.Fewer {
			o.w.count(Declined)
		}
		o.w.tracef(u.Shard, "operator: the move from %q to %q is undone", u.From, u.To)
	}
}

// write writes the orders of a shard, regardless of the object's current version.
func (o *operator) write(shard int, engines []v1alpha1.ShardEngine) {
	o.busy++
	o.w.send(link{
		open: o.reaches,
		do: func() {
			obj := &o.w.api.objects[shard]
			obj.version++
			obj.spec = &v1alpha1.ArchiveShardSpec{Engines: engines}
			if obj.status == nil {
				obj.status = &v1alpha1.ArchiveShardStatus{}
			}
			o.wrote[shard] = obj.version
			o.w.tracef(shard, "operator orders %v", engines)
		},
		back: func(d time.Duration, _ bool) { o.w.after(min(d, 3*time.Second), func() { o.busy-- }) },
	})
}

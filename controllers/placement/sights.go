package placement

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

const (
	// reachedKept is how long disconnected channels of a shard are expected back.
	reachedKept = 24 * time.Hour
	// triesAtOnce is how many shards of an engine may look for an engine that sees more, before
	// the engine's shards rest. The first rest takes Limits.Avoid, the next ones double up to
	// longestRest.
	triesAtOnce = 2
	longestRest = 4 * time.Hour
	// namedHosts is the maximum number of hosts of a blind engine.
	namedHosts = 64
)

// sights is the part of Memory that remembers what engines saw of their shards. It judges which
// engines are blind:
//
//	Sight of each engine ─▶ reached: the most that an engine saw of each shard lately
//	         │                 │
//	         └──── lacks? ─────┴─▶ do others reach these hosts? ─┬─ yes, for a while ─▶ mark: blind
//	                                                             └─ unknown ─▶ Suspect: look for an
//	                                                                  engine that sees more, rarely
//
// If no engine reaches the hosts, their IOCs are off, and no engine is blind.
type sights struct {
	reached map[int]reached
	// suspected maps each engine to the time since which others reach hosts that it does not
	// reach. lacking maps each shard to the time since which its only engine lacks a part of it.
	suspected map[string]time.Time
	lacking   map[int]time.Time
	marks     map[string]*mark
	tries     map[string]*tries // by engine
	tried     map[int]time.Time // when a shard last looked for an engine that sees more
}

// reached is how many channels of a shard were last reached steadily, on which hosts, and when an
// engine last confirmed it.
type reached struct {
	channels int
	hosts    []Host
	at       time.Time
}

// mark marks an engine as blind.
type mark struct {
	shard int      // a shard that the engine does not see
	hosts []string // hosts that it does not reach, sorted
	until time.Time
	// again is the time since which the engine reaches all these hosts, or zero.
	again time.Time
}

// tries counts the attempts to find an engine that sees more than this one.
type tries struct {
	begun int
	rest  time.Duration
	until time.Time // no attempt begins before
}

// evidence is what a blind engine does not see although others do.
type evidence struct {
	missing      int // channels
	shard, worst int // the shard that misses most
	hosts        map[string]bool
}

// add adds what an engine misses of a shard.
func (e *evidence) add(shard, missing int, hosts []string) {
	if e.missing += missing; missing > e.worst {
		e.shard, e.worst = shard, missing
	}
	for _, h := range hosts {
		e.hosts[h] = true
	}
}

// recall updates what is known about sights, and fills Reached, Reaching, Suspect and Probe of
// shards and Blind of engines.
func (m *sights) recall(in *Input) {
	if m.reached == nil {
		*m = sights{
			reached: map[int]reached{}, suspected: map[string]time.Time{}, lacking: map[int]time.Time{},
			marks: map[string]*mark{}, tries: map[string]*tries{}, tried: map[int]time.Time{},
		}
	}
	for i := range in.Shards {
		m.updateReached(in, &in.Shards[i])
	}
	expectOfUnseeing(in)
	found, lacks := m.judge(in)
	m.updateMarks(in, found)
	m.chooseSuspects(in, lacks)
	m.chooseProbes(in)
}

// updateReached updates how much of a shard is reached.
func (m *sights) updateReached(in *Input, s *Shard) {
	was := m.reached[s.Index]
	var best *Sight
	for i := range s.Engines {
		if slot := &s.Engines[i]; sees(slot) && (best == nil || slot.Sight.Steady > best.Steady) {
			best = &slot.Sight
		}
	}
	if best != nil {
		was.channels = min(was.channels, best.Channels)
		if !few(best.Steady, was.channels) || in.Now.Sub(was.at) >= reachedKept {
			was = reached{channels: best.Steady, hosts: best.Hosts, at: in.Now}
		}
		m.reached[s.Index] = was
	}
	s.Reached, s.Suspect, s.Probe, s.Reaching = was.channels, false, "", nil
}

// expectOfUnseeing expects of an engine that reaches no channel at all that it reaches all, if
// another engine reaches some. Nobody ever saw its shards if it got them when they were new.
func expectOfUnseeing(in *Input) {
	type total struct{ channels, unreachable, steady int }
	totals := map[string]total{}
	for i := range in.Shards {
		for j := range in.Shards[i].Engines {
			if slot := &in.Shards[i].Engines[j]; sees(slot) {
				t := totals[slot.Name]
				totals[slot.Name] = total{t.channels + slot.Sight.Channels, t.unreachable + slot.Sight.Unreachable, t.steady + slot.Sight.Steady}
			}
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(totals)), func(t total) bool { return t.steady > 0 }) {
		return
	}
	for i := range in.Shards {
		s := &in.Shards[i]
		for j := range s.Engines {
			slot := &s.Engines[j]
			if t := totals[slot.Name]; s.Reached == 0 && sees(slot) && t.unreachable == t.channels {
				s.Reached = slot.Sight.Channels
			}
		}
	}
}

// lack is a shard of which an engine lacks a part.
type lack struct {
	shard  *Shard
	engine string
	// alone reports whether no other engine should capture the shard, and nothing shows that
	// others reach its hosts.
	alone bool
}

// judge compares what engines see. found has the evidence against each engine.
func (m *sights) judge(in *Input) (found map[string]*evidence, lacks []lack) {
	found = map[string]*evidence{}
	var reach reach
	for i := range in.Shards {
		s := &in.Shards[i]
		for j := range s.Engines {
			slot := &s.Engines[j]
			if !s.lacks(slot) {
				continue
			}
			if reach == nil {
				reach = reachOf(in)
			}
			missing, hosts := m.missing(s, slot, reach)
			lacks = append(lacks, lack{s, slot.Name, missing == 0 && s.Replicas < 2 && s.captures() == 1})
			if missing == 0 {
				continue
			}
			if found[slot.Name] == nil {
				found[slot.Name] = &evidence{hosts: map[string]bool{}}
			}
			found[slot.Name].add(s.Index, missing, hosts)
		}
	}
	return found, lacks
}

// captures counts the engines that should capture a shard.
func (s *Shard) captures() (n int) {
	for i := range s.Engines {
		if s.Engines[i].Order == v1alpha1.OrderCapture {
			n++
		}
	}
	return n
}

// missing returns how many channels of a shard an engine misses that others reach, and on which
// hosts, and fills Reaching. Others reach them if another engine sees the shard, or is connected
// to the hosts for other shards while this engine is not connected to them at all.
func (m *sights) missing(s *Shard, slot *Slot, reach reach) (channels int, hosts []string) {
	expected := min(s.Reached, slot.Sight.Channels)
	for i := range s.Engines {
		if o := &s.Engines[i]; o.Name != slot.Name && sees(o) && !few(o.Sight.Steady, expected) {
			return expected - slot.Sight.atMost(), lackingHosts(slot.Sight.Hosts, o.Sight.Hosts)
		}
	}
	for _, h := range m.reached[s.Index].hosts {
		if others := reach[h.Name]; !others[slot.Name] && len(others) > 0 {
			channels += h.Channels
			hosts = append(hosts, h.Name)
			s.Reaching = slices.AppendSeq(s.Reaching, maps.Keys(others))
		}
	}
	slices.Sort(s.Reaching)
	s.Reaching = slices.Compact(s.Reaching)
	if !few(expected-channels, expected) {
		return 0, nil
	}
	return channels, hosts
}

// lackingHosts returns the hosts on which an engine has connected fewer channels than another.
func lackingHosts(have, wanted []Host) (names []string) {
	count := map[string]int{}
	for _, h := range have {
		count[h.Name] = h.Channels
	}
	for _, h := range wanted {
		if count[h.Name] < h.Channels {
			names = append(names, h.Name)
		}
	}
	return names
}

// reach has the living engines that are connected to each host, for any shard.
type reach map[string]map[string]bool

func reachOf(in *Input) reach {
	r := reach{}
	for i := range in.Shards {
		for j := range in.Shards[i].Engines {
			slot := &in.Shards[i].Engines[j]
			for _, h := range slot.Sight.Hosts {
				if r[h.Name] == nil {
					r[h.Name] = map[string]bool{}
				}
				r[h.Name][slot.Name] = true
			}
		}
	}
	return r
}

// chooseSuspects chooses the shards that may look for an engine that sees more, the ones first
// that have not done so for the longest time.
func (m *sights) chooseSuspects(in *Input, lacks []lack) {
	lacking, engines := map[int]time.Time{}, map[string]bool{}
	for _, l := range lacks {
		if engines[l.engine] = true; l.alone {
			lacking[l.shard.Index] = since(m.lacking, l.shard.Index, in.Now)
		}
	}
	m.lacking = lacking
	maps.DeleteFunc(m.tries, func(engine string, _ *tries) bool { return !engines[engine] })
	slices.SortFunc(lacks, func(a, b lack) int {
		return cmp.Or(m.tried[a.shard.Index].Compare(m.tried[b.shard.Index]),
			cmp.Compare(b.shard.Reached, a.shard.Reached), cmp.Compare(a.shard.Index, b.shard.Index))
	})
	chosen := map[string]int{}
	for _, l := range lacks {
		if !l.alone || in.Now.Sub(lacking[l.shard.Index]) < in.Limits.Blind {
			continue
		}
		t := m.tries[l.engine]
		if t == nil {
			t = &tries{rest: in.Limits.Avoid}
			m.tries[l.engine] = t
		}
		if !in.Now.Before(t.until) && t.begun+chosen[l.engine] < triesAtOnce {
			l.shard.Suspect = true
			chosen[l.engine]++
		}
	}
}

// since returns the time under a key, or now if there is none.
func since[K comparable](times map[K]time.Time, key K, now time.Time) time.Time {
	if at, known := times[key]; known {
		return at
	}
	return now
}

// record remembers the attempts that begin, and the engines that did not see a shard in time.
func (m *sights) record(in *Input, r Result) {
	blind := map[string]bool{}
	for i := range in.Engines {
		blind[in.Engines[i].Name] = in.Engines[i].Blind
	}
	for _, move := range r.Moves {
		t := m.tries[move.From]
		if move.Reason != Blind || blind[move.From] || t == nil {
			continue
		}
		m.tried[move.Shard] = in.Now
		if t.begun++; t.begun == triesAtOnce {
			t.begun, t.until, t.rest = 0, in.Now.Add(t.rest), min(2*t.rest, max(longestRest, in.Limits.Avoid))
		}
	}
	m.markUndone(in, r.Undone)
}

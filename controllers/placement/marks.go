package placement

import (
	"maps"
	"slices"
	"time"
)

// BlindEngine is an engine that does not reach hosts that other engines reach.
type BlindEngine struct {
	Engine string
	// Hosts are some of these hosts, sorted.
	Hosts []string
}

// Equal reports whether two values are the same.
func (b BlindEngine) Equal(o BlindEngine) bool {
	return b.Engine == o.Engine && slices.Equal(b.Hosts, o.Hosts)
}

// Blind returns the engines that are blind, sorted by name.
func (m *Memory) Blind() (out []BlindEngine) {
	for _, engine := range slices.Sorted(maps.Keys(m.sights.marks)) {
		out = append(out, BlindEngine{Engine: engine, Hosts: slices.Clone(m.sights.marks[engine].hosts)})
	}
	return out
}

// updateMarks marks the engines against which there is evidence for long enough, and removes the
// marks of engines that see again.
func (m *sights) updateMarks(in *Input, found map[string]*evidence) {
	suspected := map[string]time.Time{}
	for engine, e := range found {
		if e.missing < 2 { // a single channel is no evidence
			continue
		}
		suspected[engine] = since(m.suspected, engine, in.Now)
		if m.marks[engine] != nil || in.Now.Sub(suspected[engine]) >= in.Limits.Blind {
			m.mark(in, engine, e.shard, slices.Collect(maps.Keys(e.hosts)))
		}
	}
	m.suspected = suspected
	reach := reach{}
	if len(m.marks) > 0 {
		reach = reachOf(in)
	}
	for engine, mk := range m.marks {
		if _, still := suspected[engine]; !still && m.seesAgain(in, engine, mk, reach) || !hasEngine(in, engine) {
			delete(m.marks, engine)
		}
	}
	for i := range in.Engines {
		in.Engines[i].Blind = m.marks[in.Engines[i].Name] != nil
	}
}

// mark marks an engine as blind, or renews its mark.
func (m *sights) mark(in *Input, engine string, shard int, hosts []string) {
	mk := m.marks[engine]
	if mk == nil {
		mk = &mark{}
		m.marks[engine] = mk
	}
	hosts = append(hosts, mk.hosts...)
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	mk.shard, mk.hosts = shard, hosts[:min(len(hosts), namedHosts)]
	mk.until, mk.again = in.Now.Add(in.Limits.Avoid), time.Time{}
}

// seesAgain reports whether a blind engine sees the shard steadily that it did not see, or has
// reached all hosts again for Limits.Blind. If no shard may move to it on trial, an engine without
// shards counts as seeing again after a while.
func (m *sights) seesAgain(in *Input, engine string, mk *mark, reach reach) bool {
	for i := range in.Shards {
		for j := range in.Shards[i].Engines {
			s, slot := &in.Shards[i], &in.Shards[i].Engines[j]
			if s.Index == mk.shard && slot.Name == engine && sees(slot) && !few(slot.Sight.Steady, min(s.Reached, slot.Sight.Channels)) {
				return true
			}
		}
	}
	all := len(mk.hosts) > 0
	for _, host := range mk.hosts {
		all = all && reach[host][engine]
	}
	switch {
	case !all:
		mk.again = time.Time{}
	case mk.again.IsZero():
		mk.again = in.Now
	}
	return all && in.Now.Sub(mk.again) >= in.Limits.Blind || !in.Rebalance && !in.Now.Before(mk.until)
}

// hasEngine reports whether an engine has a pod.
func hasEngine(in *Input, name string) bool {
	return slices.ContainsFunc(in.Engines, func(e Engine) bool { return e.Name == name })
}

// chooseProbes chooses the shards that may move to blind engines on trial.
func (m *sights) chooseProbes(in *Input) {
	for engine, mk := range m.marks {
		if in.Now.Before(mk.until) {
			continue
		}
		at := slices.IndexFunc(in.Shards, func(s Shard) bool { return s.Index == mk.shard })
		if at >= 0 && (in.Shards[at].Probe == "" || engine < in.Shards[at].Probe) {
			in.Shards[at].Probe = engine
		}
	}
}

// markUndone marks the targets of moves that are undone because they saw far fewer channels than
// the source for all of Limits.Join.
func (m *sights) markUndone(in *Input, undone []Undone) {
	for _, u := range undone {
		if !u.Fewer {
			continue
		}
		e := &evidence{hosts: map[string]bool{}}
		ripe := false
		for i := range in.Shards {
			s := &in.Shards[i]
			from, to := m.moving(s, u.To)
			if to == nil {
				continue
			}
			expected := min(from.Sight.Connected, to.Sight.Channels)
			if !few(to.Sight.Connected, expected) {
				continue
			}
			e.add(s.Index, expected-to.Sight.Connected, lackingHosts(to.Sight.Hosts, from.Sight.Hosts))
			ripe = ripe || s.Index == u.Shard && in.Now.Sub(to.Ordered) >= in.Limits.Join
		}
		if ripe && e.missing >= 2 {
			m.mark(in, u.To, u.Shard, slices.Collect(maps.Keys(e.hosts)))
		}
	}
}

// moving returns the engine of a shard that sees most, and another engine that captures the
// shard. Both are nil unless both engines say what they see.
func (m *sights) moving(s *Shard, engine string) (from, to *Slot) {
	for i := range s.Engines {
		switch slot := &s.Engines[i]; {
		case !sees(slot):
		case slot.Name == engine:
			to = slot
		case from == nil || slot.Sight.Connected > from.Sight.Connected:
			from = slot
		}
	}
	if from == nil || to == nil {
		return nil, nil
	}
	return from, to
}

package agent

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/seal"
)

// reportAge is how long a report is reused. Making a report visits every channel.
const reportAge = 5 * time.Second

// reports keeps the latest report.
type reports struct {
	mu     sync.Mutex // held while a report is made
	latest *report.Report
	at     time.Time
	losses losses
}

// expire discards the latest report, so that the next request makes a new one.
func (r *reports) expire() {
	r.mu.Lock()
	r.latest = nil
	r.mu.Unlock()
}

// ServeHTTP serves the report of the engine at report.Path.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.note(r, time.Now())
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.Report()) // fails only if the client is gone
}

// Report returns the state of the engine, at most reportAge old. The caller must not
// change it.
func (a *Agent) Report() *report.Report {
	a.reports.mu.Lock()
	defer a.reports.mu.Unlock()
	now := time.Now()
	if r := a.reports.latest; r != nil && now.Sub(a.reports.at) < reportAge {
		return r
	}
	a.reports.latest, a.reports.at = a.makeReportLocked(now), now
	return a.reports.latest
}

// makeReportLocked makes a report. The caller holds the lock of reports.
func (a *Agent) makeReportLocked(now time.Time) *report.Report {
	sum := a.cfg.Engine.Summary()
	r := &report.Report{
		Engine: a.cfg.Name, Writer: a.cfg.Engine.Writer().String(), Version: a.cfg.Version, Started: a.started, Format: a.reportFormat(),
		Storage: a.cfg.Engine.Storage(), Received: sum.Received, Stored: sum.Stored, Pending: sum.Pending, MemoryBytes: sum.MemoryBytes,
		Shards: []report.Shard{}, DiskGuard: diskGuard(a.cfg.Engine.DiskGuard()), WrongClock: wrongClock(a.cfg.Engine.Clock()),
		SearchProblems: searchProblems(a.cfg.Channels.Problems()),
		SealingLag:     sealingLag(a.cfg.Engine.SealingLag()), Damaged: damaged(a.cfg.Engine.Damaged()),
	}
	lag, _ := a.cfg.Engine.SealingLag()
	r.OldestUnsealedSeconds, r.JournalKeptSeconds = lag.Age.Seconds(), lag.TTL.Seconds()
	for _, n := range sum.Dropped {
		r.Dropped += n
	}
	elsewhere, second := a.reportShards(r)
	c, connected := census{now: now, groups: map[string]*report.Group{}, losses: a.reports.losses.next()}, circuits{}
	if sum.Stored > 0 {
		c.sampleBytes = float64(sum.JournalBytes) / float64(sum.Stored)
	}
	for s := range a.cfg.Channels.Statuses() {
		shard, ok := a.cfg.Channels.Shard(s.PV)
		if !ok {
			continue
		}
		connected.add(&s, shard, second[shard])
		switch {
		case second[shard]:
			c.addSecond(&s)
		case !elsewhere[shard]:
			c.add(&s)
		}
	}
	a.reports.losses = c.losses
	r.Groups, r.Circuits = c.result(), connected.top()
	if c.second.Channels > 0 {
		c.second.Circuits = connected.onlySecond()
		r.Second = &c.second
	}
	shares, hosts := connected.shares(), connected.hosts(len(r.Shards))
	for i := range r.Shards {
		s := &r.Shards[i]
		s.Circuits, s.Hosts = shares[s.Index], hosts[s.Index]
	}
	return r
}

// reportShards adds the shards to the report. elsewhere are the shards whose channels another
// engine counts, and second the shards that this engine captures permanently as their second
// engine.
func (a *Agent) reportShards(r *report.Report) (elsewhere, second map[int]bool) {
	elsewhere, second = map[int]bool{}, map[int]bool{}
	a.mu.Lock()
	r.Draining = a.draining != nil
	for i, s := range a.shards {
		elsewhere[i] = s.isCountedElsewhere(a.cfg.Name)
		second[i] = i >= a.cfg.Shards && s.isSecond(a.cfg.Name)
		r.Shards = append(r.Shards, report.Shard{
			Index: i, Phase: string(s.phase), Orphaned: s.decision.Orphaned, Lists: s.captured.names(),
		})
	}
	a.mu.Unlock()
	slices.SortFunc(r.Shards, func(x, y report.Shard) int { return cmp.Compare(x.Index, y.Index) })
	for i := range r.Shards {
		s, st := &r.Shards[i], a.cfg.Engine.ShardStatus(r.Shards[i].Index)
		s.Channels, s.Connected = st.Channels, st.States[capture.Connected]
		s.Paused, s.Unsupported = st.States[capture.Paused], st.States[capture.Unsupported]
		s.SteadilyConnected, s.Unreachable = st.SteadilyConnected, st.Unreachable
		s.SamplesPerSecond, s.BytesPerSecond = st.Rate, st.BytesPerSecond
		s.Sealing = st.Sealing
	}
	return elsewhere, second
}

// isSecond reports whether both this engine and an earlier engine in the spec capture the
// shard.
func (s *shard) isSecond(engine string) bool {
	if s.phase != v1alpha1.Capturing {
		return false
	}
	for _, e := range s.spec.Engines {
		if e.Name == engine {
			return false
		}
		if a := handover.Entry(s.status(), e.Name); a != nil && a.Phase == v1alpha1.Capturing && e.Order == v1alpha1.OrderCapture {
			return true
		}
	}
	return false
}

// isCountedElsewhere reports whether another engine's report counts the channels of the
// shard. The first engine that captures the shard and has no order to drain counts them.
func (s *shard) isCountedElsewhere(engine string) bool {
	switch s.phase {
	case v1alpha1.Drained, "":
		return true
	case v1alpha1.Capturing:
		if _, named := handover.Order(&s.spec, engine); named {
			return s.isSecond(engine)
		}
	}
	return handover.Succeeded(&s.spec, s.status(), engine)
}

// searchProblems returns the first problems of searches, with bounded lengths.
func searchProblems(all []string) (out []string) {
	const most, longest = 4, 400
	for _, text := range all[:min(most, len(all))] {
		if len(text) > longest {
			text = strings.ToValidUTF8(text[:longest], "") + "…"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// wrongClock returns the clock's part of the report, or nil unless the clock is wrong.
func wrongClock(v clock.Verdict) *report.WrongClock {
	if v.Judgement != clock.Wrong {
		return nil
	}
	return &report.WrongClock{OffsetSeconds: v.Offset.Seconds(), Because: v.Because}
}

// sealingLag returns the report about sealing, or nil if no shard is late.
func sealingLag(worst seal.Lag, late int) *report.SealingLag {
	if late == 0 {
		return nil
	}
	return &report.SealingLag{Shards: late, OldestSeconds: worst.Age.Seconds(), KeptSeconds: worst.TTL.Seconds()}
}

// damaged returns the report about damaged data, or nil if there is none.
func damaged(found seal.Found) *report.Damaged {
	if found.Count == 0 {
		return nil
	}
	return &report.Damaged{Objects: found.Count, First: found.First, IDs: found.IDs}
}

// diskGuard returns the disk guard's part of the report, or nil if another engine runs the guard.
func diskGuard(s guard.Status) *report.DiskGuard {
	if s.Reason == "" {
		return nil
	}
	d := &report.DiskGuard{Reason: string(s.Reason), Size: s.Size, Limit: s.Limit, Waiting: s.Waiting, Text: s.Text}
	if s.Cutoff != 0 {
		before := time.Unix(0, s.Cutoff).UTC()
		d.Before = &before
	}
	return d
}

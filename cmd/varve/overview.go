package main

import (
	"context"
	"time"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/serve/overview"
)

// fleetOfOne describes an engine in this process as the fleet of an archive.
func fleetOfOne(e *engine.Engine, name string, started time.Time) overview.Fleet {
	f := overview.Fleet{Shards: e.Shards()}
	fig := figures(e)
	sealing := e.Sealing()
	for shard := range e.Shards() {
		st := e.ShardStatus(shard)
		fig.Channels, fig.Connected = fig.Channels+st.Channels, fig.Connected+st.States[capture.Connected]
		fig.SamplesPerSecond, fig.BytesPerSecond = fig.SamplesPerSecond+st.Rate, fig.BytesPerSecond+st.BytesPerSecond
		s := overview.Shard{Shard: shard, Channels: st.Channels, Engines: []overview.ShardEngine{}}
		if st.Held {
			fig.Shards++
			f.Captured++
			s.Engines = append(s.Engines, overview.ShardEngine{Engine: name, Phase: "Capturing", Sealing: sealing[shard], Connected: new(st.States[capture.Connected])})
		}
		f.Assigned = append(f.Assigned, s)
	}
	fig.Sealing = len(sealing)
	f.Engines = []overview.Engine{{Engine: name, Version: version(), Started: started.UTC(), Figures: fig}}
	return f
}

// figures returns the figures of an engine that are not those of its shards.
func figures(e *engine.Engine) *overview.Figures {
	sum := e.Summary()
	fig := &overview.Figures{Received: sum.Received, Stored: sum.Stored, Pending: sum.Pending, Memory: sum.MemoryBytes, Storage: e.Storage(), Clock: clockOf(e.Clock())}
	for _, n := range sum.Dropped {
		fig.Dropped += n
	}
	if lag, late := e.SealingLag(); lag.TTL > 0 {
		fig.Unsealed = &overview.Unsealed{OldestSeconds: lag.Age.Seconds(), KeptSeconds: lag.TTL.Seconds(), Late: late}
	}
	if found := e.Damaged(); found.Count > 0 {
		fig.Damaged = &overview.Damaged{Objects: found.Count, First: found.First}
	}
	if g := e.DiskGuard(); g.Reason != "" {
		fig.DiskGuard = &overview.DiskGuard{Reason: string(g.Reason), Size: g.Size, Limit: g.Limit, Waiting: g.Waiting, Text: g.Text}
		if g.Cutoff != 0 {
			fig.DiskGuard.Before = time.Unix(0, g.Cutoff).UTC()
		}
	}
	return fig
}

// clockOf describes the verdict about the clock.
func clockOf(v clock.Verdict) overview.Clock {
	states := map[clock.Judgement]string{clock.Right: overview.ClockRight, clock.Wrong: overview.ClockWrong}
	c := overview.Clock{State: overview.ClockUnknown, OffsetSeconds: v.Offset.Seconds(), Because: v.Because}
	if s, known := states[v.Judgement]; known {
		c.State = s
	}
	return c
}

// overview returns what this process knows of its archive.
func (s *server) overview() overview.Sources {
	started := time.Now()
	return overview.Sources{
		Engines: func(context.Context) overview.Fleet { return fleetOfOne(s.Engine, "this process", started) },
		Groups:  s.files.Groups, Check: s.files.Check,
	}
}

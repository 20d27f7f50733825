package routing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/serve/overview"
)

// Bounds of a request for the report of an engine. A report names up to 16,000 hosts.
const (
	reportTimeout = 5 * time.Second
	maxReport     = 32 << 20
)

// Fleet returns the state of all engines, by their reports, and of the shards, by the last update of
// the API server.
func (r *Router) Fleet(ctx context.Context) overview.Fleet {
	state, known := r.Moves()
	pods, havePods := r.pods.All()
	if !known || !havePods {
		return overview.Fleet{Missing: "the API server has not listed the engines yet"}
	}
	shards, _ := r.shards.All()
	maps.DeleteFunc(shards, func(_ string, s *v1alpha1.ArchiveShard) bool {
		return s.Spec.ArchiverRef.Name != r.cfg.Archiver || s.Spec.Index == nil
	})
	names := slices.Sorted(maps.Keys(namesOf(pods, shards)))
	addresses := addressesOf(pods, r.cfg.Port)
	engines, reports := make([]overview.Engine, len(names)), make([]*report.Report, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		engines[i].Engine = name
		url, running := addresses[name]
		if !running {
			engines[i].Missing = whyAway(pods[name])
			continue
		}
		asking.Go(func() {
			rep, err := r.fetchReport(ctx, url)
			if err != nil {
				engines[i].Missing = err.Error()
				return
			}
			reports[i] = rep
			engines[i] = engineOf(name, rep)
		})
	}
	asking.Wait()
	f := overview.Fleet{Engines: engines, Shards: len(shards)}
	byName := map[string]*report.Report{}
	for i, rep := range reports {
		if rep != nil {
			byName[names[i]] = rep
		}
	}
	for _, s := range slices.SortedFunc(maps.Values(shards), func(a, b *v1alpha1.ArchiveShard) int { return cmp.Compare(*a.Spec.Index, *b.Spec.Index) }) {
		shard, captured := assignedShard(s, byName)
		f.Assigned = append(f.Assigned, shard)
		if captured || s.Spec.Channels == 0 {
			f.Captured++
		}
	}
	for _, m := range state.Moves {
		out := overview.Move{Shard: m.Shard, From: m.From, To: m.To, Phase: m.Phase, Message: m.Message}
		if m.Since != nil {
			out.Since = *m.Since
		}
		f.Moves = append(f.Moves, out)
	}
	return f
}

// namesOf returns the names of the pods of engines, and of the engines that shards name.
func namesOf(pods map[string]*corev1.Pod, shards map[string]*v1alpha1.ArchiveShard) map[string]bool {
	names := map[string]bool{}
	for name := range pods {
		names[name] = true
	}
	for _, s := range shards {
		for _, e := range s.Spec.Engines {
			names[e.Name] = true
		}
	}
	return names
}

// whyAway says why an engine has no address to ask.
func whyAway(pod *corev1.Pod) string {
	switch {
	case pod == nil:
		return "its pod does not exist"
	case isLost(pod):
		return "its node does not respond"
	}
	return "its pod is in phase " + string(cmp.Or(pod.Status.Phase, corev1.PodPending))
}

// fetchReport requests the report of an engine.
func (r *Router) fetchReport(ctx context.Context, url string) (*report.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+report.Path, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := r.peers.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the engine answers %s", res.Status)
	}
	return decodeReport(res.Body)
}

// decodeReport decodes the report of an engine.
func decodeReport(r io.Reader) (*report.Report, error) {
	var rep report.Report
	if err := json.NewDecoder(io.LimitReader(r, maxReport)).Decode(&rep); err != nil {
		return nil, fmt.Errorf("decoding the report of the engine: %w", err)
	}
	return &rep, nil
}

// engineOf returns the state of an engine by its report.
func engineOf(name string, r *report.Report) overview.Engine {
	f := &overview.Figures{
		Received: r.Received, Stored: r.Stored, Pending: r.Pending, Dropped: r.Dropped, Memory: r.MemoryBytes, Storage: r.Storage,
		Clock: overview.Clock{State: overview.ClockNotWrong},
	}
	for i := range r.Shards {
		s := &r.Shards[i]
		f.Shards++
		if s.Sealing {
			f.Sealing++
		}
		f.Channels, f.Connected = f.Channels+s.Channels, f.Connected+s.Connected
		f.SamplesPerSecond, f.BytesPerSecond = f.SamplesPerSecond+s.SamplesPerSecond, f.BytesPerSecond+s.BytesPerSecond
	}
	if r.JournalKeptSeconds > 0 {
		f.Unsealed = &overview.Unsealed{OldestSeconds: r.OldestUnsealedSeconds, KeptSeconds: r.JournalKeptSeconds}
	}
	if l := r.SealingLag; l != nil {
		f.Unsealed = &overview.Unsealed{OldestSeconds: l.OldestSeconds, KeptSeconds: l.KeptSeconds, Late: l.Shards}
	}
	if d := r.Damaged; d != nil {
		f.Damaged = &overview.Damaged{Objects: d.Objects, First: d.First}
	}
	if c := r.WrongClock; c != nil {
		f.Clock = overview.Clock{State: overview.ClockWrong, OffsetSeconds: c.OffsetSeconds, Because: c.Because}
	}
	if g := r.DiskGuard; g != nil {
		f.DiskGuard = &overview.DiskGuard{Reason: g.Reason, Size: g.Size, Limit: g.Limit, Waiting: g.Waiting, Text: g.Text}
		if g.Before != nil {
			f.DiskGuard.Before = *g.Before
		}
	}
	return overview.Engine{Engine: name, Version: r.Version, Started: r.Started.UTC(), Draining: r.Draining, Figures: f}
}

// assignedShard returns a shard with its engines, and whether one of them captures it.
func assignedShard(s *v1alpha1.ArchiveShard, reports map[string]*report.Report) (out overview.Shard, captured bool) {
	out = overview.Shard{Shard: int(*s.Spec.Index), Channels: int(s.Spec.Channels), Engines: []overview.ShardEngine{}}
	if s.Status == nil {
		return out, false
	}
	for _, e := range s.Status.Engines {
		if e.Phase == v1alpha1.Drained {
			continue
		}
		captured = captured || e.Phase == v1alpha1.Capturing || e.Phase == v1alpha1.Draining
		engine := overview.ShardEngine{Engine: e.Name, Phase: string(e.Phase), Sealing: e.Name == s.Status.Sealer}
		if rep := reports[e.Name]; rep != nil {
			for i := range rep.Shards {
				if rep.Shards[i].Index == out.Shard {
					engine.Connected = new(rep.Shards[i].Connected)
				}
			}
		}
		out.Engines = append(out.Engines, engine)
	}
	return out, captured
}

package archiverstatus

import (
	"fmt"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// blindPart sets when an engine counts as blind: it cannot reach at least 1/blindPart of the
// common channels.
const blindPart = 10

// blind returns a message about the engine that cannot reach the most channels that the other
// engine of its shards has connected, or "" if there is no such engine. For each shard,
// engines report only two numbers: the steadily connected channels and the unreachable
// channels. If one engine's unreachable channels and the other engine's steadily connected
// channels together exceed the channels of the shard, at least the excess channels are in both
// numbers.
func blind(in *Input, shards []*v1alpha1.ArchiveShard) string {
	type pair struct{ blind, sees string }
	lacks, of := map[pair]int{}, map[pair]int{}
	reports := capturingReports(in)
	for _, s := range shards {
		here := reports[*s.Spec.Index]
		for a, x := range here {
			for b, y := range here {
				if a != b {
					lacks[pair{a, b}] += max(0, x.Unreachable+y.SteadilyConnected-x.Channels)
					of[pair{a, b}] += x.Channels
				}
			}
		}
	}
	worst := pair{}
	for p, n := range lacks {
		if n > 0 && n*blindPart >= of[p] && (n > lacks[worst] || n == lacks[worst] && p.blind < worst.blind) {
			worst = p
		}
	}
	if worst.blind == "" {
		return ""
	}
	return fmt.Sprintf("engine %s cannot reach %d of %d channels that engine %s has connected: check the network between its node and the IOCs",
		worst.blind, lacks[worst], of[worst], worst.sees)
}

// capturingReports returns the running engines' reports of the shards that they capture, by shard
// and engine.
func capturingReports(in *Input) map[int32]map[string]*report.Shard {
	out := map[int32]map[string]*report.Shard{}
	for i := range in.Fleet {
		e := &in.Fleet[i]
		if e.Dead || e.Report == nil {
			continue
		}
		for j := range e.Report.Shards {
			s := &e.Report.Shards[j]
			if s.Phase != string(v1alpha1.Capturing) {
				continue
			}
			if out[int32(s.Index)] == nil {
				out[int32(s.Index)] = map[string]*report.Shard{}
			}
			out[int32(s.Index)][e.Name] = s
		}
	}
	return out
}

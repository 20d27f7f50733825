package archiverstatus

import (
	"fmt"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// blindPart is the part of the common channels that an engine must lack to count as blind:
// 1/blindPart of them.
const blindPart = 10

// blind returns a message about the engine that lacks the most channels that the other engine of
// its shards has connected, or "". Engines report only numbers for each shard: how many channels
// one engine has not reached for some time, and how many the other has had connected all that
// time. As far as the sum of both exceeds the channels of the shard, the same channels are in
// both numbers.
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

package archiverstatus

import (
	"fmt"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// blindPart is which part of the channels of two engines one of them has to lack to be
// called blind; 1/blindPart of them.
const blindPart = 10

// blind says which engine lacks channels that the other engine of its shards has
// connected; empty: none does. It takes the channels that the one has not reached for some
// time, and that the other one must have had all that time: those that both numbers do not
// leave room for otherwise.
func blind(in *Input, shards []*v1alpha1.ArchiveShard) string {
	type pair struct{ blind, sees string }
	lacks, of := map[pair]int{}, map[pair]int{}
	told := toldOf(in)
	for _, s := range shards {
		here := told[*s.Spec.Index]
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
	return fmt.Sprintf("engine %s does not reach %d of %d channels that engine %s has connected: look at the network between its node and the IOCs",
		worst.blind, lacks[worst], of[worst], worst.sees)
}

// toldOf returns what the living engines say of the shards that they capture, by shard
// and engine.
func toldOf(in *Input) map[int32]map[string]*report.Shard {
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

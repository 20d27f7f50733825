package archiverstatus

import (
	"fmt"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// blindPart is the limit from which an engine counts as blind: it cannot reach 1/blindPart or
// more of the channels that it shares with another engine.
const blindPart = 10

// hostsShown is the maximum number of hosts in the message about a blind engine.
const hostsShown = 5

// blind returns a message about a blind engine, or "" if there is none. It compares the engines
// of each shard in pairs. An engine is blind if it cannot reach many channels to which the other
// engine is connected. The message is about the engine with the most such channels.
//
// For each shard, an engine reports only two numbers: how many channels are steadily connected,
// and how many are unreachable. If the unreachable channels of one engine and the steadily
// connected channels of the other engine add up to more than the channels of the shard, at least
// the excess channels are in both numbers.
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

// blindEngines returns a problem for the engines that do not reach hosts which other engines
// reach. Its text is stable: it names the same engines and hosts until the engines see again.
func blindEngines(in *Input) (all []problem) {
	for _, b := range in.Blind {
		hosts := "IOCs"
		if len(b.Hosts) > 0 {
			hosts = "IOCs " + strings.Join(b.Hosts[:min(len(b.Hosts), hostsShown)], ", ")
		}
		if more := len(b.Hosts) - hostsShown; more > 0 {
			hosts += fmt.Sprintf(" and %d more", more)
		}
		all = append(all, problem{v1alpha1.ReasonEngineBlind, fmt.Sprintf(
			"engine %s does not reach %s, which other engines reach: it gets no more shards, and shards that it does not see move away; check the network between its node and the IOCs",
			b.Engine, hosts)})
	}
	return all
}

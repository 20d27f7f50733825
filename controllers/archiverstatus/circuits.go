package archiverstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// worstShown is the most IOCs that a status names.
const worstShown = 5

// circuitsOf returns the connections that all engines have to IOCs, the most first.
func circuitsOf(in *Input) []v1alpha1.CircuitCount {
	count := map[string]int32{}
	for i := range in.Fleet {
		if r := in.Fleet[i].Report; r != nil {
			for _, c := range r.Circuits {
				count[c.Host] += int32(c.Count)
			}
		}
	}
	all := make([]v1alpha1.CircuitCount, 0, len(count))
	for host, n := range count {
		all = append(all, v1alpha1.CircuitCount{Host: host, Circuits: n})
	}
	slices.SortFunc(all, func(a, b v1alpha1.CircuitCount) int {
		return cmp.Or(cmp.Compare(b.Circuits, a.Circuits), cmp.Compare(a.Host, b.Host))
	})
	return all
}

// worstCircuits are the IOCs with the most connections, of those with more than one.
// Before the first report they are what they were.
func worstCircuits(in *Input) []v1alpha1.CircuitCount {
	all := circuitsOf(in)
	if old := in.Archiver.Status; len(all) == 0 && !in.Settled && old != nil {
		return slices.Clone(old.WorstCircuits)
	}
	all = slices.DeleteFunc(all, func(c v1alpha1.CircuitCount) bool { return c.Circuits < 2 })
	if len(all) == 0 {
		return nil
	}
	return all[:min(len(all), worstShown)]
}

// circuits names IOCs with more connections than they should have to bear.
func circuits(in *Input) []problem {
	most := in.Archiver.Spec.EPICS.MaxCircuitsPerServer
	if most == 0 {
		return nil
	}
	var hosts []string
	for _, c := range circuitsOf(in) {
		if c.Circuits > most {
			hosts = append(hosts, c.Host)
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	slices.Sort(hosts)
	names := strings.Join(hosts[:min(len(hosts), shown)], ", ")
	if more := len(hosts) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return []problem{{v1alpha1.ReasonTooManyCircuits, fmt.Sprintf(
		"more than %d connections to IOC %s: shardBy with a prefix keeps an IOC's PVs on few engines", most, names)}}
}

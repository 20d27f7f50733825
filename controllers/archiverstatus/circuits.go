package archiverstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// worstShown is the maximum number of IOCs in a status.
const worstShown = 5

// circuitsOf returns the number of connections from all engines to each IOC, in descending order.
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

// worstCircuits returns the IOCs with the most connections, if they have more than one. Before
// the first report it returns the IOCs of the last status.
func worstCircuits(in *Input) []v1alpha1.CircuitCount {
	all := circuitsOf(in)
	if old := in.Archiver.Status; len(all) == 0 && !in.Synced && old != nil {
		return slices.Clone(old.WorstCircuits)
	}
	all = slices.DeleteFunc(all, func(c v1alpha1.CircuitCount) bool { return c.Circuits < 2 })
	if len(all) == 0 {
		return nil
	}
	return all[:min(len(all), worstShown)]
}

// circuits returns the IOCs with more connections than spec.epics.maxCircuitsPerServer.
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
		"engines have more than %d connections to IOC %s: set shardBy.prefix in groups so that fewer engines connect to each IOC", most, names)}}
}

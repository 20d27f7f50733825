package archiverstatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// searchesIncomplete says why searches of engines do not reach all servers.
func searchesIncomplete(in *Input) []problem {
	engines := map[string][]string{} // by problem
	for i := range in.Fleet {
		e := &in.Fleet[i]
		if e.Dead || e.Report == nil {
			continue
		}
		for _, text := range e.Report.SearchProblems {
			engines[text] = append(engines[text], e.Name)
		}
	}
	if len(engines) == 0 {
		return nil
	}
	var parts []string
	for _, text := range slices.Sorted(maps.Keys(engines)) {
		names := engines[text]
		slices.Sort(names)
		more := ""
		if n := len(names) - shown; n > 0 {
			names, more = names[:shown], fmt.Sprintf(" and %d more", n)
		}
		parts = append(parts, fmt.Sprintf("%s (engines %s%s)", text, strings.Join(names, ", "), more))
	}
	if n := len(parts) - shown; n > 0 {
		parts = append(parts[:shown], fmt.Sprintf("and %d more", n))
	}
	return []problem{{v1alpha1.ReasonSearchIncomplete, "searches do not reach all servers, so PVs may not be found: " + strings.Join(parts, "; ") + "; correct spec.epics"}}
}

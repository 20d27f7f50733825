package overview

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/request"
)

// groupList is the answer of /api/v1/groups.
type groupList struct {
	At     string     `json:"at"`
	Groups []groupRow `json:"groups"`
	// Unknown says why members are absent or incomplete, by their names.
	Unknown map[string]string `json:"unknown"`
}

// groupRow is a group in the list.
type groupRow struct {
	Group string `json:"group"`
	// Settings is absent if the process does not know them.
	Settings *Settings `json:"settings,omitempty"`
	// Channels is absent if no engine has a channel of the group, or if that is not known.
	Channels  *counts   `json:"channels,omitempty"`
	Problems  []Problem `json:"problems"`
	More      int       `json:"moreProblems,omitempty"`
	Condition string    `json:"condition,omitempty"`
}

// groupDetail is the answer of /api/v1/groups/{group}.
type groupDetail struct {
	groupRow
	At       string            `json:"at"`
	Manifest string            `json:"manifest,omitempty"`
	Spec     any               `json:"spec,omitempty"`
	Unknown  map[string]string `json:"unknown"`
}

// Numbers of problems in answers.
const (
	listedProblems = 3
	maxProblems    = 200
)

// groups answers all groups, sorted by name.
func (h *Handler) groups(w http.ResponseWriter, r *http.Request, _ *openapi.Query) {
	c, err := h.censusOf(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	known, unknown := h.knownGroups(c)
	list := groupList{At: clock(c.at.UnixNano()), Groups: []groupRow{}, Unknown: unknown}
	for i := range known {
		row := c.row(&known[i], listedProblems)
		if row.Channels != nil {
			short := *row.Channels
			short.Worst = nil
			row.Channels = &short
		}
		list.Groups = append(list.Groups, row)
	}
	answer(w, http.StatusOK, list)
}

// knownGroups returns the groups that the process knows, and those of captured channels.
func (h *Handler) knownGroups(c *census) (known []Group, unknown map[string]string) {
	unknown = map[string]string{}
	if c.missing != "" {
		unknown["channels"] = c.missing
	}
	seen := map[string]bool{}
	if h.sources.Groups != nil {
		var missing string
		if known, missing = h.sources.Groups(); missing != "" {
			unknown["settings"] = missing
		}
	} else {
		unknown["settings"] = "this process does not know the groups, only their channels"
	}
	for i := range known {
		seen[known[i].Group] = true
	}
	for name := range c.groups {
		if !seen[name] {
			known = append(known, Group{Group: name})
		}
	}
	slices.SortFunc(known, func(a, b Group) int { return cmp.Compare(a.Group, b.Group) })
	return known, unknown
}

// row returns a group with its channels, and up to limit problems.
func (c *census) row(g *Group, limit int) groupRow {
	row := groupRow{Group: g.Group, Channels: c.groups[g.Group], Problems: append([]Problem{}, g.Problems...), Condition: g.Condition}
	if g.Settings.Sampling != "" {
		row.Settings = &g.Settings
	}
	row.Problems = append(row.Problems, channelProblems(g, row.Channels, c.missing == "")...)
	rank := map[string]int{SeverityError: 0, SeverityWarning: 1, SeverityInfo: 2}
	slices.SortStableFunc(row.Problems, func(x, y Problem) int { return cmp.Compare(rank[x.Severity], rank[y.Severity]) })
	if n := len(row.Problems); n > limit {
		row.More, row.Problems = n-limit, row.Problems[:limit]
	}
	return row
}

// channelProblems says what is wrong with the channels of a group. whole means that all channels are
// known.
func channelProblems(g *Group, m *counts, whole bool) (out []Problem) {
	if m == nil {
		if whole && g.Settings.Sampling != "" && !g.Settings.Paused && len(g.Problems) == 0 {
			out = append(out, Problem{
				SeverityWarning, "", "no PV is captured for the group",
				"List PVs in spec.channels or spec.channelsFrom. If other groups list all of its PVs, this group is not needed.",
			})
		}
		return out
	}
	add := func(n int, severity, text, advice string) {
		if n > 0 {
			out = append(out, Problem{Severity: severity, Text: fmt.Sprintf(text, n, m.Channels), Advice: advice})
		}
	}
	add(m.States["searching"], SeverityError, "%d of %d PVs have never connected",
		"Compare their names with those that the IOC serves, and look at the addresses of the searches (EPICS_CA_ADDR_LIST, spec.epics).")
	add(m.States["disconnected"], SeverityError, "%d of %d PVs are disconnected", "Look at their IOC and at the network. Capture goes on when the IOC is back.")
	add(m.States["unsupported"], SeverityError, "%d of %d PVs have a type that cannot be archived", "Select fields with spec.fields.")
	add(m.States["disabled"], SeverityInfo, "%d of %d PVs are disabled: the condition of enabledBy is not met", "Capture goes on when the condition is met. The pages of the PVs show it.")
	add(m.Silent, SeverityWarning, "%d of %d PVs are connected, but have sent no value", "Look whether their records are processed, and whether reads are allowed.")
	for reason, n := range m.Dropped {
		out = append(out, Problem{
			Severity: SeverityWarning, Text: fmt.Sprintf("%d samples were lost since the engines started: %s", n, reason),
			Advice: meanings[reason][1],
		})
	}
	slices.SortStableFunc(out, func(x, y Problem) int {
		return cmp.Or(cmp.Compare(x.Severity, y.Severity), 0)
	})
	return out
}

// group answers one group.
func (h *Handler) group(w http.ResponseWriter, r *http.Request, _ *openapi.Query) {
	c, err := h.censusOf(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	known, unknown := h.knownGroups(c)
	g, err := findGroup(known, r.PathValue("group"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if g.Spec == nil && h.sources.Group != nil && unknown["settings"] == "" {
		if whole, err := h.sources.Group(r.Context(), g.Group); err != nil {
			unknown["settings"] = err.Error()
		} else {
			g = &whole
		}
	}
	answer(w, http.StatusOK, groupDetail{
		groupRow: c.row(g, maxProblems), At: clock(c.at.UnixNano()), Manifest: g.Manifest, Spec: g.Spec, Unknown: unknown,
	})
}

// findGroup finds a group by namespace/name, or by its name if that is unique.
func findGroup(all []Group, name string) (*Group, error) {
	var found []*Group
	var names []string
	for i := range all {
		g := &all[i]
		if g.Group == name {
			return g, nil
		}
		if _, short, _ := strings.Cut(g.Group, "/"); short == name {
			found = append(found, g)
		}
		names = append(names, g.Group)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		similar := ""
		if len(names) > 0 {
			similar = "; did you mean " + request.MostSimilar(name, names) + "?"
		}
		return nil, notFound{fmt.Errorf("the archive has no group %.200q%s", name, similar)}
	}
	return nil, notFound{fmt.Errorf("several namespaces have a group %.200q: write NAMESPACE/NAME, such as %s", name, found[0].Group)}
}

// errNoCheck is the answer of a process without a Check.
var errNoCheck = errors.New("this process cannot check manifests")

// check answers what is wrong with a manifest.
func (h *Handler) check(w http.ResponseWriter, r *http.Request, _ *openapi.Query) {
	if h.sources.Check == nil {
		h.fail(w, r, notFound{errNoCheck})
		return
	}
	text, err := readAll(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if len(text) == 0 {
		h.fail(w, r, badRequest{errors.New("the body is empty: it must be an ArchiveGroup in YAML or JSON")})
		return
	}
	client := admission.ClientOf(r.Context())
	if !h.checking.Take(client, 1) {
		w.Header().Set("Retry-After", request.RetryAfter)
		answer(w, http.StatusTooManyRequests, map[string]string{"error": fmt.Sprintf("the server checks at most %d manifests at a time, and %d of one client; repeat the request in a few seconds", maxChecking, checkingShare)})
		return
	}
	defer h.checking.Give(client, 1)
	answer(w, http.StatusOK, h.sources.Check(text))
}

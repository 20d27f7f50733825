// Package requests decides how requests of scripts change ArchiveGroups. It is pure:
//
//	groups that accept requests, request, policies ──▶ Plan ──┬─▶ groups with other channels, which the caller stores
//	                                                          └─▶ a result for each PV
//
// groups/standalone stores groups in manifests, and retrieval/requests in the API server. Requests change only the
// channels of a group. A request that a group cannot honour exactly is refused.
package requests

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/groups/compile"
)

// Plan returns the groups that a request changes, with their new channels, and a result for each of its PVs. groups
// are those that accept requests, of anybody. Plan does not change them.
func Plan(groups []*v1alpha1.ArchiveGroup, r *edit.Request, policies *policy.Set, now time.Time) (changed []*v1alpha1.ArchiveGroup, results []edit.Result) {
	p := &planner{request: r, policies: policies}
	for _, g := range groups {
		p.targets = append(p.targets, newTarget(g, r, policies, now))
	}
	for i := range r.Channels {
		results = append(results, p.channel(&r.Channels[i]))
	}
	for _, t := range p.targets {
		if t.changed {
			changed = append(changed, t.group)
		}
	}
	return changed, results
}

type planner struct {
	request  *edit.Request
	policies *policy.Set
	targets  []*target
}

// target is a group that accepts requests.
type target struct {
	group   *v1alpha1.ArchiveGroup // a copy
	name    string                 // namespace/name
	changed bool
	entries map[string]bool   // canonical names of the channels
	aliases map[string]string // their aliases, with their PVs
	rule    func(pv string) int
	match   func(pv string) bool
	// closed is why the sender may not change the group, or "". full is why the group takes no more PVs, or "".
	closed, full string
}

func newTarget(g *v1alpha1.ArchiveGroup, r *edit.Request, policies *policy.Set, now time.Time) *target {
	t := &target{
		group: g.DeepCopy(), name: g.Namespace + "/" + g.Name, entries: map[string]bool{}, aliases: map[string]string{},
		rule: compile.RuleFinder(&g.Spec), match: func(string) bool { return true },
	}
	for i := range g.Spec.Channels {
		ch := &g.Spec.Channels[i]
		pv := pvname.Canonical(ch.Name)
		t.entries[pv] = true
		for _, alias := range ch.Aliases {
			t.aliases[pvname.Canonical(string(alias))] = pv
		}
	}
	if expr := g.Spec.Requests.Match; expr != "" {
		match, err := compile.Matches(expr)
		if err != nil {
			t.full = fmt.Sprintf("parsing requests.match of ArchiveGroup %s: %v", t.name, err)
			match = func(string) bool { return false }
		}
		t.match = match
	}
	switch {
	case !admits(g.Spec.Requests, r):
		t.closed = fmt.Sprintf("ArchiveGroup %s does not accept requests of %s: spec.requests names neither this user nor one of its groups", t.name, sender(r))
	case !policies.LetsEdit(g.Name, r.User, r.Groups):
		t.closed = fmt.Sprintf("an ArchivePolicy lets only its owners edit ArchiveGroup %s, and %s is none of them", t.name, sender(r))
	case g.DeletionTimestamp != nil:
		t.closed = fmt.Sprintf("ArchiveGroup %s is being deleted", t.name)
	case g.Spec.ExpiresAt != nil && !now.Before(g.Spec.ExpiresAt.Time):
		t.full = fmt.Sprintf("ArchiveGroup %s expired at %s, and archives nothing", t.name, g.Spec.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return t
}

// admits reports whether a group accepts requests of the sender.
func admits(accepts *v1alpha1.ChangeRequests, r *edit.Request) bool {
	return slices.Contains(accepts.Users, v1alpha1.AccessName(r.User)) ||
		slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(accepts.Groups, v1alpha1.AccessName(g)) })
}

func sender(r *edit.Request) string { return fmt.Sprintf("user %q", r.User) }

// isCalled reports whether a group has a name that a request gives. The name may lack the namespace.
func (t *target) isCalled(name string) bool { return name == t.name || name == t.group.Name }

// indexOf returns the index of the first entry of a PV, or -1.
func (t *target) indexOf(pv string) int {
	if !t.entries[pv] {
		return -1
	}
	return slices.IndexFunc(t.group.Spec.Channels, func(c v1alpha1.Channel) bool { return pvname.Canonical(c.Name) == pv })
}

// add adds an entry, and returns it.
func (t *target) add(pv, provider string) *v1alpha1.Channel {
	spec := &t.group.Spec
	ch := v1alpha1.Channel{Name: pv, Provider: v1alpha1.Provider(provider)}
	if ch.Provider == spec.Provider {
		ch.Provider = ""
	}
	spec.Channels = append(spec.Channels, ch)
	t.entries[pv], t.changed = true, true
	return &spec.Channels[len(spec.Channels)-1]
}

// hasRoom returns why the group cannot list another PV, or "".
func (t *target) hasRoom() string {
	if len(t.group.Spec.Channels) < edit.MaxChannels {
		return ""
	}
	return fmt.Sprintf("ArchiveGroup %s lists %d PVs, and may not list more: let another group accept requests, or move PVs of this one into a ConfigMap (channelsFrom)",
		t.name, edit.MaxChannels)
}

// defaults are what a group gives to a PV without an entry of its own, as far as requests change it.
type defaults struct {
	paused bool
	mode   v1alpha1.SamplingMode
	period *v1alpha1.Duration
}

func (t *target) defaults(pv string) defaults {
	spec := &t.group.Spec
	d := defaults{paused: spec.Paused, mode: v1alpha1.Monitor}
	d.use(spec.Sampling)
	if i := t.rule(pv); i >= 0 {
		r := &spec.Rules[i]
		d.use(r.Sampling)
		if r.Paused != nil {
			d.paused = *r.Paused
		}
	}
	return d
}

func (d *defaults) use(s *v1alpha1.Sampling) {
	if s != nil && s.Mode != "" {
		d.mode, d.period = s.Mode, s.Period
	}
}

func refused(group, format string, args ...any) edit.Result {
	return edit.Result{Outcome: edit.Refused, Group: group, Reason: fmt.Sprintf(format, args...)}
}

func unfit(group, format string, args ...any) edit.Result {
	return edit.Result{Outcome: edit.Unfit, Group: group, Reason: fmt.Sprintf(format, args...)}
}

// channel carries out a request for one PV.
func (p *planner) channel(ch *edit.Channel) edit.Result {
	if err := pvname.Check(ch.PV); err != nil {
		return refused("", "%q is not the name of a PV: %v", ch.PV, err)
	}
	if p.request.Action == edit.Archive {
		return p.archive(ch)
	}
	t, r := p.find(ch)
	if t == nil {
		return r
	}
	if ch.Group != "" && !t.isCalled(ch.Group) {
		return refused(t.name, "PV %s is in ArchiveGroup %s, not in %s", ch.PV, t.name, ch.Group)
	}
	switch p.request.Action {
	case edit.Pause, edit.Resume:
		return t.setPaused(ch, p.request.Action == edit.Pause)
	case edit.Remove, edit.Abort:
		return t.remove(ch, p.request.Action == edit.Abort)
	case edit.AddAlias:
		return p.addAlias(t, ch)
	case edit.RemoveAlias:
		return t.removeAlias(ch)
	case edit.Resample:
		return t.resample(ch)
	}
	return refused(t.name, "the action %q is not known", p.request.Action)
}

// find returns the group of an archived PV, if the sender may change it there.
func (p *planner) find(ch *edit.Channel) (*target, edit.Result) {
	var found []*target
	for _, t := range p.targets {
		if t.entries[ch.PV] || ch.Archived != nil && ch.Archived.Group == t.name {
			found = append(found, t)
		}
	}
	other := ch.Archived != nil && !slices.ContainsFunc(found, func(t *target) bool { return t.name == ch.Archived.Group })
	switch {
	case len(found) == 0 && !other:
		return nil, unfit("", "PV %s is not being archived", ch.PV)
	case len(found) == 0:
		return nil, refused(ch.Archived.Group, "ArchiveGroup %s defines how PV %s is archived, and accepts no requests; edit its manifest", ch.Archived.Group, ch.PV)
	case other:
		return nil, refused(found[0].name, "PV %s is also in ArchiveGroup %s, which accepts no requests; edit its manifest", ch.PV, ch.Archived.Group)
	case len(found) > 1:
		return nil, refused(found[0].name, "PV %s is in the ArchiveGroups %s and %s; edit their manifests", ch.PV, found[0].name, found[1].name)
	case found[0].closed != "":
		return nil, refused(found[0].name, "%s", found[0].closed)
	}
	if by := p.refusedBy(found[0], ch.PV); by != "" {
		return nil, refused(found[0].name, "%s", by)
	}
	return found[0], edit.Result{}
}

// refusedBy returns why policies do not let a group use a name, or "". It names no policy, because the name of one can tell
// about systems that the sender must not know.
func (p *planner) refusedBy(t *target, name string) string {
	if _, forbidden := p.policies.Refuses(t.group.Name, name); forbidden {
		return fmt.Sprintf("an ArchivePolicy does not let ArchiveGroup %s archive %s", t.name, name)
	}
	return ""
}

// choose returns the group that takes a new PV.
func (p *planner) choose(ch *edit.Channel) (*target, edit.Result) {
	var open []*target
	why := ""
	for _, t := range p.targets {
		if ch.Group != "" && !t.isCalled(ch.Group) {
			continue
		}
		by := p.refusedBy(t, ch.PV)
		switch {
		case t.closed != "":
			why = t.closed
		case t.full != "":
			why = t.full
		case !t.match(ch.PV):
			why = fmt.Sprintf("ArchiveGroup %s accepts only PVs that match %s (spec.requests.match)", t.name, t.group.Spec.Requests.Match)
		case by != "":
			why = by
		default:
			open = append(open, t)
		}
	}
	switch {
	case len(open) == 1:
		return open[0], edit.Result{}
	case len(open) > 1:
		names := make([]string, len(open))
		for i, t := range open {
			names[i] = t.name
		}
		return nil, refused("", "several ArchiveGroups accept PV %s: name one of them with the parameter policy: %s", ch.PV, strings.Join(names, ", "))
	case why != "" && (ch.Group != "" || len(p.targets) == 1):
		return nil, refused("", "%s", why)
	case ch.Group != "":
		return nil, refused("", "parameter policy: no ArchiveGroup %s accepts requests; edit its manifest", ch.Group)
	}
	return nil, refused("", "no ArchiveGroup accepts PV %s from %s: spec.requests of a group must name the user or one of its groups, and match must match the PV",
		ch.PV, sender(p.request))
}

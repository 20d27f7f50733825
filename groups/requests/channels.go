package requests

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/edit"
	"varve.dev/varve/groups/compile"
)

// archive adds a PV to a group, unless one archives it already.
func (p *planner) archive(ch *edit.Channel) edit.Result {
	if pvname.LooksLikePattern(ch.PV) {
		return refused("", "%s has a * or ?, so it is a pattern and not the name of a PV", ch.PV)
	}
	for _, t := range p.targets {
		if t.entries[ch.PV] {
			return p.archivedBy(t, ch)
		}
	}
	if ch.Archived != nil {
		return alreadyIn(ch.Archived.Group, ch)
	}
	t, r := p.choose(ch)
	if t == nil {
		return r
	}
	if why := t.hasRoom(); why != "" {
		return refused(t.name, "%s", why)
	}
	sampling, err := t.samplingOf(ch, nil)
	if err != nil {
		return refused(t.name, "%v", err)
	}
	if ch.Alias != "" {
		if why := p.refusesAlias(t, ch); why != "" {
			return refused(t.name, "%s", why)
		}
	}
	entry := t.add(ch.PV, ch.Provider)
	entry.Sampling = sampling
	if ch.Alias != "" {
		entry.Aliases, t.aliases[ch.Alias] = []v1alpha1.PVName{v1alpha1.PVName(ch.Alias)}, ch.PV
	}
	return edit.Result{Outcome: edit.Done, Group: t.name}
}

// archivedBy is the result for a PV that a group lists already. As in the Appliance, the request may still add an alias.
func (p *planner) archivedBy(t *target, ch *edit.Channel) edit.Result {
	if ch.Alias == "" {
		return alreadyIn(t.name, ch)
	}
	if t.closed != "" {
		return refused(t.name, "%s", t.closed)
	}
	return p.addAlias(t, ch)
}

func alreadyIn(group string, ch *edit.Channel) edit.Result {
	if ch.Alias != "" {
		return refused(group, "ArchiveGroup %s archives PV %s already; add the alias with addAlias", group, ch.PV)
	}
	return edit.Result{Outcome: edit.Unchanged, Group: group, Reason: fmt.Sprintf("ArchiveGroup %s archives PV %s already", group, ch.PV)}
}

// entry returns the entry of a PV that the group archives. If the group takes the PV from elsewhere, it gets an entry.
func (t *target) entry(ch *edit.Channel) (*v1alpha1.Channel, string) {
	if i := t.indexOf(ch.PV); i >= 0 {
		return &t.group.Spec.Channels[i], ""
	}
	if why := t.hasRoom(); why != "" {
		return nil, why
	}
	return t.add(ch.PV, ch.Archived.Provider), ""
}

// isPaused reports whether a PV is paused, apart from planned pauses.
func (t *target) isPaused(pv string) bool {
	if i := t.indexOf(pv); i >= 0 && t.group.Spec.Channels[i].Paused != nil {
		return *t.group.Spec.Channels[i].Paused
	}
	return t.defaults(pv).paused
}

// setPaused pauses or resumes a PV.
func (t *target) setPaused(ch *edit.Channel, paused bool) edit.Result {
	switch is := t.isPaused(ch.PV); {
	case paused && is:
		return unfit(t.name, "PV %s is already paused", ch.PV)
	case !paused && !is:
		return unfit(t.name, "PV %s is not paused", ch.PV)
	case !paused && t.defaults(ch.PV).paused:
		return refused(t.name, "ArchiveGroup %s is paused, or a rule of it pauses PV %s; to resume it, edit the manifest", t.name, ch.PV)
	}
	entry, why := t.entry(ch)
	if why != "" {
		return refused(t.name, "%s", why)
	}
	entry.Paused = nil
	if paused {
		entry.Paused = &paused
	}
	t.changed = true
	return edit.Result{Outcome: edit.Done, Group: t.name}
}

// remove removes a PV. Its stored samples stay.
func (t *target) remove(ch *edit.Channel, abort bool) edit.Result {
	switch {
	case abort && ch.Archived != nil && ch.Archived.Connected:
		return unfit(t.name, "PV %s has been connected, so there is no request to abort; pause and delete it", ch.PV)
	case !abort && !t.isPaused(ch.PV):
		return unfit(t.name, "We will not stop archiving PV %s if it is not paused. Please pause recording first.", ch.PV)
	case len(t.group.Spec.ChannelsFrom) > 0:
		return refused(t.name, "ArchiveGroup %s also takes PVs from elsewhere (channelsFrom), which may name %s; remove it in the manifest and there", t.name, ch.PV)
	case !t.entries[ch.PV]:
		return refused(t.name, "ArchiveGroup %s does not list PV %s any longer; repeat the request in a minute", t.name, ch.PV)
	}
	t.group.Spec.Channels = slices.DeleteFunc(t.group.Spec.Channels, func(c v1alpha1.Channel) bool { return pvname.Canonical(c.Name) == ch.PV })
	delete(t.entries, ch.PV)
	maps.DeleteFunc(t.aliases, func(_, pv string) bool { return pv == ch.PV })
	t.changed = true
	return edit.Result{Outcome: edit.Done, Group: t.name}
}

// refusesAlias returns why a PV cannot get an alias, or "".
func (p *planner) refusesAlias(t *target, ch *edit.Channel) string {
	switch err := pvname.Check(ch.Alias); {
	case err != nil:
		return fmt.Sprintf("the alias %q is not the name of a PV: %v", ch.Alias, err)
	case ch.Alias == ch.PV:
		return fmt.Sprintf("%s is the name of the PV itself", ch.Alias)
	case pvname.LooksLikePattern(ch.Alias):
		return fmt.Sprintf("the alias %s has a * or ?, so it is a pattern and not a name", ch.Alias)
	case ch.AliasGroup != "":
		return fmt.Sprintf("ArchiveGroup %s archives %s as a PV of its own, so it cannot be an alias", ch.AliasGroup, ch.Alias)
	}
	for _, other := range p.targets {
		if other.entries[ch.Alias] {
			return fmt.Sprintf("ArchiveGroup %s archives %s as a PV of its own, so it cannot be an alias", other.name, ch.Alias)
		}
		if pv := other.aliases[ch.Alias]; pv != "" && pv != ch.PV {
			return ch.Alias + " is an alias of another PV already" // which the sender may not be allowed to know
		}
	}
	return p.refusedBy(t, ch.Alias)
}

func sameName(name string) func(v1alpha1.PVName) bool {
	return func(n v1alpha1.PVName) bool { return pvname.Canonical(string(n)) == name }
}

func (p *planner) addAlias(t *target, ch *edit.Channel) edit.Result {
	if why := p.refusesAlias(t, ch); why != "" {
		return refused(t.name, "%s", why)
	}
	if i := t.indexOf(ch.PV); i >= 0 {
		aliases := t.group.Spec.Channels[i].Aliases
		switch {
		case slices.ContainsFunc(aliases, sameName(ch.Alias)):
			return edit.Result{Outcome: edit.Unchanged, Group: t.name, Reason: fmt.Sprintf("%s is an alias of PV %s already", ch.Alias, ch.PV)}
		case len(aliases) >= compile.MaxAliases:
			return refused(t.name, "PV %s has %d aliases, and may not have more", ch.PV, len(aliases))
		}
	}
	entry, why := t.entry(ch)
	if why != "" {
		return refused(t.name, "%s", why)
	}
	entry.Aliases = append(entry.Aliases, v1alpha1.PVName(ch.Alias))
	t.aliases[ch.Alias], t.changed = ch.PV, true
	return edit.Result{Outcome: edit.Done, Group: t.name}
}

func (t *target) removeAlias(ch *edit.Channel) edit.Result {
	i := t.indexOf(ch.PV)
	if i < 0 || !slices.ContainsFunc(t.group.Spec.Channels[i].Aliases, sameName(ch.Alias)) {
		return unfit(t.name, "%s is not an alias of PV %s in ArchiveGroup %s", ch.Alias, ch.PV, t.name)
	}
	entry := &t.group.Spec.Channels[i]
	if entry.Aliases = slices.DeleteFunc(entry.Aliases, sameName(ch.Alias)); len(entry.Aliases) == 0 {
		entry.Aliases = nil
	}
	delete(t.aliases, ch.Alias)
	t.changed = true
	return edit.Result{Outcome: edit.Done, Group: t.name}
}

// resample changes the sampling of a PV.
func (t *target) resample(ch *edit.Channel) edit.Result {
	var before *v1alpha1.Sampling
	if i := t.indexOf(ch.PV); i >= 0 {
		before = t.group.Spec.Channels[i].Sampling
	}
	sampling, err := t.samplingOf(ch, before)
	if err != nil {
		return refused(t.name, "%v", err)
	}
	if equal(before, sampling) {
		return edit.Result{Outcome: edit.Unchanged, Group: t.name, Reason: fmt.Sprintf("PV %s is sampled so already", ch.PV)}
	}
	entry, why := t.entry(ch)
	if why != "" {
		return refused(t.name, "%s", why)
	}
	entry.Sampling, t.changed = sampling, true
	return edit.Result{Outcome: edit.Done, Group: t.name}
}

// equal compares two samplings as far as requests change them.
func equal(a, b *v1alpha1.Sampling) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Mode == b.Mode && samePeriod(a.Period, b.Period)
}

// samePeriod compares two periods, of which 1m and 60s are the same one.
func samePeriod(a, b *v1alpha1.Duration) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errX := a.TimeDuration()
	y, errY := b.TimeDuration()
	return errX == nil && errY == nil && x == y
}

// Bounds of the period of a scan.
const (
	minPeriod = 100 * time.Millisecond
	maxPeriod = 365 * 24 * time.Hour
)

// samplingOf returns the sampling that a PV gets by a request. before is that of its entry, or nil. If the PV would be sampled
// as requested without settings of its own, it gets none, so that the deadband of the group applies to it.
func (t *target) samplingOf(ch *edit.Channel, before *v1alpha1.Sampling) (*v1alpha1.Sampling, error) {
	if ch.Sampling == nil {
		return before, nil
	}
	of := t.defaults(ch.PV)
	want := defaults{mode: of.mode}
	if before != nil && before.Mode != "" {
		want.mode = before.Mode
	}
	switch ch.Sampling.Method {
	case edit.Monitor:
		want.mode = v1alpha1.Monitor
	case edit.Scan:
		want.mode = v1alpha1.Scan
	}
	out := v1alpha1.Sampling{}
	if before != nil {
		out = *before.DeepCopy()
	}
	out.Mode, out.Period = want.mode, nil
	if want.mode == v1alpha1.Scan {
		period, err := duration(ch.Sampling.Period)
		if err != nil {
			return nil, err
		}
		out.Period, out.Deadband, out.MaxRate = &period, nil, nil
	}
	if out.Mode == of.mode && (out.Mode == v1alpha1.Monitor || samePeriod(out.Period, of.period)) && only(before) {
		return nil, nil
	}
	return &out, nil
}

// only reports whether a sampling has nothing but a mode and a period.
func only(s *v1alpha1.Sampling) bool {
	return s == nil || s.Events == nil && s.Deadband == nil && s.MaxRate == nil && s.MaxPeriod == nil && s.Clock == "" && s.ClockLimit == nil
}

// duration returns the period of a scan.
func duration(d time.Duration) (v1alpha1.Duration, error) {
	switch {
	case d < minPeriod:
		return "", fmt.Errorf("parameter samplingperiod: the method SCAN requires a period of at least %v", minPeriod)
	case d > maxPeriod:
		return "", fmt.Errorf("parameter samplingperiod: a period is at most %.0f days", maxPeriod.Hours()/24)
	case d%time.Millisecond != 0:
		return "", fmt.Errorf("parameter samplingperiod: %v is not a whole number of milliseconds", d)
	case d%time.Second != 0:
		return v1alpha1.Duration(fmt.Sprintf("%dms", d/time.Millisecond)), nil
	}
	return v1alpha1.Duration(fmt.Sprintf("%ds", d/time.Second)), nil
}

package why

import (
	"strings"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/absence"
)

// unasked applies if nobody could be asked for the state of the channel.
func unasked(f *Facts) *cause {
	if f.StatusMissing == "" {
		return nil
	}
	return &cause{
		kind: absence.Unknown, step: InGroup, text: "the state of the channel is not known: " + f.StatusMissing,
		advice: "Ask again when the engine answers. varve status shows the engines that do not.",
	}
}

// formerName applies if a captured PV had the name before.
func formerName(f *Facts) *cause {
	if f.Captured || len(f.Later) == 0 {
		return nil
	}
	pv := f.Later[0]
	return &cause{
		kind: FormerName, step: InGroup, text: f.PV + " is a former name of " + pv + ", which has the samples since it was renamed",
		advice: "Read " + pv + ", which also has the samples of its former names, or run varve why " + pv + ".",
	}
}

// groupProblem applies if a group lists the PV, and cannot capture it.
func groupProblem(f *Facts) *cause {
	if f.Captured {
		return nil
	}
	for _, g := range f.Groups {
		if len(g.OfPV) > 0 {
			return &cause{
				kind: InvalidGroup, step: InGroup, text: "group " + g.Name + " lists the PV, but does not capture it: " + listed(g.OfPV),
				advice: "Correct the group.",
			}
		}
	}
	return nil
}

// lastGroup returns the name of the group that captured the PV last, or "".
func (f *Facts) lastGroup() string {
	if f.Marked && f.Mark.Kind == sample.Removed {
		return f.Mark.Text
	}
	return ""
}

// expiredGroup applies if the last group of the PV has ended.
func expiredGroup(f *Facts) *cause {
	name := f.lastGroup()
	if f.Captured || name == "" {
		return nil
	}
	for _, g := range f.Groups {
		if g.Name == name && g.ExpiresAt != 0 && g.ExpiresAt <= f.Now {
			return &cause{
				kind: ExpiredGroup, step: InGroup, since: g.ExpiresAt, text: "group " + name + " ended at " + clock(g.ExpiresAt) + " (spec.expiresAt)",
				advice: "Remove spec.expiresAt of the group, or set it to a later time.",
			}
		}
	}
	return nil
}

// removed applies if the PV was taken out of its group.
func removed(f *Facts) *cause {
	if f.Captured || !f.Marked || f.Mark.Kind != sample.Removed {
		return nil
	}
	text := "no group captures the PV; the last group was " + f.Mark.Text
	if errs := f.groupErrors(); len(errs) > 0 {
		text += "; besides, a group has errors: " + listed(errs)
	}
	return &cause{kind: sample.Removed.String(), step: InGroup, since: f.Mark.Time, text: text, advice: "Add the PV to a group to capture it again."}
}

// groupErrors returns what is wrong with groups as a whole.
func (f *Facts) groupErrors() (all []string) {
	if f.GroupsIncomplete != "" {
		all = append(all, f.GroupsIncomplete)
	}
	for _, g := range f.Groups {
		for _, text := range g.Errors {
			all = append(all, "group "+g.Name+": "+text)
		}
	}
	return all
}

// invalidGroup applies if groups have errors, because the PV may be in one of them.
func invalidGroup(f *Facts) *cause {
	errs := f.groupErrors()
	if f.Captured || len(errs) == 0 || f.misspelt() {
		return nil
	}
	return &cause{
		kind: InvalidGroup, step: InGroup, text: "no valid group captures the PV, and what a group with errors lists is not captured: " + listed(errs),
		advice: "Correct the group if it lists the PV. Otherwise add the PV to a group." + f.didYouMean(),
	}
}

// misspelt reports whether the name differs from a known name only in case.
func (f *Facts) misspelt() bool {
	return !f.Known && len(f.Near) > 0 && strings.EqualFold(f.Near[0], f.PV)
}

// didYouMean names known names that are like the PV.
func (f *Facts) didYouMean() string {
	switch {
	case len(f.Near) == 0:
		return ""
	case f.misspelt():
		return " Did you mean " + f.Near[0] + "? Names of PVs are case-sensitive."
	}
	return " Names that are like it: " + strings.Join(f.Near, ", ") + "."
}

// unknownPV applies if the archive does not know the PV.
func unknownPV(f *Facts) *cause {
	if f.Captured || f.Known || f.Marked || f.StoreMissing != "" {
		return nil
	}
	return &cause{
		kind: UnknownPV, step: InGroup, text: "the archive knows no PV of this name: no group captures it, and it has no samples",
		advice: "Check the spelling, or add the PV to a group." + f.didYouMean() + f.unseenGroups(),
	}
}

// unseenGroups says why the groups could not be checked.
func (f *Facts) unseenGroups() string {
	if f.GroupsMissing == "" {
		return ""
	}
	return " The groups could not be checked for errors: " + f.GroupsMissing + "."
}

// notCaptured applies if no group captures the PV now, and the archive does not know more.
func notCaptured(f *Facts) *cause {
	if f.Captured {
		return nil
	}
	in := absence.Input{Until: f.At, Now: f.Now, Marked: f.Marked, Mark: f.Mark}
	c, _ := absence.Explain(&in)
	text := c.Text
	if f.StoreMissing != "" {
		text = "no group captures the PV; since when is not known: " + f.StoreMissing
	}
	advice := "Add the PV to a group to capture it." + f.unseenGroups()
	if c.Kind == sample.Stopped.String() {
		advice = "Wait until the archiver has started and applied its groups, then ask again."
	}
	return &cause{kind: c.Kind, step: InGroup, since: c.Since, text: text, advice: advice}
}

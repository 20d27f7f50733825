package standalone

import (
	"maps"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
)

// loggedMessages records which messages applied at the previous and at this compilation, so that
// each message is logged once.
type loggedMessages struct {
	before, now map[string]bool
}

// isNew records that a message applies, and reports whether it did not apply before.
func (m *loggedMessages) isNew(message string) bool {
	m.now[message] = true
	return !m.before[message]
}

// logProblems logs problems, each one once for as long as it persists.
func (d *Driver) logProblems() {
	m := &loggedMessages{before: d.logged, now: map[string]bool{}}
	for _, err := range d.files.Errors {
		if m.isNew(err.Error()) {
			d.Log.Error("a manifest is invalid; its last valid content and all other groups stay in effect", "err", err)
		}
	}
	for _, text := range d.files.Warnings {
		if m.isNew(text) {
			d.Log.Warn("a manifest is probably not what is meant", "problem", text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.compiled.Groups)) {
		d.logGroup(m, name, d.compiled.Groups[name])
	}
	for i := range d.files.Groups {
		g := &d.files.Groups[i]
		name := g.Namespace + "/" + g.Name
		if c := d.compiled.Groups[name]; c != nil && c.Retention {
			if text := compile.Describe(&g.Spec); m.isNew(name + text) {
				d.Log.Info("retention applied", "group", name, "kept", text)
			}
		}
		if g.Spec.Requests != nil && d.Anonymous && m.isNew(name+" requests") {
			d.Log.Warn(noSenders+"; start varve standalone with --access", "group", name)
		}
		if g.Spec.DeletionPolicy == v1alpha1.DeleteData && m.isNew(name+" deletionPolicy") {
			d.Log.Warn("deletionPolicy Delete works only in a cluster; here data stays when the group is removed", "group", name)
		}
	}
	d.logged = m.now
}

// logGroup logs what applies to a group: its expiry, problems and conflicts.
func (d *Driver) logGroup(m *loggedMessages, name string, g *compile.Group) {
	if g.Expired && m.isNew(name) {
		d.Log.Info("the group has expired and is no longer captured; its data stays", "group", name)
	}
	for _, p := range g.Problems {
		switch {
		case !m.isNew(name + p.PV + p.Message):
		case p.PV == "":
			d.Log.Warn("a group cannot be archived as requested", "group", name, "problem", p.Message)
		default:
			d.Log.Warn("a channel cannot be archived as requested", "group", name, "pv", p.PV, "problem", p.Message)
		}
	}
	for _, c := range g.Conflicts {
		if m.isNew(name + c.PV) {
			d.Log.Warn("a PV is in several groups; the settings that keep more are used", "pv", c.PV, "groups", c.Groups)
		}
		if c.DifferentProviders && m.isNew(name+c.PV+" provider") {
			d.Log.Warn("groups request a PV by different providers; the provider of the first group is used", "pv", c.PV, "groups", c.Groups, "provider", c.Provider.String())
		}
	}
	if more := g.MoreProblems + g.MoreConflicts; more > 0 && m.isNew(name+" more") {
		d.Log.Warn("further problems are not logged", "group", name, "problems", g.MoreProblems, "conflicts", g.MoreConflicts)
	}
}

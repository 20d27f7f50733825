package standalone

import (
	"maps"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
)

// teller logs things that are not in the log yet.
type teller struct {
	before, now map[string]bool
}

// isNew reports whether a thing was not so before.
func (t *teller) isNew(thing string) bool {
	t.now[thing] = true
	return !t.before[thing]
}

// tell logs what is wrong, each thing once for as long as it is.
func (d *Driver) tell() {
	t := &teller{before: d.told, now: map[string]bool{}}
	for _, err := range d.files.Errors {
		if t.isNew(err.Error()) {
			d.Log.Error("a manifest is wrong; the rest goes on", "err", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.compiled.Groups)) {
		d.tellGroup(t, name, d.compiled.Groups[name])
	}
	for i := range d.files.Groups {
		g := &d.files.Groups[i]
		name := g.Namespace + "/" + g.Name
		if c := d.compiled.Groups[name]; c != nil && c.Retention {
			if text := compile.Describe(&g.Spec); t.isNew(name + text) {
				d.Log.Info("the retention of a group is applied", "group", name, "kept", text)
			}
		}
		if g.Spec.DeletionPolicy == v1alpha1.DeleteData && t.isNew(name+" deletionPolicy") {
			d.Log.Warn("deletionPolicy Delete is acted on in a cluster only; data stays when the group goes", "group", name)
		}
	}
	d.told = t.now
}

func (d *Driver) tellGroup(t *teller, name string, g *compile.Group) {
	if g.Expired && t.isNew(name) {
		d.Log.Info("the group has expired; its data stays", "group", name)
	}
	for _, p := range g.Problems {
		switch {
		case !t.isNew(name + p.PV + p.Message):
		case p.PV == "":
			d.Log.Warn("a group can not be archived as asked", "group", name, "problem", p.Message)
		default:
			d.Log.Warn("a channel can not be archived as asked", "group", name, "pv", p.PV, "problem", p.Message)
		}
	}
	for _, c := range g.Conflicts {
		if t.isNew(name + c.PV) {
			d.Log.Warn("a PV is in several groups; what keeps more wins", "pv", c.PV, "groups", c.Groups)
		}
		if c.Divided && t.isNew(name+c.PV+" provider") {
			d.Log.Warn("groups want a PV by different providers; the first group's is used", "pv", c.PV, "groups", c.Groups, "provider", c.Provider.String())
		}
	}
	if more := g.MoreProblems + g.MoreConflicts; more > 0 && t.isNew(name+" more") {
		d.Log.Warn("there is more of the same", "group", name, "problems", g.MoreProblems, "conflicts", g.MoreConflicts)
	}
}

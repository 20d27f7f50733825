package names

import (
	"iter"
	"slices"
)

// View is the names at one moment. It never changes. A nil View has no names.
type View struct {
	facts  map[string]Fact     // by PV; none is empty
	alias  map[string]string   // PV by alias
	later  map[string][]string // PVs by former name, sorted
	latest int64               // time of the latest fact
}

// newView returns a view of facts.
func newView(facts map[string]Fact, since map[string]int64, latest int64) *View {
	v := &View{facts: facts, alias: map[string]string{}, later: map[string][]string{}, latest: latest}
	for pv := range facts {
		f := facts[pv]
		for _, old := range f.Former {
			v.later[old] = append(v.later[old], pv)
		}
		for _, name := range f.Aliases { // two facts may have it if one PV is not captured any longer
			if other, claimed := v.alias[name]; !claimed || since[pv] > since[other] || since[pv] == since[other] && pv < other {
				v.alias[name] = pv
			}
		}
	}
	for _, pvs := range v.later {
		slices.Sort(pvs)
	}
	return v
}

// Empty reports whether no PV has other names.
func (v *View) Empty() bool { return v == nil || len(v.facts) == 0 }

// Of returns the other names of a PV, without those of its former names.
func (v *View) Of(pv string) Fact {
	if v == nil {
		return Fact{PV: pv}
	}
	f := v.facts[pv]
	f.PV = pv
	return f
}

// Target returns the PV that has an alias.
func (v *View) Target(alias string) (pv string, is bool) {
	if v == nil {
		return "", false
	}
	pv, is = v.alias[alias]
	return pv, is
}

// Former returns the former names of a PV, with those of its former names. Each name is there once, and they are MaxNames at
// most.
func (v *View) Former(pv string) (all []string) {
	if v.Empty() {
		return nil
	}
	var add func(pv string)
	add = func(of string) {
		for _, old := range v.facts[of].Former {
			if old != pv && len(all) < MaxNames && !slices.Contains(all, old) {
				all = append(all, old)
				add(old)
			}
		}
	}
	add(pv)
	return all
}

// Later returns the PVs that had a name before, sorted.
func (v *View) Later(old string) []string {
	if v == nil {
		return nil
	}
	return v.later[old]
}

// All yields the facts, in no particular order.
func (v *View) All() iter.Seq[Fact] {
	return func(yield func(Fact) bool) {
		if v == nil {
			return
		}
		for _, f := range v.facts {
			if !yield(f) {
				return
			}
		}
	}
}

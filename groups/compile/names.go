package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

// MaxFormer is the maximum number of former names of a PV, with those of its former names.
const MaxFormer = 16

// MaxAliases is the maximum number of aliases of a PV.
const MaxAliases = 16

// otherNames are the former names and aliases that a group gives to a PV.
type otherNames struct {
	want
	capture.Names
}

// addNames collects the other names of a channel. It leaves out names that the group may not use.
func (w *wantCollector) addNames(at want, ch *v1alpha1.Channel) {
	if ch == nil || w.role != captures || len(ch.Formerly)+len(ch.Aliases) == 0 {
		return
	}
	names := capture.Names{Former: w.validNames(at.pv, "former name", ch.Formerly), Aliases: w.validNames(at.pv, "alias", ch.Aliases)}
	if len(names.Former)+len(names.Aliases) > 0 {
		w.named = append(w.named, &otherNames{at, names})
	}
}

// validNames returns names of a kind in canonical form.
func (w *wantCollector) validNames(pv, kind string, names []v1alpha1.PVName) (valid []string) {
	for _, n := range names {
		name := pvname.Canonical(string(n))
		err := pvname.Check(name)
		switch by, refused := w.Policies.Refuses(w.group, name); {
		case err != nil:
			w.out.addProblem(pv, fmt.Sprintf("its %s %q is ignored: %v", kind, name, err))
		case name == pv:
			w.out.addProblem(pv, fmt.Sprintf("its %s is its own name: remove it", kind))
		case refused:
			w.out.addProblem(pv, fmt.Sprintf("its %s %s is ignored: ArchivePolicy %s does not let this group use it", kind, name, by))
		case slices.Contains(valid, name):
		default:
			valid = append(valid, name)
		}
	}
	return valid
}

// nameChannels gives the captured channels their other names.
func (c *compiler) nameChannels() {
	if len(c.named) == 0 {
		return
	}
	n := namer{compiler: c}
	first := n.firstOfEach()
	for _, o := range first {
		n.add(o)
	}
	for _, o := range first {
		n.limitFormer(o)
	}
	n.apply()
}

// firstOfEach returns the names of each PV in its oldest group, ordered by the age of the group and by the PV. It reports the others
// as problems. c.named is ordered by the age of the group.
func (n *namer) firstOfEach() []*otherNames {
	size := len(n.named)
	n.names, n.former, n.aliases = make(map[string]*capture.Names, size), make(map[string]*otherNames, size), make(map[string]*otherNames, size)
	of := make(map[string]*otherNames, size) // by PV
	first := make([]*otherNames, 0, size)
	var seconds []*otherNames
	for _, o := range n.named {
		if of[o.pv] != nil {
			seconds = append(seconds, o)
			continue
		}
		of[o.pv] = o
		first = append(first, o)
	}
	slices.SortFunc(seconds, func(a, b *otherNames) int { return compareWants(a.want, b.want) })
	for _, o := range seconds {
		n.ignoreSecond(of[o.pv], o)
	}
	for begin, end := 0, 0; begin < len(first); begin = end {
		for end < len(first) && first[end].age == first[begin].age {
			end++
		}
		slices.SortFunc(first[begin:end], func(a, b *otherNames) int { return strings.Compare(a.pv, b.pv) })
	}
	n.index = make(map[string]int32, len(n.wants))
	for i, w := range n.wants {
		if i == 0 || w.pv != n.wants[i-1].pv {
			n.index[w.pv] = int32(i)
		}
	}
	return first
}

// namer decides about the other names of all channels. Each name belongs to one PV: if several PVs list it, to that of the
// oldest group.
type namer struct {
	*compiler
	names   map[string]*capture.Names // by PV
	former  map[string]*otherNames    // by former name: the PV that has it now
	aliases map[string]*otherNames    // by alias: its PV
	index   map[string]int32          // by PV: the index of its first want
}

// ignoreSecond reports that another channel gives the same PV other names.
func (n *namer) ignoreSecond(used, ignored *otherNames) {
	if used.age == ignored.age || used.Equal(&ignored.Names) {
		return // for two channels of a group, there is a problem already
	}
	n.members[ignored.age].out.addProblem(ignored.pv, fmt.Sprintf("its former names and aliases are ignored: those of the older group %s are used", n.members[used.age].name))
}

// add adds the names of a PV that nothing forbids.
func (n *namer) add(o *otherNames) {
	names, out := &capture.Names{}, n.members[o.age].out
	for _, old := range o.Former {
		switch other, claimed := n.former[old]; {
		case claimed:
			out.addProblem(o.pv, fmt.Sprintf("its former name %s is ignored: it is also a former name of %s in group %s", old, other.pv, n.members[other.age].name))
		case n.wasLater(o.pv, old):
			out.addProblem(o.pv, fmt.Sprintf("its former name %s is ignored: %s is a former name of %s", old, o.pv, old))
		default:
			n.former[old] = o
			names.Former = append(names.Former, old)
		}
	}
	for _, alias := range o.Aliases {
		other, claimed := n.aliases[alias]
		at, isChannel := n.index[alias]
		switch {
		case isChannel && n.members[n.wants[at].age].role == captures:
			out.addProblem(o.pv, fmt.Sprintf("its alias %s is ignored: group %s archives %s as a PV of its own; remove one of the two", alias, n.members[n.wants[at].age].name, alias))
		case claimed:
			out.addProblem(o.pv, fmt.Sprintf("its alias %s is ignored: it is also an alias of %s in group %s", alias, other.pv, n.members[other.age].name))
		default:
			n.aliases[alias] = o
			names.Aliases = append(names.Aliases, alias)
		}
	}
	n.names[o.pv] = names
}

// wasLater reports whether a PV is a former name of old, directly or through few others. Each name has one later name at most.
// limitFormer ends longer circles.
func (n *namer) wasLater(pv, old string) bool {
	for range MaxFormer + 1 {
		later, is := n.former[pv]
		if !is {
			return false
		}
		if pv = later.pv; pv == old {
			return true
		}
	}
	return false
}

// limitFormer removes the former names of a PV if they are too many, with those of its former names.
func (n *namer) limitFormer(o *otherNames) {
	if len(o.Former) == 0 {
		return
	}
	if total := n.countFormer(o.pv); total > MaxFormer {
		n.members[o.age].out.addProblem(o.pv, fmt.Sprintf("its former names are ignored: with those of its former names, there are at least %d; at most %d are allowed", total, MaxFormer))
		n.names[o.pv].Former = nil
	}
}

// countFormer counts the former names of a PV, with those of its former names, until there are too many.
func (n *namer) countFormer(pv string) (total int) {
	for of := []string{pv}; len(of) > 0 && total <= MaxFormer; of = of[1:] {
		if names := n.names[of[0]]; names != nil {
			total, of = total+len(names.Former), append(of, names.Former...)
		}
	}
	return total
}

// apply gives the channels of the assignment their names.
func (n *namer) apply() {
	for _, channels := range n.result.Assignment {
		for i := range channels {
			ch := &channels[i]
			names := n.names[ch.PV]
			if names == nil || len(names.Former)+len(names.Aliases) == 0 {
				continue
			}
			ch.Names = names
			hash := hashNames(ch.PV, names)
			for last, at := int32(-1), int(n.index[ch.PV]); at < len(n.wants) && n.wants[at].pv == ch.PV; at++ {
				if age := n.wants[at].age; age != last { // a group may list a PV twice
					n.countNamed(age, names, hash)
					last = age
				}
			}
		}
	}
}

// hashNames returns a hash of a PV with its other names, in their order.
func hashNames(pv string, names *capture.Names) uint64 {
	const odd = 0x9e3779b97f4a7c15
	hash := xxhash.Sum64String(pv)
	for _, list := range [][]string{names.Former, names.Aliases} {
		hash = hash*odd + uint64(len(list))
		for _, name := range list {
			hash = hash*odd + xxhash.Sum64String(name)
		}
	}
	return hash
}

// countNamed counts the names of a channel of a group.
func (n *namer) countNamed(age int32, names *capture.Names, hash uint64) {
	m := n.members[age]
	if m.role != captures {
		return
	}
	m.out.Fingerprint += hash
	m.out.Aliases += len(names.Aliases)
	if len(names.Former) > 0 {
		m.out.Renamed++
	}
}

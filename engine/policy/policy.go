// Package policy decides who may read a PV, and which ArchiveGroups own it, by the beginning of its name. It is
// pure, and it imports nothing of ours:
//
//	policies ──▶ New ──▶ Set ──┬─ For(user, groups) ──▶ View ── Sees(PV) ──▶ may this reader read it?
//	                           ├─ Refuses(ArchiveGroup, PV) ──▶ which policy forbids to archive it?
//	                           ├─ Hides(ArchiveGroup, PV) ──▶ which policy forbids to enable other PVs by it?
//	                           ├─ LetsEdit(ArchiveGroup, user, groups) ──▶ may this user edit it?
//	                           └─ KeepsData(ArchiveGroup, PV) ──▶ must its data stay?
//
// The longest prefix decides. If several policies have it, each of them must agree. A PV without a policy may be
// read and archived by everybody whom other rules admit.
package policy

import (
	"slices"
	"strings"
)

// All is the prefix of every PV.
const All = "*"

// Policy says who owns the PVs whose names begin with one of its prefixes, and who may read them.
type Policy struct {
	Name     string
	Prefixes []string
	Owners   Owners
	// Readers may read the PVs. The users and groups of Owners may, too.
	Readers Audience
}

// Owners are ArchiveGroups that may archive and delete PVs, and people who may read them.
type Owners struct {
	// ArchiveGroups are names without a namespace. A name that ends in * stands for all names that begin so.
	ArchiveGroups []string
	Users, Groups []string
}

// Audience is a set of readers.
type Audience struct {
	Everybody     bool
	Users, Groups []string
}

func (a *Audience) has(user string, groups []string) bool {
	return a.Everybody || lists(a.Users, a.Groups, user, groups)
}

// lists reports whether a list names a user or one of the user's groups. An empty name is nobody's.
func lists(users, groups []string, user string, of []string) bool {
	return user != "" && slices.Contains(users, user) ||
		slices.ContainsFunc(of, func(g string) bool { return g != "" && slices.Contains(groups, g) })
}

// Reads reports whether a reader may read the PVs that the policy decides about.
func (p *Policy) Reads(user string, groups []string) bool {
	return p.Readers.has(user, groups) || lists(p.Owners.Users, p.Owners.Groups, user, groups)
}

// Owns reports whether an ArchiveGroup, given its name without the namespace, owns the PVs that the policy decides
// about.
func (p *Policy) Owns(group string) bool {
	return slices.ContainsFunc(p.Owners.ArchiveGroups, func(name string) bool {
		if start, many := strings.CutSuffix(name, "*"); many {
			return strings.HasPrefix(group, start)
		}
		return group == name
	})
}

// Set is the policies of an archive. A nil Set has none. It never changes, so all methods may be called
// concurrently.
type Set struct {
	all      []*Policy
	byPrefix map[string][]*Policy
	lengths  []int // of the prefixes in bytes, the longest first
}

// New returns a set of policies.
func New(policies []Policy) *Set {
	s := &Set{byPrefix: map[string][]*Policy{}}
	for i := range policies {
		p := &policies[i]
		s.all = append(s.all, p)
		for _, prefix := range p.Prefixes {
			if prefix == All {
				prefix = ""
			}
			if !slices.Contains(s.byPrefix[prefix], p) {
				s.byPrefix[prefix] = append(s.byPrefix[prefix], p)
			}
			if !slices.Contains(s.lengths, len(prefix)) {
				s.lengths = append(s.lengths, len(prefix))
			}
		}
	}
	slices.Sort(s.lengths)
	slices.Reverse(s.lengths)
	return s
}

// Empty reports whether there is no policy.
func (s *Set) Empty() bool { return s == nil || len(s.all) == 0 }

// Deciding returns the policies with the longest prefix of a PV, given its canonical name. The caller must not
// change them.
func (s *Set) Deciding(pv string) []*Policy {
	if s == nil {
		return nil
	}
	for _, n := range s.lengths {
		if n > len(pv) {
			continue
		}
		if found := s.byPrefix[pv[:n]]; found != nil {
			return found
		}
	}
	return nil
}

// Refuses returns the name of a policy that forbids an ArchiveGroup to archive a PV, and whether there is one.
func (s *Set) Refuses(group, pv string) (policy string, refused bool) {
	for _, p := range s.Deciding(pv) {
		if !p.Owns(group) {
			return p.Name, true
		}
	}
	return "", false
}

// Hides returns the name of a policy that forbids an ArchiveGroup to show values of a PV to the readers of the group's own
// PVs, and whether there is one. A group may show those of PVs that it owns, and those that everybody may read.
func (s *Set) Hides(group, pv string) (policy string, hidden bool) {
	for _, p := range s.Deciding(pv) {
		if !p.Owns(group) && !p.Readers.Everybody {
			return p.Name, true
		}
	}
	return "", false
}

// LetsEdit reports whether policies let somebody edit an ArchiveGroup. A policy lets only its owners edit the
// ArchiveGroups that own its PVs.
func (s *Set) LetsEdit(group, user string, groups []string) bool {
	return s == nil || !slices.ContainsFunc(s.all, func(p *Policy) bool {
		return p.Owns(group) && !lists(p.Owners.Users, p.Owners.Groups, user, groups)
	})
}

// KeepsData reports whether the data of a PV must stay when an ArchiveGroup is deleted together with its data. In
// an archive with policies, groups may delete only what a policy lets them own.
func (s *Set) KeepsData(group, pv string) bool {
	if s.Empty() {
		return false
	}
	_, refused := s.Refuses(group, pv)
	return refused || len(s.Deciding(pv)) == 0
}

// View is what one reader may read.
type View struct {
	all   bool
	set   *Set
	reads map[*Policy]bool
}

// For returns what a reader may read.
func (s *Set) For(user string, groups []string) *View {
	v := &View{all: true, set: s}
	if s.Empty() {
		return v
	}
	v.reads = make(map[*Policy]bool, len(s.all))
	for _, p := range s.all {
		v.reads[p] = p.Reads(user, groups)
		v.all = v.all && v.reads[p]
	}
	return v
}

// All reports whether the policies let the reader read every PV.
func (v *View) All() bool { return v.all }

// Sees reports whether the policies let the reader read a PV, given its canonical name.
func (v *View) Sees(pv string) bool {
	return v.all || !slices.ContainsFunc(v.set.Deciding(pv), func(p *Policy) bool { return !v.reads[p] })
}

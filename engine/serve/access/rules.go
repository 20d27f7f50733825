package access

import (
	"slices"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// Rule says who may read the PVs that one of its patterns matches.
type Rule struct {
	PVs      []string
	Audience Audience
	matchers []pattern
}

// Audience is a set of identities.
type Audience struct {
	Everybody     bool
	Users, Groups []string
}

func (a *Audience) has(id *Identity) bool {
	return a.Everybody || slices.Contains(a.Users, id.User) ||
		slices.ContainsFunc(id.Groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}

// pattern is a compiled pattern of names.
type pattern struct {
	literal string // what names begin with, up to the first wildcard
	glob    request.Matcher
}

func compilePattern(text string) pattern {
	if !request.IsGlob(text) {
		text = pvname.Canonical(text)
	}
	literal := text
	if i := strings.IndexAny(text, "*?"); i >= 0 {
		literal = text[:i]
	}
	return pattern{literal, request.Glob(text)}
}

// matches reports whether a pattern matches a PV, or the record that the PV is a field of.
func (p *pattern) matches(pv, record string) bool {
	return strings.HasPrefix(pv, p.literal) && (p.glob(pv) || record != pv && p.glob(record))
}

// rules are the readers of a configuration.
type rules struct {
	list []Rule
	// others may read the PVs that no rule names.
	others Audience
}

func (r *Rule) compile() {
	for _, text := range r.PVs {
		r.matchers = append(r.matchers, compilePattern(text))
	}
}

// Unused returns the patterns in the field readers that match no PV. Most of them are mistakes. each calls its
// argument for the canonical name of every PV.
func (a *Access) Unused(each func(seen func(pv string)) error) (patterns []string, err error) {
	type unused struct {
		text string
		*pattern
	}
	var left []unused
	for i := range a.rules.list {
		l := &a.rules.list[i]
		for k := range l.PVs {
			left = append(left, unused{l.PVs[k], &l.matchers[k]})
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	err = each(func(pv string) {
		record := pvname.Record(pv)
		left = slices.DeleteFunc(left, func(u unused) bool { return u.matches(pv, record) })
	})
	for _, u := range left {
		patterns = append(patterns, u.text)
	}
	return patterns, err
}

func (r *Rule) names(pv, record string) bool {
	for i := range r.matchers {
		if r.matchers[i].matches(pv, record) {
			return true
		}
	}
	return false
}

// view is what one identity may read.
type view struct {
	all    bool
	rules  *rules
	grants []bool // by rule
	others bool
}

// open reports whether everybody may read every PV.
func (r *rules) open() bool {
	return r.others.Everybody && !slices.ContainsFunc(r.list, func(l Rule) bool { return !l.Audience.Everybody })
}

// view returns what an identity may read.
func (r *rules) view(id *Identity) view {
	if r.open() {
		return view{all: true}
	}
	v := view{rules: r, others: r.others.has(id), grants: make([]bool, len(r.list))}
	v.all = v.others
	for i := range r.list {
		v.grants[i] = r.list[i].Audience.has(id)
		v.all = v.all && v.grants[i]
	}
	return v
}

// sees reports whether a PV is visible: a rule that names it grants it, or no rule names it and the
// identity is one of the others. Names that are not canonical are of no PV: rules do not match them,
// and nothing behind may make another name of them.
func (v *view) sees(pv string) bool {
	if v.all || v.rules == nil {
		return v.all
	}
	if pvname.Canonical(pv) != pv {
		return false
	}
	record, named := pvname.Record(pv), false
	for i := range v.rules.list {
		if (named && !v.grants[i]) || !v.rules.list[i].names(pv, record) {
			continue
		}
		if v.grants[i] {
			return true
		}
		named = true
	}
	return !named && v.others
}

package compile

import (
	"fmt"

	"varve.dev/varve/api/v1alpha1"
)

// rule is a rule of a group.
type rule struct {
	match *matcher                   // nil: nothing matches, because the expression is invalid
	spec  *v1alpha1.ArchiveGroupSpec // the group's spec with the settings of the rule
}

// rulesOf returns the rules of a member. An invalid expression is a problem of the group.
func (c *compiler) rulesOf(m *member) []rule {
	if len(m.spec.Rules) == 0 {
		return nil
	}
	if m.role == captures {
		m.out.ByRule = make([]int, len(m.spec.Rules))
	}
	rules := make([]rule, len(m.spec.Rules))
	for i := range rules {
		r := &m.spec.Rules[i]
		match, err := newMatcher(r.Match)
		if err != nil && m.role == captures {
			m.out.addProblem("", fmt.Sprintf("parsing rules[%d].match: %v", i, err))
		}
		rules[i] = rule{match, withRule(m.spec, r)}
	}
	return rules
}

// withRule returns the spec of a group with the settings of a rule.
func withRule(group *v1alpha1.ArchiveGroupSpec, r *v1alpha1.Rule) *v1alpha1.ArchiveGroupSpec {
	out := *group
	if r.Sampling != nil {
		out.Sampling = override(group.Sampling, r.Sampling)
	}
	if r.EnabledBy != nil {
		out.EnabledBy = r.EnabledBy
	}
	if r.Properties != nil {
		out.Properties = r.Properties
	}
	if r.Retention != nil {
		out.Retention = r.Retention
	}
	if r.Redundancy != nil {
		out.Redundancy = *r.Redundancy
	}
	if r.Paused != nil {
		out.Paused = *r.Paused
	}
	return &out
}

// firstRule returns the index of the first rule that matches a PV, or -1.
func firstRule(rules []rule, pv string) int {
	for i := range rules {
		if rules[i].match.matches(pv) {
			return i
		}
	}
	return -1
}

// RuleFinder returns a function that returns the index of the rule of a group that applies to a PV, or -1.
func RuleFinder(spec *v1alpha1.ArchiveGroupSpec) func(pv string) int {
	rules := make([]rule, len(spec.Rules))
	for i := range rules {
		rules[i].match, _ = newMatcher(spec.Rules[i].Match)
	}
	return func(pv string) int { return firstRule(rules, pv) }
}

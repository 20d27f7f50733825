package request

import (
	"fmt"
	"regexp"
	"strings"

	"varve.dev/varve/engine/pvname"
)

// Matcher reports whether a PV matches.
type Matcher func(pv string) bool

// All matches every PV.
func All(string) bool { return true }

// IsGlob reports whether a name has wildcards.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?") }

// Glob matches names with the wildcards * and ?. A pattern without wildcards is a name. It
// matches the canonical form of that name: see pvname.Canonical.
func Glob(pattern string) Matcher {
	if !IsGlob(pattern) {
		name := pvname.Canonical(pattern)
		return func(pv string) bool { return pv == name }
	}
	return func(pv string) bool { return glob(pattern, pv) }
}

// glob takes time proportional to the product of the lengths, because it goes back only to the
// last *.
func glob(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// Regexp matches whole names, in the syntax of RE2.
func Regexp(pattern string) (Matcher, error) {
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		return nil, fmt.Errorf("parameter regex: %w", err)
	}
	return re.MatchString, nil
}

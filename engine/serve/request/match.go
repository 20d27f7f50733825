package request

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/varve/engine/pvname"
)

// Bounds of patterns. A search compares a pattern with each name of the archive, which may have a
// million names.
const (
	// maxPattern is the maximum length of a glob or a regular expression in bytes.
	maxPattern = 256
	// maxProgram is the maximum number of instructions of a compiled regular expression. The time
	// of a comparison grows with it. Repetitions make the program larger than the expression.
	maxProgram = 1000
	// maxGlobs is the maximum number of patterns with wildcards in a list of names.
	maxGlobs = 100
)

// Matcher reports whether a PV matches.
type Matcher func(pv string) bool

// All matches every PV.
func All(string) bool { return true }

// IsGlob reports whether a name has wildcards.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?") }

// Glob matches names with the wildcards * and ?. A pattern without wildcards is a name. It
// matches the canonical form of that name: see pvname.Canonical. A pattern of a client must be
// bounded: see Globs.
func Glob(pattern string) Matcher {
	if !IsGlob(pattern) {
		name := pvname.Canonical(pattern)
		return func(pv string) bool { return pv == name }
	}
	return func(pv string) bool { return glob(pattern, pv) }
}

// Globs matches names that one of the patterns of the parameter pv matches. It refuses patterns
// that would take too long.
func Globs(patterns ...string) (Matcher, error) {
	if err := checkGlobs(patterns); err != nil {
		return nil, err
	}
	names, globs := map[string]struct{}{}, []string(nil)
	for _, p := range patterns {
		if IsGlob(p) {
			globs = append(globs, p)
		} else {
			names[pvname.Canonical(p)] = struct{}{}
		}
	}
	return func(pv string) bool {
		if _, named := names[pv]; named {
			return true
		}
		return slices.ContainsFunc(globs, func(p string) bool { return glob(p, pv) })
	}, nil
}

// GlobFold matches names with the wildcards * and ?, and ignores case. A pattern without wildcards is a name, as
// in Glob. It refuses a pattern that would take too long.
func GlobFold(pattern string) (Matcher, error) {
	if !IsGlob(pattern) {
		name := pvname.Canonical(pattern)
		return func(pv string) bool { return strings.EqualFold(pv, name) }, nil
	}
	if err := checkGlobs([]string{pattern}); err != nil {
		return nil, err
	}
	folded := strings.ToLower(pattern)
	if strings.IndexFunc(folded, func(c rune) bool { return c >= utf8.RuneSelf }) >= 0 {
		return func(pv string) bool { return glob(folded, strings.ToLower(pv)) }, nil
	}
	return func(pv string) bool { return globBy(folded, pv, lower) }, nil // without a copy of each name
}

// checkGlobs returns an error if patterns of the parameter pv are too long or too many.
func checkGlobs(patterns []string) error {
	globs := 0
	for _, p := range patterns {
		if !IsGlob(p) {
			continue
		}
		if globs++; len(p) > maxPattern {
			return fmt.Errorf("parameter pv: the pattern %.50q… has %d bytes, and may have at most %d", p, len(p), maxPattern)
		}
	}
	if globs > maxGlobs {
		return fmt.Errorf("parameter pv: the request has %d patterns with * or ?, and may have at most %d", globs, maxGlobs)
	}
	return nil
}

// glob takes time proportional to the product of the lengths, because it goes back only to the
// last *.
func glob(pattern, name string) bool {
	return globBy(pattern, name, func(c byte) byte { return c })
}

// globBy is glob with a function that changes each byte of the name.
func globBy(pattern, name string, change func(c byte) byte) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == change(name[n])):
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

// lower returns a letter of ASCII in lower case.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

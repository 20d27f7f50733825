package request

import (
	"cmp"
	"slices"
	"strings"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/pvname"
)

// PatternOf returns a pattern of the names that a matcher matches.
func PatternOf(m Matcher) nameindex.Pattern { return nameindex.Pattern{Match: m} }

// GlobsPattern is Globs for a search in all names of an archive.
func GlobsPattern(patterns ...string) (p nameindex.Pattern, err error) {
	if p.Match, err = Globs(patterns...); err != nil {
		return p, err
	}
	for _, pattern := range patterns {
		name := pattern
		if !IsGlob(pattern) {
			name = pvname.Canonical(pattern)
		}
		prefix := name[:len(name)-len(afterPrefix(name, IsGlob(pattern)))]
		if prefix == "" {
			p.Prefixes = nil
			break
		}
		p.Prefixes = append(p.Prefixes, prefix)
	}
	if len(patterns) == 1 && IsGlob(patterns[0]) {
		p.Contains = longestText(afterPrefix(patterns[0], true))
	}
	return p, nil
}

// afterPrefix returns the rest of a glob from its first wildcard on. A name has no wildcards.
func afterPrefix(pattern string, isGlob bool) string {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 && isGlob {
		return pattern[i:]
	}
	return ""
}

// longestText returns the longest text without wildcards in a glob.
func longestText(pattern string) string {
	texts := strings.FieldsFunc(pattern, func(c rune) bool { return c == '*' || c == '?' })
	if len(texts) == 0 {
		return ""
	}
	return slices.MaxFunc(texts, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
}

// GlobFoldPattern is GlobFold for a search in all names of an archive.
func GlobFoldPattern(pattern string) (p nameindex.Pattern, err error) {
	if p.Match, err = GlobFold(pattern); err != nil {
		return p, err
	}
	text := pvname.Canonical(pattern)
	if IsGlob(pattern) {
		text = longestText(pattern)
	}
	if isASCII(text) {
		p.ContainsFold = strings.ToLower(text)
	}
	return p, nil
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 }) < 0 }

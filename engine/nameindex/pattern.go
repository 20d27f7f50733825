package nameindex

import (
	"slices"
	"strings"
)

// Pattern selects names. The zero value selects all names.
type Pattern struct {
	// Match reports whether a name matches. If it is nil, every name matches. A search calls it once for a name.
	Match func(name string) bool
	// Prefixes are beginnings of names. Each name that matches begins with one of them. An empty list says nothing.
	Prefixes []string
	// Contains is a text that each name has that matches.
	Contains string
	// ContainsFold is such a text in lower case, of ASCII only, where upper and lower case count as equal. It says nothing
	// about names that have other letters than those of ASCII.
	ContainsFold string
	// After selects only names that are greater.
	After string
}

// Matches reports whether the pattern selects a name.
func (p *Pattern) Matches(name string) bool {
	return (p.After == "" || name > p.After) && p.MatchesAny(name)
}

// MatchesAny is Matches for names that need not be after After.
func (p *Pattern) MatchesAny(name string) bool { return p.Match == nil || p.Match(name) }

// span is a range of names in a list: [from, to).
type span struct{ from, to int }

// spans returns the ranges of names that may match, in order.
func (p *Pattern) spans(l *list) []span {
	first := 0
	if p.After != "" {
		var is bool
		if first, is = l.find(p.After); is {
			first++
		}
	}
	if len(p.Prefixes) == 0 {
		return []span{{first, l.len()}}
	}
	var all []span
	for _, prefix := range slices.Sorted(slices.Values(p.Prefixes)) {
		from, _ := l.find(prefix)
		from = max(from, first)
		if n := len(all); n > 0 {
			from = max(from, all[n-1].to) // a longer prefix has no other names than a shorter one
		}
		if to := l.after(prefix); from < to {
			all = append(all, span{from, to})
		}
	}
	return all
}

// lowerASCII returns a text with the letters of ASCII in lower case. Its length stays the same.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// isASCII reports whether a text has only bytes of ASCII.
func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 }) < 0
}

package compile

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// matcher matches names of PVs with a regular expression. A group may have many rules and 200,000 PVs, and most
// expressions contain a literal text, such as ^SR.*:VAC:. A search for the text is much faster than the
// expression, so a matcher searches for the text first.
type matcher struct {
	re *regexp.Regexp // nil if prefix, suffix and text decide alone
	// Each name that matches begins with prefix, ends with suffix, and contains text.
	prefix, suffix, text string
}

// newMatcher returns the matcher of an expression in RE2 syntax.
func newMatcher(expression string) (*matcher, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	m := &matcher{re: re}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return m, nil // the expression alone decides
	}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	m.learn(parts)
	return m, nil
}

// learn finds the literal texts in the parts of an expression, which follow each other.
func (m *matcher) learn(parts []*syntax.Regexp) {
	for len(parts) > 1 && isAnything(parts[0]) { // .*A matches the same names as A
		parts = parts[1:]
	}
	for len(parts) > 1 && isAnything(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	for i, p := range parts {
		text, is := literal(p)
		switch {
		case !is:
		case i == 1 && parts[0].Op == syntax.OpBeginText:
			m.prefix = text
		case i == len(parts)-2 && parts[i+1].Op == syntax.OpEndText:
			m.suffix = text
		case len(text) > len(m.text):
			m.text = text
		}
	}
	switch {
	case len(parts) == 1 && m.text != "", len(parts) == 2 && m.prefix+m.suffix != "":
		m.re = nil
	}
}

// isAnything reports whether an expression is .*, which matches every text in a name: names have no line breaks.
func isAnything(p *syntax.Regexp) bool {
	return p.Op == syntax.OpStar && (p.Sub[0].Op == syntax.OpAnyCharNotNL || p.Sub[0].Op == syntax.OpAnyChar)
}

// literal returns the text of an expression that matches only this text.
func literal(p *syntax.Regexp) (text string, is bool) {
	for p.Op == syntax.OpCapture {
		p = p.Sub[0]
	}
	if p.Op != syntax.OpLiteral || p.Flags&syntax.FoldCase != 0 {
		return "", false
	}
	return string(p.Rune), true
}

// matches reports whether the expression matches a name. A nil matcher matches nothing.
func (m *matcher) matches(pv string) bool {
	return m != nil && strings.HasPrefix(pv, m.prefix) && strings.HasSuffix(pv, m.suffix) && strings.Contains(pv, m.text) &&
		(m.re == nil || m.re.MatchString(pv))
}

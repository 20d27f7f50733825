package compile

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"varve.dev/varve/api/v1alpha1"
)

// matcher matches names of PVs with a regular expression. A group may have many rules and 200,000 PVs, and most
// expressions contain a literal text, such as ^SR.*:VAC:. A search for the text is much faster than the
// expression, so a matcher searches for the text first.
type matcher struct {
	re *regexp.Regexp // nil if prefix, suffix and text decide alone
	// Each name that matches begins with prefix, ends with suffix, and contains text.
	prefix, suffix, text string
}

// maxProgram is the maximum number of instructions of an expression. Each name costs up to its length times as
// many steps. An expression of 256 bytes without repetitions has fewer.
const maxProgram = 300

// newMatcher returns the matcher of an expression in RE2 syntax. It refuses expressions that would take too long.
func newMatcher(expression string) (*matcher, error) {
	re, tree, err := compileBounded(expression)
	if err != nil {
		return nil, err
	}
	m := &matcher{re: re}
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	m.learn(parts)
	return m, nil
}

// compileBounded compiles an expression, unless it would take too long.
func compileBounded(expression string) (*regexp.Regexp, *syntax.Regexp, error) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, nil, err
	}
	if n := instructions(tree); n > maxProgram {
		return nil, nil, fmt.Errorf("the expression has about %d instructions when it is compiled, and may have at most %d: shorten it, or repeat less", n, maxProgram)
	}
	re, err := regexp.Compile(expression)
	return re, tree, err
}

// Matches returns a function that reports whether an expression in RE2 syntax matches a PV, given its canonical name. It
// refuses expressions that would take too long.
func Matches(expression string) (func(pv string) bool, error) {
	m, err := newMatcher(expression)
	if err != nil {
		return nil, err
	}
	return m.matches, nil
}

// MatchSteps returns at most how many steps the expressions of the rules, pauses, deletions and shards of a group need for one
// byte of a name.
func MatchSteps(spec *v1alpha1.ArchiveGroupSpec) (steps int) {
	add := func(expression string) {
		if tree, err := syntax.Parse(expression, syntax.Perl); err == nil {
			steps += min(instructions(tree), maxProgram)
		}
	}
	for i := range spec.Rules {
		add(spec.Rules[i].Match)
	}
	for i := range spec.Pauses {
		add(spec.Pauses[i].Match)
	}
	for i := range spec.Deletions {
		add(spec.Deletions[i].Match)
	}
	if by := spec.ShardBy; by != nil && by.Prefix != nil {
		add(by.Prefix.Regex)
	}
	return steps
}

// instructions returns about how many instructions an expression has when it is compiled. It does not compile it,
// because an expression of few bytes can have hundreds of thousands.
func instructions(p *syntax.Regexp) int {
	sub := 0
	for _, s := range p.Sub {
		sub += instructions(s)
	}
	switch p.Op {
	case syntax.OpLiteral:
		return len(p.Rune)
	case syntax.OpConcat:
		return sub
	case syntax.OpAlternate:
		return sub + len(p.Sub) - 1
	case syntax.OpRepeat: // x{2,4} is xx(x(x)?)?, and x{2,} is xx+
		return max(p.Max, p.Min, 1)*sub + max(p.Max-p.Min, 1)
	case syntax.OpCapture:
		return sub + 2
	default: // one character or position, or a loop
		return sub + 1
	}
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

package request

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/varve/engine/nameindex"
)

// Regexp matches whole names, in the syntax of RE2. It refuses expressions that would take too
// long.
func Regexp(pattern string) (Matcher, error) {
	p, err := RegexpPattern(pattern)
	return p.Match, err
}

// RegexpPattern is Regexp for a search in all names of an archive.
func RegexpPattern(pattern string) (p nameindex.Pattern, err error) {
	if len(pattern) > maxPattern {
		return p, fmt.Errorf("parameter regex: %w", &tooLarge{len(pattern), "bytes", maxPattern})
	}
	whole := `^(?:` + pattern + `)$`
	parsed, err := syntax.Parse(whole, syntax.Perl)
	if err != nil {
		return p, fmt.Errorf("parameter regex: %w", err)
	}
	parsed = parsed.Simplify()
	program, err := syntax.Compile(parsed)
	if err != nil {
		return p, fmt.Errorf("parameter regex: %w", err)
	}
	if n := len(program.Inst); n > maxProgram {
		return p, fmt.Errorf("parameter regex: %w", &tooLarge{n, "instructions when it is compiled", maxProgram})
	}
	p.Match = regexp.MustCompile(whole).MatchString // the syntax is right
	if texts, ok := textsOf(parsed); ok {
		p.Match = func(name string) bool { return hasTexts(name, texts) }
	}
	beginnings, _ := prefixes(parsed)
	slices.Sort(beginnings)
	if p.Prefixes = slices.Compact(beginnings); slices.Contains(p.Prefixes, "") {
		p.Prefixes = nil
	}
	if text, fold := required(parsed, false), required(parsed, true); len(fold) > len(text) {
		p.ContainsFold = fold
	} else {
		p.Contains = text
	}
	return p, nil
}

// tooLarge is the error of a regular expression that would take too long.
type tooLarge struct {
	n    int
	unit string
	most int
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("the expression has %d %s, and may have at most %d; shorten it, or repeat less", e.n, e.unit, e.most)
}

// textsOf returns the texts of an expression of a whole name that has nothing else than texts and .*, such as SR.*:I. Before
// the first text, after the last one and between two of them is a .*; a text may be empty. So most expressions are matched
// without package regexp, which is slower.
func textsOf(re *syntax.Regexp) (texts []string, ok bool) {
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[0].Op != syntax.OpBeginText || re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
		return nil, false
	}
	texts = []string{""}
	ok = addTexts(&texts, re.Sub[1:len(re.Sub)-1])
	return texts, ok
}

// addTexts adds the texts of the parts of a concatenation.
func addTexts(texts *[]string, parts []*syntax.Regexp) bool {
	for _, part := range parts {
		switch {
		case part.Op == syntax.OpConcat || part.Op == syntax.OpCapture:
			if !addTexts(texts, part.Sub) {
				return false
			}
		case part.Op == syntax.OpStar && part.Sub[0].Op == syntax.OpAnyCharNotNL:
			*texts = append(*texts, "")
		case part.Op == syntax.OpEmptyMatch:
		default:
			text, ok := literal(part, false)
			if !ok {
				return false
			}
			(*texts)[len(*texts)-1] += text
		}
	}
	return true
}

// hasTexts reports whether a name has texts in order: the first at its beginning, and the last at its end.
func hasTexts(name string, texts []string) bool {
	rest, ok := strings.CutPrefix(name, texts[0])
	if !ok || len(texts) == 1 {
		return ok && rest == ""
	}
	last := len(texts) - 1
	for _, text := range texts[1:last] {
		if _, rest, ok = strings.Cut(rest, text); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, texts[last]) && !strings.Contains(name, "\n") // . is no line feed
}

// literal returns the text that an expression is. With fold, it is a text in lower case, of ASCII only, where upper and lower
// case count as equal.
func literal(re *syntax.Regexp, fold bool) (text string, ok bool) {
	if re.Op != syntax.OpLiteral || slices.Contains(re.Rune, utf8.RuneError) { // which also matches what is no character
		return "", false
	}
	text = string(re.Rune)
	switch {
	case fold:
		return strings.ToLower(text), isASCII(text)
	case re.Flags&syntax.FoldCase != 0 && slices.ContainsFunc(re.Rune, func(c rune) bool { return unicode.SimpleFold(c) != c }):
		return "", false // it is several texts
	}
	return text, true
}

// maxPrefixes is the maximum number of beginnings of names that are looked for.
const maxPrefixes = 64

// maxClass is the maximum number of characters in a class that counts as a choice.
const maxClass = 16

// prefixes returns beginnings of the texts that an expression matches: each of the texts has one of them. If whole is true,
// these are the texts.
func prefixes(re *syntax.Regexp) (all []string, whole bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}, true
	case syntax.OpLiteral:
		if text, ok := literal(re, false); ok {
			return []string{text}, true
		}
	case syntax.OpCharClass:
		return ofClass(re.Rune)
	case syntax.OpCapture:
		return prefixes(re.Sub[0])
	case syntax.OpPlus:
		all, _ = prefixes(re.Sub[0])
		return all, false
	case syntax.OpQuest:
		all, whole = prefixes(re.Sub[0])
		return append(all, ""), whole
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			more, w := prefixes(sub)
			if all, whole = append(all, more...), whole && w; len(all) > maxPrefixes {
				return []string{""}, false
			}
		}
		return all, whole
	}
	return []string{""}, false
}

// ofClass is prefixes of a class of characters, given as pairs of the first and the last one of each range.
func ofClass(pairs []rune) (all []string, whole bool) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1]-pairs[i] >= maxClass || pairs[i] <= utf8.RuneError && utf8.RuneError <= pairs[i+1] {
			return []string{""}, false
		}
		for c := pairs[i]; c <= pairs[i+1]; c++ {
			all = append(all, string(c))
		}
	}
	if len(all) > maxClass || len(all) == 0 {
		return []string{""}, false
	}
	return all, true
}

// ofConcat is prefixes of a concatenation.
func ofConcat(parts []*syntax.Regexp) (all []string, whole bool) {
	all = []string{""}
	for _, part := range parts {
		more, w := prefixes(part)
		if len(all)*len(more) > maxPrefixes {
			return all, false
		}
		var longer []string
		for _, a := range all {
			for _, b := range more {
				longer = append(longer, a+b)
			}
		}
		if all = longer; !w {
			return all, false
		}
	}
	return all, true
}

// required returns the longest text that each text has that an expression matches, as far as it is found. fold is as in
// literal.
func required(re *syntax.Regexp, fold bool) string {
	switch re.Op {
	case syntax.OpLiteral:
		text, _ := literal(re, fold)
		return text
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0], fold)
	case syntax.OpConcat:
		longest, run := "", ""
		for _, part := range re.Sub {
			text, ok := literal(part, fold)
			if run += text; !ok {
				run = ""
				text = required(part, fold)
			}
			for _, t := range []string{run, text} {
				if len(t) > len(longest) {
					longest = t
				}
			}
		}
		return longest
	}
	return ""
}

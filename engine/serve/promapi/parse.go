package promapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/serve/request"
)

// expression is a PromQL expression of the subset.
type expression struct {
	// isNumber is true if the expression is the constant number.
	isNumber bool
	number   float64

	selector selector
	// function is empty for the value at a time, or one of functions, for a window of ns.
	function string
	window   int64
}

// selector selects PVs by name.
type selector struct {
	name  string // one PV, or empty
	match []request.Matcher
	// search is a pattern that selects at least the PVs that match selects.
	search nameindex.Pattern
}

// matches reports whether the name of a PV matches.
func (s *selector) matches(pv string) bool {
	if s.name != "" && pv != s.name {
		return false
	}
	return !slices.ContainsFunc(s.match, func(m request.Matcher) bool { return !m(pv) })
}

// pattern returns the pattern of a search for the PVs.
func (s *selector) pattern() nameindex.Pattern {
	p := s.search
	p.Match = s.matches
	return p
}

// functions are those that are applied to a window.
var functions = []string{"avg_over_time", "min_over_time", "max_over_time", "count_over_time", "last_over_time"}

// maxExpression bounds the length of an expression in bytes.
const maxExpression = 4096

// accepted says what an expression may be.
const accepted = `accepted are a PV such as SR:I or {"SR01-VA:PRES"}, {__name__=~"SR.*"}, ` +
	`and avg_over_time, min_over_time, max_over_time, count_over_time or last_over_time of one, such as avg_over_time(SR:I[5m])`

// parser parses an expression.
type parser struct {
	text string
	at   int
}

// tokens are a name, a text, a number or duration, an operator, or a single character.
var tokens = regexp.MustCompile("^(?:[a-zA-Z_:][a-zA-Z0-9_:]*|\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|[0-9][0-9a-z.]*(?:[eE][+-]?[0-9]+)?|=~|!~|!=|.)")

var identifier = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// parse parses an expression.
func parse(text string) (*expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes, and may have %d", len(text), maxExpression)
	}
	p := &parser{text: text}
	e, err := p.expression()
	if err == nil && p.peek() != "" {
		err = p.errorf("unexpected %q", p.peek())
		if strings.HasPrefix(p.peek(), "-") && e.selector.name != "" {
			err = p.errorf(`unexpected "-"; a name with other characters than letters, digits, _ and : is written {"NAME"}`)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, accepted)
	}
	return e, nil
}

// parseSelector parses the parameter match[].
func parseSelector(text string) (*selector, error) {
	e, err := parse(text)
	if err == nil && (e.isNumber || e.function != "") {
		err = errors.New(`it must select PVs, such as {__name__=~"SR.*"}`)
	}
	if err != nil {
		return nil, fmt.Errorf("parameter match[]: %w", err)
	}
	return &e.selector, nil
}

// peek returns the next token, or "" at the end.
func (p *parser) peek() string {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
	return tokens.FindString(p.text[p.at:])
}

// next returns the next token and moves behind it.
func (p *parser) next() string {
	t := p.peek()
	p.at += len(t)
	return t
}

// expect moves behind a token that must be next.
func (p *parser) expect(want string) error {
	if got := p.peek(); got != want {
		return p.errorf("%q is expected, not %q", want, got)
	}
	p.next()
	return nil
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("at character %d: %w", p.at+1, fmt.Errorf(format, args...))
}

func (p *parser) expression() (*expression, error) {
	t := p.peek()
	switch {
	case t == "":
		return nil, errors.New("the expression is empty")
	case t[0] >= '0' && t[0] <= '9':
		return p.sum()
	case identifier.MatchString(t):
		start := p.at
		p.next()
		if p.peek() == "(" {
			if !slices.Contains(functions, t) {
				p.at = start
				return nil, p.errorf("%q is not supported", t)
			}
			return p.overTime(t)
		}
		p.at = start
	}
	s, err := p.selector()
	return &expression{selector: s}, err
}

// sum parses NUMBER, or NUMBER + NUMBER.
func (p *parser) sum() (*expression, error) {
	a, err := p.number()
	if err != nil || !strings.Contains("+-*/", p.peek()) || p.peek() == "" {
		return &expression{isNumber: true, number: a}, err
	}
	op := p.next()
	b, err := p.number()
	switch op {
	case "+":
		a += b
	case "-":
		a -= b
	case "*":
		a *= b
	case "/":
		a /= b
	}
	return &expression{isNumber: true, number: a}, err
}

func (p *parser) number() (float64, error) {
	t := p.peek()
	v, err := strconv.ParseFloat(t, 64)
	if err != nil {
		return 0, p.errorf("%q is not a number", t)
	}
	p.next()
	return v, nil
}

// overTime parses the arguments of a function.
func (p *parser) overTime(function string) (*expression, error) {
	e := &expression{function: function}
	err := p.expect("(")
	if err == nil {
		e.selector, err = p.selector()
	}
	if err == nil {
		err = p.expect("[")
	}
	if err == nil {
		if e.window, err = parseDuration(p.peek()); err != nil {
			return nil, p.errorf("%w", err)
		}
		p.next()
		err = p.expect("]")
	}
	if err == nil {
		err = p.expect(")")
	}
	return e, err
}

// selector parses NAME, NAME{…} or {…}.
func (p *parser) selector() (s selector, err error) {
	if t := p.peek(); identifier.MatchString(t) {
		s.name = pvname.Canonical(p.next())
		if p.peek() != "{" {
			return s, nil
		}
	}
	if err = p.expect("{"); err != nil {
		return s, err
	}
	for p.peek() != "}" {
		if err = p.matcher(&s); err != nil {
			return s, err
		}
		if p.peek() != "," {
			break
		}
		p.next()
	}
	if err = p.expect("}"); err == nil && s.name == "" && len(s.match) == 0 {
		err = p.errorf("the selector needs a name")
	}
	return s, err
}

// matcher parses "NAME" or __name__="NAME", also with =~, != and !~.
func (p *parser) matcher(s *selector) error {
	label, op := p.peek(), "="
	if !isQuoted(label) {
		if label != "__name__" {
			return p.errorf("the label %q is unknown: PVs have only the label __name__", label)
		}
		p.next()
		if op = p.peek(); !slices.Contains([]string{"=", "=~", "!=", "!~"}, op) {
			return p.errorf("=, =~, != or !~ is expected, not %q", op)
		}
		p.next()
	}
	text, err := unquote(p.peek())
	if err != nil {
		return p.errorf("a text in quotes is expected, not %.50q", p.peek())
	}
	p.next()
	return s.add(op, text)
}

// add adds a condition on the name.
func (s *selector) add(op, text string) error {
	name := pvname.Canonical(text)
	switch {
	case op == "=" && text == "":
		return errors.New("a name is empty")
	case op == "=" && (s.name == "" || s.name == name):
		s.name = name
	case op == "=":
		return fmt.Errorf("a PV has one name, not both %.100q and %.100q", s.name, name)
	case op == "!=":
		s.match = append(s.match, func(pv string) bool { return pv != name })
	default:
		p, err := request.RegexpPattern(text)
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "parameter regex: "))
		}
		if op == "!~" {
			s.match = append(s.match, func(pv string) bool { return !p.Match(pv) })
			break
		}
		s.match, s.search = append(s.match, p.Match), p
	}
	return nil
}

func isQuoted(t string) bool {
	return t != "" && strings.ContainsRune("\"'`", rune(t[0])) && len(t) > 1
}

// unquote returns the text of a token in quotes.
func unquote(t string) (string, error) {
	if !isQuoted(t) {
		return "", strconv.ErrSyntax
	}
	if t[0] == '\'' {
		inner := strings.ReplaceAll(strings.ReplaceAll(t[1:len(t)-1], `\'`, `'`), `"`, `\"`)
		t = `"` + inner + `"`
	}
	return strconv.Unquote(t)
}

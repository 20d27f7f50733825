package predicate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// Bounds of a predicate.
const (
	maxLength     = 4096
	maxDepth      = 50
	maxConditions = 64
	// MaxPVs is the maximum number of PVs in a predicate.
	MaxPVs = 16
)

// Predicate is a condition on PVs.
type Predicate struct {
	// PVs are the names of the PVs, each once.
	PVs  []string
	root node
	// conditions are the leaves of root.
	conditions []*condition
}

// operator compares a value with constants.
type operator uint8

const (
	less operator = iota
	lessOrEqual
	greater
	greaterOrEqual
	equal
	unequal
	between
)

var operators = map[string]operator{
	"<": less, "<=": lessOrEqual, ">": greater, ">=": greaterOrEqual, "=": equal, "==": equal, "!=": unequal,
}

// condition compares a PV, or its severity, with constants.
type condition struct {
	pv        int // index in Predicate.PVs
	at        int // offset in the text
	op        operator
	severity  bool
	text      string // if isText
	isText    bool
	low, high float64 // both are the constant, except for between
	// states are the states of an enumeration that the text names.
	states []uint64
}

// parser reads tokens one ahead.
type parser struct {
	scanner
	tok   token
	depth int
	p     Predicate
}

// Parse parses a predicate. An error is a *SyntaxError, except for a text that is too long.
func Parse(text string) (*Predicate, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("the predicate has %d bytes, and may have %d", len(text), maxLength)
	}
	p := &parser{scanner: scanner{text: text}}
	err := p.advance()
	if err == nil {
		p.p.root, err = p.expression()
	}
	if err == nil && p.tok.kind != endToken {
		err = p.want("and, or, or the end must follow")
	}
	if err != nil {
		return nil, err
	}
	return &p.p, nil
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

// want returns an error at the current token.
func (p *parser) want(what string) error { return &SyntaxError{p.tok.at, p.text, what} }

// expression parses terms that or joins.
func (p *parser) expression() (node, error) { return p.joined("or", p.term, anyOf) }

// term parses factors that and joins.
func (p *parser) term() (node, error) { return p.joined("and", p.factor, allOf) }

func (p *parser) joined(word string, part func() (node, error), kind nodeKind) (node, error) {
	first, err := part()
	if err != nil || !p.tok.is(word) {
		return first, err
	}
	n := node{kind: kind, parts: []node{first}}
	for p.tok.is(word) {
		if err := p.advance(); err != nil {
			return n, err
		}
		next, err := part()
		if err != nil {
			return n, err
		}
		n.parts = append(n.parts, next)
	}
	return n, nil
}

// factor parses a negation, parentheses or a condition.
func (p *parser) factor() (n node, err error) {
	if p.depth++; p.depth > maxDepth {
		return n, p.want(fmt.Sprintf("at most %d parentheses and not may be nested", maxDepth))
	}
	defer func() { p.depth-- }()
	switch {
	case p.tok.is("not"):
		if err = p.advance(); err != nil {
			return n, err
		}
		inner, err := p.factor()
		return node{kind: negation, parts: []node{inner}}, err
	case p.tok.is("("):
		if err = p.advance(); err != nil {
			return n, err
		}
		if n, err = p.expression(); err == nil && !p.tok.is(")") {
			err = p.want(") must close the parenthesis")
		}
		if err != nil {
			return n, err
		}
		return n, p.advance()
	}
	return p.condition()
}

func (p *parser) condition() (node, error) {
	if len(p.p.conditions) == maxConditions {
		return node{}, p.want(fmt.Sprintf("a predicate may have %d conditions", maxConditions))
	}
	c := &condition{at: p.tok.at}
	err := p.operand(c)
	if err == nil {
		err = p.comparison(c)
	}
	if err != nil {
		return node{}, err
	}
	p.p.conditions = append(p.p.conditions, c)
	return node{kind: leaf, leaf: len(p.p.conditions) - 1}, nil
}

// operand parses a PV or severity(PV).
func (p *parser) operand(c *condition) error {
	if !p.tok.is("severity") {
		return p.name(c)
	}
	if err := p.advance(); err != nil {
		return err
	}
	if !p.tok.is("(") {
		return p.want("write severity(PV)")
	}
	c.severity = true
	if err := p.advance(); err != nil {
		return err
	}
	if err := p.name(c); err != nil {
		return err
	}
	if !p.tok.is(")") {
		return p.want(") must follow the name of the PV")
	}
	return p.advance()
}

// keywords cannot be names of PVs without quotes.
var keywords = []string{"and", "or", "not", "between", "severity"}

func (p *parser) name(c *condition) error {
	const want = "a condition begins with the name of a PV, such as SR:I > 0.5; put names with other characters in double quotes"
	switch p.tok.kind {
	case nameToken:
		if p.tok.text == "" {
			return p.want("the name of a PV is empty")
		}
	case wordToken:
		if _, err := number(p.tok.text); err == nil || slices.Contains(keywords, strings.ToLower(p.tok.text)) {
			return p.want(want)
		}
	case textToken:
		return p.want("the constant follows the PV; names of PVs are in double quotes or in none")
	default:
		return p.want(want)
	}
	name := pvname.Canonical(p.tok.text)
	if c.pv = slices.Index(p.p.PVs, name); c.pv < 0 {
		if len(p.p.PVs) == MaxPVs {
			return p.want(fmt.Sprintf("a predicate may have %d PVs", MaxPVs))
		}
		c.pv = len(p.p.PVs)
		p.p.PVs = append(p.p.PVs, name)
	}
	return p.advance()
}

func (p *parser) comparison(c *condition) error {
	if p.tok.is("between") {
		return p.between(c)
	}
	op, ok := operators[p.tok.text]
	if !ok || p.tok.kind != symbolToken {
		return p.want("<, <=, >, >=, =, != or between must follow")
	}
	c.op = op
	if err := p.advance(); err != nil {
		return err
	}
	if c.severity {
		return p.level(c)
	}
	if p.tok.kind == textToken {
		if op != equal && op != unequal {
			return p.want("a text is compared by = or !=")
		}
		c.text, c.isText = p.tok.text, true
		return p.advance()
	}
	return p.constant(&c.low, &c.high)
}

func (p *parser) between(c *condition) (err error) {
	c.op = between
	if c.severity {
		return p.want("compare a severity by <, <=, >, >=, = or !=")
	}
	if err = p.advance(); err == nil {
		err = p.constant(&c.low)
	}
	if err == nil && !p.tok.is("and") {
		err = p.want("between takes two numbers: SR:I between 0.5 and 2")
	}
	if err == nil {
		err = p.advance()
	}
	if err != nil {
		return err
	}
	at := p.tok
	if err = p.constant(&c.high); err == nil && c.low > c.high {
		p.tok = at
		err = p.want("the second number must not be below the first")
	}
	return err
}

// constant parses a number.
func (p *parser) constant(to ...*float64) error {
	v, err := number(p.tok.text)
	switch {
	case p.tok.kind == wordToken && err == nil:
	case p.tok.kind == wordToken || p.tok.kind == nameToken:
		return p.want("a number must follow, or a text in single quotes, such as 'Open'")
	default:
		return p.want("a number must follow, such as 0.5 or -1e-9")
	}
	for _, f := range to {
		*f = v
	}
	return p.advance()
}

// number parses a number. NaN is none, because nothing equals it.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && math.IsNaN(v) {
		err = strconv.ErrSyntax
	}
	return v, err
}

// level parses the name of a severity.
func (p *parser) level(c *condition) error {
	for s := sample.NoAlarm; s <= sample.Invalid; s++ {
		if p.tok.is(s.String()) || p.tok.kind == textToken && p.tok.text == s.String() {
			c.low, c.high = float64(s), float64(s)
			return p.advance()
		}
	}
	return p.want("a severity is NO_ALARM, MINOR, MAJOR or INVALID")
}

// Package condition compares the latest value of a PV with constants, while samples are captured:
//
//	"!= 0"            ─▶ Parse ─▶ Condition ┐
//	"> 0.5"                                 ├─▶ Eval ─▶ True, False or Unknown
//	"== 'Open'"            value, labels ───┘
//	"between 1 and 3"
//
// The language is that of one condition of package predicate, without the name of the PV.
package condition

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/engine/sample"
)

// MaxLength is the maximum length of a condition in bytes.
const MaxLength = 128

// Condition compares a value with constants.
type Condition struct {
	op     string // an operator, or "between"
	text   string // the label of a state, or a string
	isText bool
	// low and high are both the constant, except for between.
	low, high float64
}

// Result is the result of a condition.
type Result uint8

// Results.
const (
	// Unknown means that the value cannot be compared with the constants.
	Unknown Result = iota
	True
	False
)

var (
	comparison = regexp.MustCompile(`^\s*(==|=|!=|<=|<|>=|>)\s*(?:'((?:[^']|'')*)'|(\S+))\s*$`)
	interval   = regexp.MustCompile(`^\s*(?i:between)\s+(\S+)\s+(?i:and)\s+(\S+)\s*$`)
)

// Parse parses a condition such as "!= 0", "> 0.5", "== 'Open'" or "between 1 and 3".
func Parse(text string) (c Condition, err error) {
	if len(text) > MaxLength {
		return c, fmt.Errorf("the condition has %d bytes, and may have %d", len(text), MaxLength)
	}
	if m := interval.FindStringSubmatch(text); m != nil {
		c.op = "between"
		if c.low, err = number(m[1]); err == nil {
			c.high, err = number(m[2])
		}
		if err == nil && c.low > c.high {
			err = fmt.Errorf("%q: the second number must not be below the first", text)
		}
		return c, err
	}
	m := comparison.FindStringSubmatch(text)
	if m == nil {
		return c, fmt.Errorf("%q is not a condition; write one like != 0, > 0.5, == 'Open' or between 1 and 3", text)
	}
	if c.op = m[1]; c.op == "=" {
		c.op = "=="
	}
	if m[3] != "" {
		c.low, err = number(m[3])
		return c, err
	}
	if c.text, c.isText = strings.ReplaceAll(m[2], "''", "'"), true; c.op != "==" && c.op != "!=" {
		return c, fmt.Errorf("%q: a text is compared by == or !=", text)
	}
	return c, nil
}

// number parses a number. NaN is none, because nothing equals it.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a number; put the name of a state in single quotes, such as 'Open'", text)
	}
	return v, nil
}

// Eval compares a value of a type. labels has the names of the states of an enumeration. The result is
// Unknown for a value that is NaN or undefined, or whose type cannot be compared with the constant, and
// for the name of a state that the enumeration does not have.
func (c *Condition) Eval(t sample.Type, s *sample.Sample, labels []string) Result {
	switch {
	case undefined(s.Tag):
		return Unknown
	case c.isText && t == sample.Enum:
		if !slices.Contains(labels, c.text) {
			return Unknown
		}
		is := s.Word < uint64(len(labels)) && labels[s.Word] == c.text
		return of(is == (c.op == "=="))
	case c.isText && t == sample.String:
		return of((string(s.Bytes) == c.text) == (c.op == "=="))
	case c.isText || !t.Fixed():
		return Unknown
	}
	v := sample.Float(t, s.Word)
	if math.IsNaN(v) {
		return Unknown
	}
	return of(c.compare(v))
}

// undefined reports whether a record has never had a value.
func undefined(t sample.Tag) bool {
	const udf = 17 // as in EPICS base (alarm.h)
	return t.Severity() == sample.Invalid && t.Status() == udf
}

func of(b bool) Result {
	if b {
		return True
	}
	return False
}

func (c *Condition) compare(v float64) bool {
	switch c.op {
	case "<":
		return v < c.low
	case "<=":
		return v <= c.low
	case ">":
		return v > c.low
	case ">=":
		return v >= c.low
	case "!=":
		return v != c.low
	case "between":
		return c.low <= v && v <= c.high
	}
	return v == c.low
}

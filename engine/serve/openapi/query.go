package openapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"varve.dev/varve/engine/serve/request"
)

// Query has the parameters of a request. They are known, and in their limits.
type Query struct {
	call   *Call
	values url.Values
	now    time.Time
}

// Parse parses the query of a URL. It returns an error that names the parameter if one is unknown,
// occurs too often, is not in its limits, or is required and absent. A time that is relative is relative to now.
func (c *Call) Parse(raw string, now time.Time) (*Query, error) {
	var known request.Known
	for i := range c.Parameters {
		switch p := &c.Parameters[i]; {
		case p.InPath, p.InHeader:
		case p.Repeated > 0:
			known.Repeated = append(known.Repeated, p.Name)
		default:
			known.Once = append(known.Once, p.Name)
		}
	}
	values, err := known.Parse(raw)
	if err != nil {
		return nil, err
	}
	for i := range c.Parameters {
		if err := c.Parameters[i].check(values, now); err != nil {
			return nil, err
		}
	}
	for i := range c.Parameters {
		if p := &c.Parameters[i]; p.Required && strings.Join(values[p.Name], "") == "" {
			return nil, fmt.Errorf("parameter %s: it is required, for example %s=%s", p.Name, p.Name, p.Example)
		}
	}
	return &Query{c, values, now}, nil
}

// check returns an error if a value is not in the limits of the parameter.
func (p *Parameter) check(values url.Values, now time.Time) error {
	all := values[p.Name]
	if p.Repeated > 0 && len(all) > p.Repeated {
		return fmt.Errorf("parameter %s: the request has %d of them, and may have %d", p.Name, len(all), p.Repeated)
	}
	for _, text := range all {
		if text == "" {
			continue // as if it were absent
		}
		if err := p.checkValue(text, now); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parameter) checkValue(text string, now time.Time) error {
	switch p.Kind {
	case Time:
		_, err := request.Time(url.Values{p.Name: {text}}, p.Name, 0, now)
		return err
	case Integer:
		if n, err := strconv.Atoi(text); err != nil || n < p.Min || n > p.Max {
			return fmt.Errorf("parameter %s: %.50q is not a whole number from %d to %d", p.Name, text, p.Min, p.Max)
		}
	case Choice:
		for _, c := range p.Choices {
			if c == text {
				return nil
			}
		}
		return fmt.Errorf("parameter %s: %.50q is not one of %s; did you mean %s?",
			p.Name, text, strings.Join(p.Choices, ", "), request.MostSimilar(text, p.Choices))
	}
	return nil
}

// declared returns a parameter that the call must declare.
func (q *Query) declared(name string) *Parameter {
	p := q.call.parameter(name)
	if p == nil || p.InPath || p.InHeader {
		panic(fmt.Sprintf("BUG: the call %s does not declare the parameter %s", q.call.Path, name))
	}
	return p
}

// Has reports whether the parameter is present.
func (q *Query) Has(name string) bool { return q.values.Has(q.declared(name).Name) }

// Get returns the first value of a parameter, or its default.
func (q *Query) Get(name string) string {
	p := q.declared(name)
	if text := q.values.Get(name); text != "" {
		return text
	}
	return p.Default
}

// All returns the values of a parameter.
func (q *Query) All(name string) []string { return q.values[q.declared(name).Name] }

// Int returns the value of an Integer, or its default, or 0.
func (q *Query) Int(name string) int {
	n, _ := strconv.Atoi(q.Get(name)) // it was checked
	return n
}

// Time returns the value of a Time in ns since 1970. It returns now if the parameter is absent.
func (q *Query) Time(name string) (int64, error) { return q.TimeOr(name, q.now.UnixNano()) }

// TimeOr is Time, but returns absent if the parameter is absent.
func (q *Query) TimeOr(name string, absent int64) (int64, error) {
	return request.Time(q.values, q.declared(name).Name, absent, q.now)
}

// Range returns the range from the parameter from to the parameter to, as request.Range.
func (q *Query) Range() (from, to int64, err error) {
	q.declared("from")
	q.declared("to")
	return request.Range(q.values, q.now)
}

package postprocess

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// param is a parameter of an operator.
type param struct {
	what     string // for people
	whole    bool
	min, max float64
	absent   float64 // if it is not given
}

// Parameters. A default of 900 s is that of the Appliance, also where it is no time.
var (
	width      = param{"width in seconds", true, 1, math.MaxInt32, 900}
	every      = param{"step", true, 1, math.MaxInt32, 900}
	points     = param{"number of points", true, 1, maxPoints, 1000}
	deviations = param{"number of deviations", false, 0, math.MaxFloat64, 3}
	band       = param{"deadband", false, 0, math.MaxFloat64, 1}
	// unused takes the width that Grafana's data source gives to every operator.
	unused = param{"width in seconds", true, 1, math.MaxInt32, 0}

	binned = []param{width}
)

// maxPoints bounds what optimized may hold.
const maxPoints = 1_000_000

func (p *param) parse(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || strings.ContainsAny(text, "xXpP_"):
	case p.whole && v != math.Trunc(v):
	case v >= p.min && v <= p.max:
		return v, nil
	}
	if p.whole {
		return 0, fmt.Errorf("%s %q is not a whole number from %.0f to %.0f", p.what, text, p.min, p.max)
	}
	return 0, fmt.Errorf("%s %q is not a number from %.0f on", p.what, text, p.min)
}

// Parse returns the operator that is written as its name and parameters, joined with
// underscores: mean, mean_600, ignoreflyers_600_2.5. An error lists what there is.
func Parse(text string) (*Operator, error) {
	fields := strings.Split(strings.TrimSpace(text), "_")
	name, given := fields[0], fields[1:]
	i, found := slices.BinarySearchFunc(definitions, name, func(d definition, name string) int { return strings.Compare(d.name, name) })
	if !found {
		return nil, fmt.Errorf("unknown operator %q; known are %s", name, strings.Join(names, ", "))
	}
	o := &Operator{definition: &definitions[i], text: strings.Join(fields, "_")}
	if len(given) > len(o.params) {
		return nil, fmt.Errorf("operator %s has %d parameters; %s takes %s", o.text, len(given), name, o.usage())
	}
	for k := range o.params {
		p, v := &o.params[k], o.params[k].absent
		if k < len(given) {
			var err error
			if v, err = p.parse(given[k]); err != nil {
				return nil, fmt.Errorf("operator %s: %w", o.text, err)
			}
		}
		o.args = append(o.args, v)
	}
	return o, nil
}

// usage names the parameters.
func (d *definition) usage() string {
	var all []string
	for i := range d.params {
		all = append(all, d.params[i].what)
	}
	return strings.Join(all, ", ")
}

// IsCall reports whether text looks like an operator that is applied to a PV: whether
// it has a parenthesis.
func IsCall(text string) bool { return strings.ContainsAny(text, "()") }

// ParseCall returns the operator and the PV of text such as mean_600(SR:U). Parameters
// may also follow the PV: ignoreflyers(SR:U, 600, 2.5). The PV may have parentheses of
// its own: whether it is a PV, or another operator, only an archive can tell.
func ParseCall(text string) (o *Operator, pv string, err error) {
	head, rest, _ := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(strings.TrimSpace(rest), ")")
	switch {
	case !balanced(text):
		return nil, "", fmt.Errorf("the parentheses of %q do not match; operators are written as mean_600(PV)", text)
	case !closed || !balanced(inner):
		return nil, "", fmt.Errorf("%q is neither a PV that is known nor an operator of one, as mean_600(PV)", text)
	}
	pv, params := cutParams(inner)
	if o, err = Parse(strings.Join(append([]string{head}, params...), "_")); err != nil {
		return nil, "", err
	}
	if pv == "" {
		return nil, "", fmt.Errorf("operator %s is applied to no PV", o)
	}
	return o, pv, nil
}

// balanced reports whether every parenthesis in text has its partner.
func balanced(text string) bool {
	depth := 0
	for _, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// cutParams cuts what follows the PV and a comma, and may be a parameter: not the end
// of a filter in braces, which names of PVs may have.
func cutParams(inner string) (pv string, params []string) {
	pv = strings.TrimSpace(inner)
	for {
		i := strings.LastIndexByte(pv, ',')
		if i < 0 || strings.ContainsAny(pv[i:], `()[]{}":`) {
			slices.Reverse(params)
			return pv, params
		}
		params = append(params, strings.TrimSpace(pv[i+1:]))
		pv = strings.TrimSpace(pv[:i])
	}
}

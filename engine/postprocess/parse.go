package postprocess

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// param is a parameter of a post-processor.
type param struct {
	what     string // name in messages
	whole    bool
	min, max float64
	absent   float64 // default
}

// Parameters of post-processors. The default 900 is that of the Appliance, even for a
// parameter that is not a time.
var (
	width      = param{"width in seconds", true, 1, math.MaxInt32, 900}
	every      = param{"step", true, 1, math.MaxInt32, 900}
	points     = param{"number of points", true, 1, maxPoints, 1000}
	deviations = param{"number of deviations", false, 0, math.MaxFloat64, 3}
	band       = param{"deadband", false, 0, math.MaxFloat64, 1}
	// unused accepts the width that Grafana's data source adds to every post-processor.
	unused = param{"width in seconds", true, 1, math.MaxInt32, 0}

	binned = []param{width}
)

// maxPoints bounds the samples that optimized holds.
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
	return 0, fmt.Errorf("%s %q is not a number of at least %.0f", p.what, text, p.min)
}

// Parse parses a post-processor: its name and parameters, joined with underscores, such
// as mean, mean_600 or ignoreflyers_600_2.5. If the name is unknown, the error lists the
// known ones.
func Parse(text string) (*Func, error) {
	fields := strings.Split(strings.TrimSpace(text), "_")
	name, given := fields[0], fields[1:]
	i, found := slices.BinarySearchFunc(definitions, name, func(d definition, name string) int { return strings.Compare(d.name, name) })
	if !found {
		return nil, fmt.Errorf("unknown post-processor %q; the known post-processors are %s", name, strings.Join(names, ", "))
	}
	f := &Func{definition: &definitions[i], text: strings.Join(fields, "_")}
	if len(given) > len(f.params) {
		return nil, fmt.Errorf("post-processor %s has %d parameters; %s takes %s", f.text, len(given), name, f.usage())
	}
	for k := range f.params {
		p, v := &f.params[k], f.params[k].absent
		if k < len(given) {
			var err error
			if v, err = p.parse(given[k]); err != nil {
				return nil, fmt.Errorf("post-processor %s: %w", f.text, err)
			}
		}
		f.args = append(f.args, v)
	}
	return f, nil
}

// usage returns the names of the parameters.
func (d *definition) usage() string {
	var all []string
	for i := range d.params {
		all = append(all, d.params[i].what)
	}
	return strings.Join(all, ", ")
}

// IsCall reports whether text looks like a post-processor applied to a PV, which means
// that it has a parenthesis.
func IsCall(text string) bool { return strings.ContainsAny(text, "()") }

// ParseCall parses text such as mean_600(SR:U) into a post-processor and a PV. Parameters
// may also follow the PV: ignoreflyers(SR:U, 600, 2.5). The PV may have parentheses of
// its own; only the archive knows whether it is a PV or another post-processor.
func ParseCall(text string) (f *Func, pv string, err error) {
	head, rest, _ := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(strings.TrimSpace(rest), ")")
	switch {
	case !balanced(text):
		return nil, "", fmt.Errorf("the parentheses of %q do not match; write a post-processor as mean_600(PV)", text)
	case !closed || !balanced(inner):
		return nil, "", fmt.Errorf("%q is neither a known PV nor a post-processor of one, such as mean_600(PV)", text)
	}
	pv, params := cutParams(inner)
	if f, err = Parse(strings.Join(append([]string{head}, params...), "_")); err != nil {
		return nil, "", err
	}
	if pv == "" {
		return nil, "", fmt.Errorf("post-processor %[1]s has no PV; write %[1]s(PV)", f)
	}
	return f, pv, nil
}

// balanced reports whether the parentheses in text match.
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

// cutParams cuts off the parameters that follow the PV, each after a comma. The end of a
// filter in braces, which names of PVs may have, is not a parameter.
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

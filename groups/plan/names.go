package plan

import (
	"strings"

	"varve.dev/varve/engine/capture"
)

// namesDiffer returns the kinds of other names of a PV that differ.
func namesDiffer(old, now *capture.Names) (out []Setting) {
	was, is := textsOf(old), textsOf(now)
	for i, kind := range []string{"formerly", "aliases"} {
		if was[i] != is[i] {
			out = append(out, Setting{kind, was[i], is[i]})
		}
	}
	return out
}

// textsOf returns the former names and the aliases as texts.
func textsOf(n *capture.Names) (texts [2]string) {
	if n == nil {
		n = &capture.Names{}
	}
	for i, names := range [][]string{n.Former, n.Aliases} {
		texts[i] = or(strings.Join(names, ", "), "none")
	}
	return texts
}

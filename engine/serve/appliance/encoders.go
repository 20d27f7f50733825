package appliance

import (
	"maps"
	"slices"
	"strings"
)

// encoders maps the extensions of getData to encoders.
var encoders = map[string]func() encoder{
	"raw":  func() encoder { return &rawEncoder{} },
	"json": func() encoder { return &jsonEncoder{} },
	"qw":   func() encoder { return &jsonEncoder{quick: true} },
	"csv":  func() encoder { return csvEncoder{} },
	"txt":  func() encoder { return txtEncoder{} },
}

func extensions() string { return strings.Join(slices.Sorted(maps.Keys(encoders)), ", ") }

// split splits a time in ns since 1970 into seconds and nanoseconds.
func split(ns int64) (secs, nanos int64) {
	secs, nanos = ns/1e9, ns%1e9
	if nanos < 0 {
		return secs - 1, nanos + 1e9
	}
	return secs, nanos
}

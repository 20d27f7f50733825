package appliance

import (
	"maps"
	"slices"
	"strings"
)

// format is how an answer of getData is encoded.
type format struct {
	encoder func(q *dataQuery) encoder
	// single formats hold one PV.
	single bool
	// changes is true if samples can carry fields that have changed.
	changes bool
}

// formats maps the extensions of getData.
var formats = map[string]format{
	"raw":   {encoder: func(*dataQuery) encoder { return &rawEncoder{} }, changes: true},
	"json":  {encoder: func(*dataQuery) encoder { return &jsonEncoder{} }, changes: true},
	"qw":    {encoder: func(*dataQuery) encoder { return &jsonEncoder{quick: true} }, changes: true},
	"jplot": {encoder: func(*dataQuery) encoder { return &jplotEncoder{} }},
	"csv":   {encoder: func(*dataQuery) encoder { return csvEncoder{} }, single: true},
	"txt":   {encoder: func(*dataQuery) encoder { return txtEncoder{} }},
	"mat":   {encoder: newMatEncoder},
	"svg":   {encoder: newSVGEncoder},
}

func extensions() string { return strings.Join(slices.Sorted(maps.Keys(formats)), ", ") }

// split splits a time in ns since 1970 into seconds and nanoseconds.
func split(ns int64) (secs, nanos int64) {
	secs, nanos = ns/1e9, ns%1e9
	if nanos < 0 {
		return secs - 1, nanos + 1e9
	}
	return secs, nanos
}

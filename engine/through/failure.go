package through

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/upstream"
)

// maxText is how many bytes of the text of an error readers get. It may have a part of what the older archive sent.
const maxText = 400

// summaries are what readers get who may not read every PV.
var summaries = map[string]string{
	"away":    "it did not answer a moment ago; repeat the request in some seconds",
	"busy":    "too many requests to it are in flight; repeat the request in some seconds",
	"timeout": "it did not answer in time",
	"loop":    "archives read through to each other",
	"network": "it cannot be reached",
	"refused": "its address is not allowed",
	"answer":  "its answer was wrong",
}

// failure returns an error as readers get it. Text and Summary are bounded, and have no markup and no control characters.
func failure(err error) error {
	var older *query.OlderError
	if err == nil || errors.As(err, &older) {
		return err
	}
	why := reason(err)
	f := &query.OlderError{Err: err, Text: clean(err.Error(), maxText), Summary: summaries[why]}
	var status *upstream.StatusError
	if errors.As(err, &status) && why == "status" {
		f.Summary = fmt.Sprintf("it answered with the status %d", status.Code)
	}
	var away *awayError
	switch {
	case errors.As(err, &away):
		f.After = away.after
	case errors.Is(err, errListing):
		f.Summary, f.After = "the list of its PVs is being read; repeat the request in some seconds", breakFor
	case errors.Is(err, errBusy):
		f.After = breakFor
	}
	return f
}

// clean returns a text of at most some bytes, with a space for each control character, other character that is not
// printed, and angle bracket.
func clean(text string, most int) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text[:min(len(text), most)]))
}

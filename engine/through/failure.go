package through

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/upstream"
)

// maxText bounds the text of an error, in bytes. The text may contain a part of what the older archive sent.
const maxText = 400

// summaries are the texts, by reason, that readers get from an archive that hides PVs.
var summaries = map[string]string{
	"away":        "it did not answer a moment ago; repeat the request in some seconds",
	"busy":        "too many requests to it are in flight; repeat the request in some seconds",
	"timeout":     "it did not answer in time",
	"loop":        "archives read through to each other",
	"network":     "it cannot be reached",
	"refused":     "its address is not allowed",
	"credentials": "the credentials for it cannot be read",
	"answer":      "its answer was wrong",
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

// clean returns the first bytes of a text. It replaces control characters, other characters that cannot be printed, and
// angle brackets by spaces.
func clean(text string, most int) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text[:min(len(text), most)]))
}

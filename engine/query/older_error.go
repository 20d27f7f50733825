package query

import (
	"errors"
	"fmt"
	"time"
)

// ErrUpstream is wrapped by an error if another archive, which a reader reads through to, did not
// answer, or answered wrongly.
var ErrUpstream = errors.New("the older archive, which this one reads through to, cannot be read")

// OlderError is an error of another archive. Text is for an archive that hides no PVs, and Summary for one that
// hides some.
type OlderError struct {
	// Err is the cause, and Text is its text without markup and control characters. Both may have addresses and what
	// the other archive sent.
	Err  error
	Text string
	// Summary says what happened, without addresses, names of PVs and texts of the other archive.
	Summary string
	// After is how long a client should wait before it repeats the request. It is 0 if that is not known.
	After time.Duration
}

// Error implements error.
func (e *OlderError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *OlderError) Unwrap() error { return e.Err }

// shownError is an error of the other archive as the sender of a request sees it.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string   { return e.text }
func (e *shownError) Unwrap() []error { return []error{ErrUpstream, e.err} }

// details says where to find the reason, which a summary leaves out.
const details = "; those who may read every PV find the reason at /readyz"

// upstreamError says that the other archive is the cause of an error. If the reader hides PVs, the text is a summary, which
// is the same for hidden and for unknown PVs.
func (r *Reader) upstreamError(err error) error {
	if err == nil || errors.Is(err, ErrUpstream) {
		return err
	}
	text := err.Error()
	if r.Visible != nil {
		text = "it did not answer as expected"
		var older *OlderError
		if errors.As(err, &older) {
			text = older.Summary
		}
		text += details
	}
	return &shownError{fmt.Sprintf("%v: %s", ErrUpstream, text), err}
}

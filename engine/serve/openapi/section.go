package openapi

import (
	"encoding/json"
	"net/http"
	"time"
)

// Section is the calls of a package, and the schemas of their answers by name.
type Section struct {
	Calls   []Call
	Schemas map[string]Schema
}

// Common has the schemas that Answers refers to.
func Common() Section {
	return Section{Schemas: map[string]Schema{
		"Error": Object(map[string]Schema{"error": String("What is wrong, and what would be right.")}),
	}}
}

// Register adds the call to a mux. A request with an unknown parameter, or with a value outside of its
// limits, gets 400 and an error that names the parameter. serve answers all others. now returns the
// current time, for times that are relative to it.
func (c Call) Register(mux *http.ServeMux, now func() time.Time, serve func(w http.ResponseWriter, r *http.Request, q *Query)) {
	mux.HandleFunc(c.Pattern(), func(w http.ResponseWriter, r *http.Request) {
		q, err := c.Parse(r.URL.RawQuery, now())
		if err != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // an error means that the client has disconnected
			return
		}
		serve(w, r, q)
	})
}

// The parameters of a range.
var (
	From = Parameter{
		Name: "from", Kind: Time, Description: "The start of the range. " + TimeForms + " The default is a day before to.", Example: "2026-01-31T12:00:00Z",
	}
	To = Parameter{
		Name: "to", Kind: Time, Description: "The end of the range. " + TimeForms + " The default is an hour from now.", Example: "2026-01-31T13:00:00Z",
	}
)

// TimeForms says how a time is written.
const TimeForms = "ISO 8601 with a zone; relative to now, such as -15m; or seconds, ms or ns since 1970."

// Answers describes the answers of a call: that of a success, in JSON (unless it is nil) and in other
// formats, and those of errors.
func Answers(success Schema, others []string, errors ...int) []Answer {
	all := []Answer{
		{Code: http.StatusOK, Description: "The answer.", JSON: success, Others: others},
		{Code: http.StatusBadRequest, Description: "A parameter is wrong. The error names it.", JSON: Ref("Error")},
		{Code: http.StatusTooManyRequests, Description: tooManyRequests, JSON: Ref("Error")},
	}
	for _, code := range errors {
		all = append(all, Answer{Code: code, Description: errorTexts[code], JSON: Ref("Error")})
	}
	return all
}

// tooManyRequests describes an answer that each call may have.
const tooManyRequests = "Too many requests are being answered, of all clients or of this one. The error says the limit. Repeat the request after the seconds in the header Retry-After."

var errorTexts = map[int]string{
	http.StatusNotFound:              "The archive does not know a PV.",
	http.StatusRequestEntityTooLarge: "The answer would be too large. The error says the limit.",
	http.StatusServiceUnavailable:    "The archive cannot answer now. Repeat the request after the seconds in the header Retry-After, if it is there.",
}

package files

import (
	"net/http"
	"strconv"

	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/table"
)

// Section describes the calls of this package.
func Section() openapi.Section {
	return openapi.Section{Calls: []openapi.Call{daysCall, fileCall}, Schemas: map[string]openapi.Schema{
		"Days": openapi.Object(map[string]openapi.Schema{
			"pv": openapi.String(""),
			"days": openapi.List(openapi.Object(map[string]openapi.Schema{
				"day": openapi.String("In UTC."), "url": openapi.String("The path of the file."),
				"complete": {"type": "boolean", "description": "The day has ended, and no sample is missing. Late samples may still change the file."},
			})),
			"next?":          openapi.Timestamp("The value of from for more days."),
			"completeUntil?": openapi.Until("Samples that were received after this time may be missing."),
		}),
	}}
}

var (
	daysCall = openapi.Call{
		Path: "/api/v1/files", ID: "files", Summary: "The days on which a PV has samples, with their Parquet files",
		Parameters: []openapi.Parameter{
			{Name: "pv", Required: true, Description: "The name of the PV.", Example: "SR:I"},
			{Name: "from", Kind: openapi.Time, Description: "The start of the range. " + openapi.TimeForms + " Without it, the answer begins with the first sample.", Example: "2026-01-01T00:00:00Z"},
			{Name: "to", Kind: openapi.Time, Description: "The end of the range. " + openapi.TimeForms + " The default is a day from now.", Example: "2026-02-01T00:00:00Z"},
			{Name: "limit", Kind: openapi.Integer, Min: 1, Max: maxDays, Default: strconv.Itoa(defaultDays), Description: "The maximum number of days in the answer."},
		},
		Answers: openapi.Answers(openapi.Ref("Days"), nil, http.StatusNotFound, http.StatusServiceUnavailable),
	}
	fileCall = openapi.Call{
		Path: prefix + "{name...}", ID: "file", Summary: "The samples of a PV on a day in UTC, as a Parquet file",
		Description: "The file has an ETag, and the server answers ranges of it.",
		Parameters: []openapi.Parameter{
			{Name: "name", InPath: true, Description: "The name of the PV, a slash, the day, and .parquet. The name of the PV may contain slashes.", Example: "SR:I/2026-01-31.parquet"},
			{Name: "Range", InHeader: true, Description: "The bytes to answer.", Example: "bytes=0-1023"},
			{Name: "If-None-Match", InHeader: true, Description: "The ETag of the file that the client has."},
		},
		Answers: append(openapi.Answers(nil, []string{table.Parquet.ContentType()}, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
			openapi.Answer{Code: http.StatusPartialContent, Description: "A range of the file.", Others: []string{table.Parquet.ContentType()}},
			openapi.Answer{Code: http.StatusNotModified, Description: "The client has the file."},
			openapi.Answer{Code: http.StatusNotFound, Description: "The PV has no samples on the day, or the archive does not know it.", JSON: openapi.Ref("Error")},
			openapi.Answer{Code: http.StatusRequestedRangeNotSatisfiable, Description: "The range is not in the file.", Others: []string{"text/plain"}},
		),
	}
)

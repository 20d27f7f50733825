package native

import (
	"context"
	"net/http"
	"strconv"

	"varve.dev/varve/engine/serve/openapi"
)

// call is a call of /api/v1 with its handler.
type call struct {
	openapi.Call
	// read is the handler of a call that reads samples, and serve that of another one. A call
	// without a handler is served by another package.
	read  func(h *Handler, ctx context.Context, q *openapi.Query) (reading, error)
	serve func(h *Handler, w http.ResponseWriter, r *http.Request, q *openapi.Query)
}

// Calls describes all calls.
func Calls() []openapi.Call {
	var all []openapi.Call
	for _, c := range calls() {
		all = append(all, c.Call)
	}
	return all
}

// Document returns the OpenAPI document of /api/v1.
func Document() []byte {
	return openapi.Document(openapi.Info{Title: "Varve", Version: "v1", Description: "Reads an archive of EPICS process variables (PVs). " +
		"A request with an unknown parameter, or with a value outside of its limits, gets 400. A call that reads many samples streams its answer, " +
		"and aborts the connection if it cannot complete the answer. The header Varve-Complete-Until says until when an answer is complete, " +
		"if the newest samples are missing; Varve-Lost-Samples says how many samples are missing because their blocks are damaged. " +
		"Both may be trailers."}, Calls(), schemas())
}

// calls returns the table of all calls.
func calls() []call {
	return append(analysisCalls(), channelCalls()...)
}

// analysisCalls returns the calls that read samples, marks and metadata.
func analysisCalls() []call {
	table := []string{"text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"}
	return []call{{
		Call: openapi.Call{
			Path: "/api/v1/samples", ID: "samples", Summary: "Samples of PVs in a range",
			Description: "The answer has the samples of each PV, beginning with the last one before the range; or about points bins; or, with align, a table with common times; " +
				"or, with where, the samples while a condition holds. With another format than json, it is a table with a row for each sample.",
			Parameters: []openapi.Parameter{
				pvs, group, from, to, format,
				{Name: "points", Kind: openapi.Integer, Min: 1, Max: maxPoints, Description: "Divide the range in about that many bins. Only in JSON, and not with align or where.", Example: "800"},
				{Name: "align", Description: "The distance of the rows of a table with common times, from 1ms to 366d.", Example: "1s"},
				{Name: "fill", Kind: openapi.Choice, Choices: []string{"last", "mean", "linear"}, Default: "last", Description: "The value in a row of a table with common times. Only with align."},
				{Name: "where", Description: "The condition under which samples are in the answer. At most 100 PVs, and not with align.", Example: "SR:I > 0.5"},
			},
			Answers: answers(openapi.Either(openapi.Ref("Samples"), openapi.Ref("Points"), openapi.Ref("Filtered"), openapi.Ref("Table"),
				openapi.Object(map[string]openapi.Schema{"pvs": openapi.List(openapi.Either(openapi.Ref("Samples"), openapi.Ref("Points"), openapi.Ref("Filtered")))})),
				table, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
		},
		read: (*Handler).samples,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/intervals", ID: "intervals", Summary: "The times in a range at which a condition holds",
			Parameters: []openapi.Parameter{
				{Name: "where", Required: true, Description: "The condition.", Example: "SR:I > 0.5 and SR:SHUTTER = 'Open'"}, from, to, format,
			},
			Answers: answers(openapi.Ref("Intervals"), table, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
		},
		read: (*Handler).intervals,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/snapshot", ID: "snapshot", Summary: "The last sample of each PV at a time, with units and limits",
			Parameters: []openapi.Parameter{pvs, group, at, format},
			Answers:    answers(openapi.Ref("Snapshot"), table, http.StatusServiceUnavailable),
		},
		read: (*Handler).snapshot,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/marks", ID: "marks", Summary: "Why data of a PV is missing in a range",
			Parameters: []openapi.Parameter{{Name: "pv", Required: true, Description: "The name of the PV.", Example: "SR:I"}, from, to},
			Answers:    answers(openapi.Ref("Marks"), nil, http.StatusNotFound, http.StatusServiceUnavailable),
		},
		read: (*Handler).marks,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/metadata", ID: "metadata", Summary: "Units, limits and properties of PVs at a time, or their changes in a range",
			Parameters: []openapi.Parameter{pvs, group, at, from, to},
			Answers: answers(openapi.Either(openapi.Ref("History"), openapi.Object(map[string]openapi.Schema{"pvs": openapi.List(openapi.Ref("History"))})),
				nil, http.StatusNotFound, http.StatusServiceUnavailable),
		},
		read: (*Handler).metadata,
	}}
}

// channelCalls returns the calls about names, channels and the archive.
func channelCalls() []call {
	limit := openapi.Parameter{
		Name: "limit", Kind: openapi.Integer, Min: 1, Max: maxLimit, Default: strconv.Itoa(defaultLimit),
		Description: "The maximum number of entries in the answer.",
	}
	glob := openapi.Parameter{Name: "pv", Description: "A pattern of names, with * and ?.", Example: "SR01-VA:*"}
	after := openapi.Parameter{Name: "after", Description: "Continue after this name: next of the page before."}
	near := limit
	near.Description = "The maximum number of names in the answer. With near, it is at most 20, and the default is 5."
	return []call{{
		Call: openapi.Call{
			Path: "/api/v1/names", ID: "names", Summary: "Names of PVs that the archive knows",
			Parameters: []openapi.Parameter{glob, near, after, {Name: "near", Description: "Answer the names most similar to this one. Not with pv and after.", Example: "sr:i"}},
			Answers:    answers(openapi.Ref("Names"), nil, http.StatusServiceUnavailable),
		},
		serve: (*Handler).names,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/channels", ID: "channels", Summary: "States of the channels that are captured",
			Parameters: []openapi.Parameter{
				glob,
				{Name: "state", Kind: openapi.Choice, Choices: states(), Description: "Only channels in this state."},
				{Name: "group", Description: "Only channels of this group.", Example: "lab/vacuum"}, limit, after,
				{Name: "sort", Kind: openapi.Choice, Choices: Orders, Description: "Answer the first channels in another order than that of names. Not with after."},
			},
			Answers: answers(openapi.Ref("Channels"), nil),
		},
		serve: (*Handler).channels,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/channels/{pv...}", ID: "channel", Summary: "The state of one channel",
			Parameters: []openapi.Parameter{{Name: "pv", InPath: true, Description: "The name of the PV. It may contain slashes.", Example: "SR:I"}},
			Answers: append(answers(openapi.Ref("Channel"), nil, http.StatusServiceUnavailable),
				openapi.Answer{Code: http.StatusNotFound, Description: "No group captures the PV.", JSON: openapi.Ref("NotCaptured")}),
		},
		serve: (*Handler).channel,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/status", ID: "status", Summary: "Channels and samples by group",
			Answers: answers(openapi.Ref("Status"), nil),
		},
		serve: (*Handler).status,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/openapi.json", ID: "openapi", Summary: "This document",
			Answers: answers(openapi.Schema{"type": "object"}, nil),
		},
		serve: (*Handler).openapi,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/shards", ID: "shards", Summary: "Engines, and moves of shards under way", Description: "Only a cluster serves this call.",
			Answers: answers(openapi.Ref("Shards"), nil, http.StatusServiceUnavailable),
		},
	}}
}

var (
	pvs = openapi.Parameter{
		Name: "pv", Repeated: maxPVs, Description: "The name of a PV. Repeat the parameter for several PVs. Either pv or group is required.", Example: "SR:I",
	}
	group = openapi.Parameter{
		Name: "group", Description: "All PVs that a group captures, at most " + strconv.Itoa(maxMembers) + ", instead of pv.", Example: "lab/vacuum",
	}
	from = openapi.Parameter{
		Name: "from", Kind: openapi.Time, Description: "The start of the range. " + timeForms + " The default is a day before to.", Example: "2026-01-31T12:00:00Z",
	}
	to = openapi.Parameter{
		Name: "to", Kind: openapi.Time, Description: "The end of the range. " + timeForms + " The default is an hour from now.", Example: "2026-01-31T13:00:00Z",
	}
	at     = openapi.Parameter{Name: "at", Kind: openapi.Time, Description: "The time. " + timeForms + " The default is now.", Example: "-1h"}
	format = openapi.Parameter{
		Name: "format", Kind: openapi.Choice, Choices: []string{"json", "csv", "arrow", "parquet"}, Default: "json", Description: "The format of the answer.",
	}
)

const timeForms = "ISO 8601 with a zone; relative to now, such as -15m; or seconds, ms or ns since 1970."

// answers describes the answers of a call: that of a success, in JSON and other formats, and those of
// errors.
func answers(success openapi.Schema, others []string, errors ...int) []openapi.Answer {
	all := []openapi.Answer{
		{Code: http.StatusOK, Description: "The answer.", JSON: success, Others: others},
		{Code: http.StatusBadRequest, Description: "A parameter is wrong. The error names it.", JSON: openapi.Ref("Error")},
	}
	for _, code := range errors {
		all = append(all, openapi.Answer{Code: code, Description: errorTexts[code], JSON: openapi.Ref("Error")})
	}
	return all
}

var errorTexts = map[int]string{
	http.StatusNotFound:              "The archive does not know a PV.",
	http.StatusRequestEntityTooLarge: "The answer would be too large. The error says the limit.",
	http.StatusServiceUnavailable:    "The archive cannot answer now. Repeat the request after the seconds in the header Retry-After, if it is there.",
}

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
	// read is the handler of a call that reads samples, and serve that of another one.
	read  func(h *Handler, ctx context.Context, q *openapi.Query) (reading, error)
	serve func(h *Handler, w http.ResponseWriter, r *http.Request, q *openapi.Query)
}

// Section describes all calls.
func Section() openapi.Section {
	section := openapi.Section{Schemas: schemas()}
	for _, c := range calls() {
		section.Calls = append(section.Calls, c.Call)
	}
	return section
}

// calls returns the table of all calls.
func calls() []call {
	return append(append(analysisCalls(), channelCalls()...), pvCall(), storageCall(), whyCall())
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
			Answers: openapi.Answers(openapi.Either(openapi.Ref("Samples"), openapi.Ref("Points"), openapi.Ref("Filtered"), openapi.Ref("Table"),
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
			Answers: openapi.Answers(openapi.Ref("Intervals"), table, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
		},
		read: (*Handler).intervals,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/snapshot", ID: "snapshot", Summary: "The last sample of each PV at a time, with units and limits",
			Parameters: []openapi.Parameter{pvs, group, at, format},
			Answers:    openapi.Answers(openapi.Ref("Snapshot"), table, http.StatusServiceUnavailable),
		},
		read: (*Handler).snapshot,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/marks", ID: "marks", Summary: "Why data of a PV is missing in a range",
			Parameters: []openapi.Parameter{{Name: "pv", Required: true, Description: "The name of the PV.", Example: "SR:I"}, from, to},
			Answers:    openapi.Answers(openapi.Ref("Marks"), nil, http.StatusNotFound, http.StatusServiceUnavailable),
		},
		read: (*Handler).marks,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/metadata", ID: "metadata", Summary: "Units, limits and properties of PVs at a time, or their changes in a range",
			Parameters: []openapi.Parameter{pvs, group, at, from, to},
			Answers: openapi.Answers(openapi.Either(openapi.Ref("History"), openapi.Object(map[string]openapi.Schema{"pvs": openapi.List(openapi.Ref("History"))})),
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
			Description: "With description, the answer has only PVs that are captured. New PVs and changed descriptions appear within five minutes.",
			Parameters: []openapi.Parameter{glob, ignoreCase(), near, after, {
				Name: "description", Description: "Only PVs whose description (the property DESC) contains all of these words, in upper or lower case. Not with near.", Example: "beam current",
			}, {Name: "near", Description: "Answer the names most similar to this one. Not with pv and after.", Example: "sr:i"}},
			Answers: openapi.Answers(openapi.Ref("Names"), nil, http.StatusServiceUnavailable),
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
			Answers: openapi.Answers(openapi.Ref("Channels"), nil),
		},
		serve: (*Handler).channels,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/channels/{pv...}", ID: "channel", Summary: "The state of one channel",
			Parameters: []openapi.Parameter{{Name: "pv", InPath: true, Description: "The name of the PV. It may contain slashes.", Example: "SR:I"}},
			Answers: append(openapi.Answers(openapi.Ref("Channel"), nil, http.StatusServiceUnavailable),
				openapi.Answer{Code: http.StatusNotFound, Description: "No group captures the PV.", JSON: openapi.Ref("NotCaptured")}),
		},
		serve: (*Handler).channel,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/status", ID: "status", Summary: "Channels and samples by group",
			Answers: openapi.Answers(openapi.Ref("Status"), nil),
		},
		serve: (*Handler).status,
	}}
}

var (
	pvs = openapi.Parameter{
		Name: "pv", Repeated: maxPVs, Description: "The name of a PV. Repeat the parameter for several PVs. Either pv or group is required.", Example: "SR:I",
	}
	group = openapi.Parameter{
		Name: "group", Description: "All PVs that a group captures, at most " + strconv.Itoa(maxMembers) + ", instead of pv.", Example: "lab/vacuum",
	}
	from, to = openapi.From, openapi.To
	at       = openapi.Parameter{Name: "at", Kind: openapi.Time, Description: "The time. " + openapi.TimeForms + " The default is now.", Example: "-1h"}
	format   = openapi.Parameter{
		Name: "format", Kind: openapi.Choice, Choices: []string{"json", "csv", "arrow", "parquet"}, Default: "json", Description: "The format of the answer.",
	}
)

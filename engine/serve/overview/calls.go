package overview

import (
	"net/http"

	"varve.dev/varve/engine/serve/openapi"
)

// call is a call with its handler.
type call struct {
	openapi.Call
	serve func(h *Handler, w http.ResponseWriter, r *http.Request, q *openapi.Query)
}

// Calls describes the calls of this package.
func Calls() []openapi.Call {
	var all []openapi.Call
	for _, c := range calls() {
		all = append(all, c.Call)
	}
	return all
}

func calls() []call {
	return []call{{
		Call: openapi.Call{
			Path: "/api/v1/archive", ID: "archive", Summary: "The state of the archive: engines, shards, storage, and what is wrong",
			Description: "What the process does not know is absent, and unknown says why. All clients get the same answer for some seconds.",
			Answers:     answers(openapi.Ref("Archive")),
		},
		serve: (*Handler).archive,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/losses", ID: "losses", Summary: "What was lost in a range, by cause",
			Description: "Sums up the marks of samples that were lost. If reading them takes too long, complete is false, and the losses are the least that there are.",
			Parameters: []openapi.Parameter{
				{Name: "from", Kind: openapi.Time, Description: "The start of the range. The default is a day before to.", Example: "-7d"},
				{Name: "to", Kind: openapi.Time, Description: "The end of the range. The default is an hour from now.", Example: "-1h"},
				{Name: "group", Description: "Only PVs that this group captures.", Example: "lab/vacuum"},
			},
			Answers: append(answers(openapi.Ref("Losses")), unavailable),
		},
		serve: (*Handler).losses,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/groups", ID: "groups", Summary: "All groups: settings as applied, channels by state, problems",
			Answers: answers(openapi.Ref("Groups")),
		},
		serve: (*Handler).groups,
	}, {
		Call: openapi.Call{
			Path: "/api/v1/groups/{group...}", ID: "group", Summary: "One group, with its manifest and all problems",
			Parameters: []openapi.Parameter{{Name: "group", InPath: true, Description: "NAMESPACE/NAME, or a name that is unique.", Example: "lab/vacuum"}},
			Answers:    append(answers(openapi.Ref("Group")), openapi.Answer{Code: http.StatusNotFound, Description: "The archive does not know the group.", JSON: openapi.Ref("Error")}),
		},
		serve: (*Handler).group,
	}}
}

var unavailable = openapi.Answer{
	Code: http.StatusServiceUnavailable, JSON: openapi.Ref("Error"),
	Description: "The archive cannot answer now. Repeat the request after the seconds in the header Retry-After, if it is there.",
}

func answers(success openapi.Schema) []openapi.Answer {
	return []openapi.Answer{
		{Code: http.StatusOK, Description: "The answer.", JSON: success},
		{Code: http.StatusBadRequest, Description: "A parameter is wrong. The error names it.", JSON: openapi.Ref("Error")},
	}
}
